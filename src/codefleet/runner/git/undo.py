"""Undoing what checks did in a worktree: they prove the work and add nothing to it."""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from codefleet.runner.git.archive import archive
from codefleet.runner.git.branch import set_branch
from codefleet.runner.git.git import Git
from codefleet.runner.git.layout import git_dir
from codefleet.runner.git.locks import drop_stale
from codefleet.runner.git.lookup import commit_at, head_ref, is_ancestor
from codefleet.runner.git.salvage import salvage
from codefleet.runner.git.slot import unlock_folders
from codefleet.runner.git.staging import nested_repos, submodules
from codefleet.runner.git.unhide import show_edits

STATUS = (
    *("status", "--porcelain=v1", "-z", "--no-renames"),
    *("--untracked-files=all", "--ignore-submodules=dirty"),
)
CLEAN = ("clean", "--quiet", "-fd")  # once by force: a repository of the agent's own stays
LEFT = "What checks changed\n\nIt is not part of the work that they were to prove.\n"
WHY = "fleet: undo what checks did"


class Undone(NamedTuple):
    """The files that had changed, and the refs that keep commits and edits of tracked files."""

    paths: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


async def undo(worktree: Path, branch: str, tip: str, name: str) -> Undone:
    """Reset a worktree to `branch` at `tip`, with nothing else in it that git can see.

    New files are deleted. Edits of tracked files, and commits, are archived under `name` first.
    """
    git, ref = Git(worktree), f"refs/heads/{branch}"
    drop_stale(git_dir(worktree), worktree)
    await show_edits(git, git_dir(worktree))
    entries = await _entries(git)
    head, at = await commit_at(git, "HEAD"), await commit_at(git, ref)
    on = await head_ref(git)
    if not entries and (head, at, on) == (tip, tip, ref):
        return Undone()
    await _detach(git, head or tip)
    if any(not entry.startswith("??") for entry in entries):
        await salvage(worktree, LEFT)
        head = await commit_at(git, "HEAD")
    made = {commit for commit in (head, at) if commit and not await is_ancestor(git, commit, tip)}
    kept = [await archive(worktree, name, commit) for commit in sorted(made)]
    changed = [await git("diff-tree", "-r", "-z", "--name-only", tip, each) for each in made]
    await _put_back(git, ref, tip)
    return Undone(_names([entry[3:] for entry in entries], changed), tuple(kept))


async def _entries(git: Git) -> list[str]:
    """What differs, as `git status` lists it, without untracked repositories inside."""
    status = await git(*STATUS)
    apart = set(nested_repos(git.folder, status))
    edited = [
        f" M {path}" for path in await submodules(git) if await Git(git.folder / path)(*STATUS)
    ]
    return [*(each for each in status.split("\0") if each and each[3:] not in apart), *edited]


async def _detach(git: Git, commit: str) -> None:
    """Detach HEAD, so that the branch stays where it is."""
    await git("update-ref", "--no-deref", "-m", WHY, "HEAD", commit)


async def _put_back(git: Git, ref: str, tip: str) -> None:
    await _detach(git, tip)
    await git("reset", "--quiet", "--hard", "--no-recurse-submodules", tip)
    if (await git.run(*CLEAN)).code:
        unlock_folders(git.folder)
        await git(*CLEAN)
    await set_branch(git, ref, "-m", WHY, ref, tip)
    await git("symbolic-ref", "-m", "fleet: bring home", "HEAD", ref)


def _names(seen: Collection[str], listings: Collection[str]) -> tuple[str, ...]:
    listed = (name for listing in listings for name in listing.split("\0") if name)
    return tuple(sorted({*seen, *listed}))
