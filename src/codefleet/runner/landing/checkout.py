"""The user's own checkout of the trunk: if clean, it moves forward with its files, else not."""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from pathlib import Path, PurePath

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.git import branch
from codefleet.runner.git.git import Git
from codefleet.runner.git.journal import Journal, Move, opened
from codefleet.runner.git.layout import git_dir
from codefleet.runner.git.tree_diff import added
from codefleet.runner.git.worktree_list import worktrees
from codefleet.runner.landing.swap import Swap
from codefleet.runner.run.interruption import uninterrupted

UNFINISHED = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisect",
}
"""What an operation in progress leaves in the git folder."""

STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no")
LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}
AT_ONCE = 500
"""How many paths go on one command line."""

Work = Callable[[Journal], Coroutine[None, None, str | None]]


async def where(repo: Path, trunk: str) -> Path | None:
    """The worktree that has the trunk checked out, or that is in the middle of rebasing it."""
    for number, each in enumerate(await worktrees(Git(repo))):
        # The first is the main one; git reports a wrong path if its git folder is elsewhere.
        folder = each.path if number else repo
        if each.is_bare or not (folder / ".git").exists():
            continue
        if each.branch == trunk or _is_away_from(trunk, git_dir(folder)):
            return folder
    return None


async def in_the_way(
    checkout: Path, old: str, new: str, env: Mapping[str, str] | None = None
) -> str | None:
    """What keeps the checkout from moving from `old` to `new` (a commit or tree), or None."""
    folder = git_dir(checkout)
    for mark, what in UNFINISHED.items():
        if (folder / mark).exists():
            return f"{checkout} is in the middle of {what}; finish or abort it"
    if (folder / "index.lock").exists():
        return _locked(checkout)
    git = Git(checkout)
    status = await git(*STATUS, "--ignore-submodules=all", env=env)
    if edits := [entry[3:] for entry in _names(status)]:
        return f"{checkout} has local edits: {_some(edits)}; commit or stash them"
    if found := await _collisions(git, old, new, env or {}):
        return f"{checkout} has untracked files in the way: {_some(found)}; move them aside"
    return None


async def forward(checkout: Path, trunk: str, old: str, new: str, journal: Path) -> str | None:
    """Move a clean checkout and its branch from `old` to `new`, or return what prevents it.

    Either all of it moves, or nothing does. If git was killed or failed, it raises after putting
    everything back; if even that fails, `recover` does it later.
    """
    move = Move(folder=str(checkout), trunk=trunk, old=old, new=new, with_files=True)
    return await _with(journal, lambda book: _forward(checkout, move, book))


async def move_branch(repo: Path, trunk: str, old: str, new: str, journal: Path) -> str | None:
    """Move a branch that is checked out nowhere, by compare-and-swap, or return why not."""
    move = Move(folder=str(repo), trunk=trunk, old=old, new=new)
    return await _with(journal, lambda book: _move_branch(repo, move, book))


async def recover(journal: Path) -> str | None:
    """Finish what a killed runner or a killed git left half done, or return what prevents it."""
    return await _with(journal, _settle)


async def _with(journal: Path, work: Work) -> str | None:
    """Do some work with exclusive access to the journal."""
    try:
        async with opened(journal) as book:
            if book is None:
                return "another runner is moving the trunk right now"
            # The user's files are being changed, for a few milliseconds.
            return await uninterrupted(work(book))
    except OSError as trouble:
        hint = "is the disk full, or a folder not writable?"
        raise WorkspaceTrouble(f"cannot move the trunk: {trouble}", hint=hint) from trouble


async def _forward(checkout: Path, move: Move, book: Journal) -> str | None:
    await _settle(book)
    book.write(move)
    swap = Swap(Git(checkout), move, book)
    try:
        swap.begin()
        why = await in_the_way(checkout, move.old, move.new, swap.env())
        if not why:
            why = await swap.forward() if swap.take_lock() else _locked(checkout)
        return why
    finally:
        await _settle(book)


async def _move_branch(repo: Path, move: Move, book: Journal) -> str | None:
    await _settle(book)
    book.write(move)
    try:
        return await branch.move(Git(repo), move, book.lock)
    finally:
        await _settle(book)


async def _settle(book: Journal) -> None:
    """Finish or undo the move in the journal, and clear it."""
    move = book.read()
    if move and _is_there(move):
        git = Git(Path(move.folder))
        await branch.unlock(git, move)
        if move.with_files:
            await Swap(git, move, book).finish_or_undo()
    book.clear()


def _is_there(move: Move) -> bool:
    folder = Path(move.folder)
    return folder.is_dir() and (not move.with_files or (folder / ".git").exists())


async def _collisions(git: Git, old: str, new: str, env: Mapping[str, str]) -> list[str]:
    """Untracked files, ignored ones too, that the move would overwrite."""
    names = await added(git, old, new)
    taken = sorted({path for name in names for path in _taken(git.folder, name)})
    found: list[str] = []
    for start in range(0, len(taken), AT_ONCE):
        some = taken[start : start + AT_ONCE]
        listed = await git("ls-files", "-z", "--others", "--", *some, env={**env, **LITERAL})
        found += _names(listed)
    return found


def _taken(root: Path, name: str) -> Iterator[str]:
    """The file at this path or at one of its parent folders, if any."""
    for path in [*reversed(PurePath(name).parents[:-1]), PurePath(name)]:
        at = root / path
        if at.is_symlink() or (at.exists() and (str(path) == name or not at.is_dir())):
            yield str(path)
            return


def _is_away_from(trunk: str, folder: Path) -> bool:
    """Is a rebase or bisect of the trunk in progress?"""
    notes = {
        "rebase-merge/head-name": f"refs/heads/{trunk}",
        "rebase-apply/head-name": f"refs/heads/{trunk}",
        "BISECT_START": trunk,
    }
    return any(_text(folder / note) == branch for note, branch in notes.items())


def _text(file: Path) -> str | None:
    return file.read_text(errors="replace").strip() if file.is_file() else None


def _names(listed: str) -> list[str]:
    return [name for name in listed.split("\0") if name]


def _some(paths: Iterable[str]) -> str:
    names = [_printable(path) for path in paths]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _printable(path: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in path)


def _locked(checkout: Path) -> str:
    lock = git_dir(checkout) / "index.lock"
    return f"a git command is running in {checkout}; if there is none, remove {lock}"
