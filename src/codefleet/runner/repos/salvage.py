"""Never lose work: uncommitted changes become a commit, and commits stay reachable from a ref."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from codefleet.domain.errors import Workspace
from codefleet.runner.repos.git import Done, Git, failed
from codefleet.runner.repos.hidden import show_edits, show_files
from codefleet.runner.repos.listing import worktrees
from codefleet.runner.repos.locks import common_dir, drop_forgotten, drop_stale

TRIES = 3
OURS = "refs/heads/fleet/"
PACKED = "packed-refs"
ARCHIVE = "refs/fleet/archive/"
NOBODY = {
    "GIT_AUTHOR_NAME": "codefleet",
    "GIT_AUTHOR_EMAIL": "codefleet@localhost",
    "GIT_COMMITTER_NAME": "codefleet",
    "GIT_COMMITTER_EMAIL": "codefleet@localhost",
}
STATUS = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=dirty")
GITLINK = re.compile(r"160000 (\w+) \d\t([^\0]+)\0")
NOT_REACHED = (
    "--not",
    # These belong to one worktree and go away with it.
    *("--exclude=refs/bisect/*", "--exclude=refs/worktree/*", "--exclude=refs/rewritten/*"),
    "--glob=refs/*",
)
UNFINISHED = {
    "MERGE_HEAD": ("merge", "--quit"),
    "CHERRY_PICK_HEAD": ("cherry-pick", "--quit"),
    "REVERT_HEAD": ("revert", "--quit"),
    "sequencer": ("cherry-pick", "--quit"),
    "rebase-apply/applying": ("am", "--quit"),
    "rebase-merge": ("rebase", "--quit"),
    "rebase-apply": ("rebase", "--quit"),
    "BISECT_LOG": ("bisect", "reset", "HEAD"),
}
"""The marker files of operations in progress, and how to end each in place."""


async def salvage(worktree: Path, message: str, branch: str = "") -> str | None:
    """Commit everything that is not committed, and end any operation in progress.

    Repositories inside the worktree are archived under the name of the `branch`.

    Returns the commit, or None if there was nothing to save. After an unfinished rebase, the
    worktree is back on its branch as it was before, and the half-done state is archived.
    """
    git = Git(worktree)
    folder = git_dir(worktree)
    drop_stale(folder, worktree)
    await show_edits(git, folder)
    await show_files(worktree)
    status = await git(*STATUS)
    saved = await _save_nested(git, worktree, status, branch)
    commit = None
    if status or saved or (folder / "MERGE_HEAD").exists():
        commit = await _commit_all(git, folder, message, strangers(worktree, status))
    await _end_operations(git, folder)
    return commit


async def keep(repo: Path, commit: str, name: str) -> str | None:
    """Archive a commit if no ref reaches it; return the archive ref."""
    words = ("rev-list", "--max-count=1", "--ignore-missing")  # a branch may go while git looks
    stray = await Git(repo)(*words, commit, *NOT_REACHED)
    return await archive(repo, name, commit) if stray else None


async def step_off(worktree: Path, branch: str) -> None:
    """Detach from any branch but a worktree's own, so that no other branch gets its commits.

    An agent may have checked another out to look at it. The worktree stays at the same commit.
    """
    git = Git(worktree)
    on = await head_ref(git)
    head = await commit_at(git, "HEAD")
    if on and head and on != f"refs/heads/{branch}":
        await git("update-ref", "--no-deref", "-m", "fleet: step off", "HEAD", head)


async def bring_home(worktree: Path, branch: str) -> bool:
    """Put an agent's commits on `branch` although it left that branch; False if they diverged.

    Only moves the branch forward, and leaves an unfinished rebase alone.
    """
    if _rebased_branch(git_dir(worktree)):
        return False
    drop_stale(git_dir(worktree), worktree)
    git = Git(worktree)
    ref = f"refs/heads/{branch}"
    if await head_ref(git) == ref:
        return True
    tip, head = await commit_at(git, ref), await commit_at(git, "HEAD")
    if tip is None or head is None or not await is_ancestor(git, tip, head):
        return False
    await set_branch(git, ref, "-m", "fleet: bring home", ref, head, tip)
    await git("symbolic-ref", "-m", "fleet: bring home", "HEAD", ref)
    return True


async def take_home(worktree: Path, branch: str, base: str, name: str) -> str | None:
    """Set `branch` to what the agent made, wherever it made it; the old tip is archived.

    Returns the archive's ref, or None if nothing was replaced. Refuses work that shares no history
    with `base`, since it could not be merged.
    """
    if await bring_home(worktree, branch):
        return None
    git = Git(worktree)
    head, ref = await commit_at(git, "HEAD"), f"refs/heads/{branch}"
    if head is None or (await git.run("merge-base", base, head)).code:
        raise Workspace(
            f"what the agent made in {worktree} shares no history with the trunk",
            hint="see git log there",
        )
    old = await commit_at(git, ref)
    kept = await archive(worktree, name, old) if old else None
    await set_branch(git, ref, "-m", "fleet: take home", ref, head, old or "")
    await git("symbolic-ref", "-m", "fleet: take home", "HEAD", ref)
    return kept


async def archive(repo: Path, name: str, commit: str) -> str:
    """Keep a commit under `refs/fleet/archive/<name>`, numbered if another commit is there."""
    git = Git(repo)
    for number in count(1):
        ref = f"{ARCHIVE}{name}" + (f"-{number}" if number > 1 else "")
        created = await git.run("update-ref", ref, commit, "")
        there = commit if created.code == 0 else await commit_at(git, ref)
        if there == commit:
            return ref
        if there is None:
            raise Workspace(f"cannot keep {commit} as {ref}: {created.err}", hint="see git fsck")
    raise AssertionError("there is always a next number")


async def drop_branch(repo: Path, branch: str, trunk: str, name: str) -> str | None:
    """Delete a branch; return the ref that keeps its work if the trunk does not have it."""
    git = Git(repo)
    ref = f"refs/heads/{branch}"
    if any(each.branch == branch for each in await worktrees(git)):
        raise Workspace(f"{branch} is checked out in a worktree", hint="git worktree list")
    kept = None
    while tip := await commit_at(git, ref):
        if not await is_ancestor(git, tip, trunk):
            kept = await archive(repo, name, tip)
        try:
            await set_branch(git, ref, "-d", ref, tip)
        except Workspace as trouble:
            if await commit_at(git, ref) == tip:  # it did not move: git itself failed
                raise Workspace(
                    f"cannot delete {branch}: {trouble.problem}", hint="git branch -D by hand"
                ) from trouble
    return kept


async def set_branch(git: Git, ref: str, *words: str) -> None:
    """Change or delete a branch that belongs to one task.

    Our own git has ended by then, so a lock on such a branch was left by a killed git.
    """
    for _ in range(TRIES):
        done = await git.run("update-ref", "--no-deref", *words)  # it may be a symbolic ref by now
        if not done.code:
            return
        if ref.startswith(OURS):
            with suppress(OSError):
                (common_dir(git_dir(git.folder)) / f"{ref}.lock").unlink()
        if PACKED in done.err:
            await drop_forgotten(git_dir(git.folder), PACKED)
    raise failed(git.folder, ("update-ref", *words), done)


async def identity(git: Git) -> Mapping[str, str]:
    """The environment for a commit: empty if the user has an identity, else the fleet's."""
    known = await git.run("-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
    return NOBODY if known.code else {}


def git_dir(worktree: Path) -> Path:
    """The git folder of a checkout or worktree, without running git; a mirror is its own."""
    link = worktree / ".git"
    if not link.exists() and (worktree / "HEAD").is_file():
        return worktree.resolve()
    try:
        target = link.read_text().removeprefix("gitdir:").strip() if link.is_file() else ".git"
    except OSError as trouble:
        raise Workspace(
            f"cannot read {link}: {trouble.strerror}", hint="is it a worktree?"
        ) from None
    return (worktree / target).resolve()


def strangers(worktree: Path, status: str) -> list[str]:
    """Untracked repositories inside a worktree, from `git status -z`."""
    new = (entry[3:] for entry in status.split("\0") if entry.startswith("??"))
    return [path for path in new if (worktree / path / ".git").exists()]


def staging(apart: Sequence[str] = ()) -> tuple[str, ...]:
    """The `git add` that stages everything except the repositories `apart` inside the worktree.

    New files outside a sparse checkout are work, too.
    """
    without = (f":(exclude,literal,top){path.rstrip('/')}" for path in apart)
    return ("add", "--all", "--sparse", "--ignore-errors", "--", ":/", *without)


async def submodules(git: Git, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """The submodules of a worktree, each with its commit in the index."""
    listed = await git("ls-files", "--stage", "-z", env=env)
    links = ((path, commit) for commit, path in GITLINK.findall(listed))
    return {path: commit for path, commit in links if (git.folder / path / ".git").exists()}


async def stage(git: Git, apart: Sequence[str] = (), env: Mapping[str, str] | None = None) -> Done:
    """Stage everything except the repositories `apart`.

    Submodules are staged one by one: git itself would run another git in each, which would obey
    the settings in there.
    """
    inside = await submodules(git, env)
    done = await git.run(*staging([*apart, *inside]), env=env)
    heads = [(await commit_at(Git(git.folder / path), "HEAD"), path) for path in inside]
    links = "".join(f"160000 {head}\t{path}\0" for head, path in heads if head)
    if links:
        await git("update-index", "-z", "--index-info", stdin=links, env=env)
    return done


async def _commit_all(git: Git, folder: Path, message: str, apart: Sequence[str]) -> str | None:
    if (staged := await stage(git, apart)).code:
        raise failed(git.folder, staging(), staged)
    tree = await git("write-tree")
    head = await commit_at(git, "HEAD")
    merged = (folder / "MERGE_HEAD").read_text().split() if (folder / "MERGE_HEAD").exists() else []
    if head and not merged and tree == await git("rev-parse", f"{head}^{{tree}}"):
        return None
    parents = [f"-p{parent}" for parent in (head, *merged) if parent]
    who = await identity(git)
    commit = await git("commit-tree", tree, *parents, "-F", "-", stdin=message, env=who)
    await git("update-ref", "-m", "fleet: salvage", "HEAD", commit, head or "")
    return commit


async def _end_operations(git: Git, folder: Path) -> None:
    """End a merge, rebase and the like, so that the worktree is clean and on its branch."""
    rebased = _rebased_branch(folder)
    if rebased:
        await keep(git.folder, await git("rev-parse", "HEAD"), f"{label(rebased)}-rebase")
    for mark, end in UNFINISHED.items():
        if (folder / mark).exists():
            await git.run(*end)
    if rebased:
        await git("symbolic-ref", "HEAD", rebased)
        await git("reset", "--quiet", "--hard", "--no-recurse-submodules")


def _rebased_branch(folder: Path) -> str | None:
    for kind in ("rebase-merge", "rebase-apply"):
        name = folder / kind / "head-name"
        if name.exists() and (ref := name.read_text().strip()).startswith("refs/heads/"):
            return ref
    return None


async def _save_nested(git: Git, worktree: Path, status: str, branch: str) -> bool:
    """Archive commits that exist only in repositories inside the worktree, submodules included.

    True if a submodule is at another commit now.
    """
    known, moved = await submodules(git), False
    for path in dict.fromkeys([*(entry[3:] for entry in status.split("\0")), *known]):
        inner = worktree / path
        if not path or not (inner / ".git").exists():
            continue
        await salvage(inner, "Work found in a repository inside a worktree")
        head = await commit_at(Git(inner), "HEAD")
        if head == known.get(path):
            continue
        moved = moved or path in known
        if head and await Git(inner)("rev-list", "--max-count=1", head, "--not", "--remotes"):
            await git("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(inner), "HEAD")
            on = branch or await head_ref(git) or "detached"
            await archive(worktree, f"{label(on)}-{_slug(path)}", head)
    return moved


def label(ref: str) -> str:
    """A branch's name in the archive."""
    return ref.removeprefix("refs/heads/").removeprefix("fleet/")


def _slug(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-")[:40] or "nested"


async def commit_at(git: Git, ref: str) -> str | None:
    """The commit that a ref names, or None."""
    found = await _answered(git, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    return found.out.strip() if found.code == 0 else None


async def head_ref(git: Git) -> str:
    """The branch that HEAD is on, as a ref; empty if detached."""
    return (await _answered(git, "symbolic-ref", "--quiet", "HEAD")).out.strip()


async def _answered(git: Git, *words: str) -> Done:
    """Git's answer; a killed git gave none."""
    done = await git.run(*words)
    if done.code < 0:
        raise failed(git.folder, words, done)
    return done


async def is_ancestor(git: Git, commit: str, of: str) -> bool:
    """Does the second commit contain the first?"""
    return (await _answered(git, "merge-base", "--is-ancestor", commit, of)).code == 0
