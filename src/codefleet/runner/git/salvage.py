"""Never lose work: uncommitted changes become a commit, and commits stay reachable from a ref."""

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path

from codefleet.runner.git.archive import archive, keep, label
from codefleet.runner.git.commit import commit_tree
from codefleet.runner.git.git import Git, failed
from codefleet.runner.git.layout import git_dir
from codefleet.runner.git.locks import drop_stale
from codefleet.runner.git.lookup import commit_at, head_commit, head_ref, tree_at
from codefleet.runner.git.staging import has_repository, nested_repos, stage, staging, submodules
from codefleet.runner.git.trusted_view import common_dir_of, git_dir_of, read_small
from codefleet.runner.git.unhide import show_edits, show_files

STATUS = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=dirty")
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
    if await _put_aside_links(git, [*nested_repos(worktree, status), *await submodules(git)]):
        status = await git(*STATUS)
    saved = await _save_nested(git, worktree, status, branch)
    commit = None
    if status or saved or (folder / "MERGE_HEAD").exists():
        commit = await commit_all(git, folder, message, nested_repos(worktree, status))
    await _end_operations(git, folder)
    return commit


async def commit_all(git: Git, folder: Path, message: str, apart: Sequence[str]) -> str | None:
    """Commit all that differs from HEAD; None if nothing does."""
    if (staged := await stage(git, apart)).code:
        raise failed(git.folder, staging(), staged)
    tree = await git("write-tree")
    head = await commit_at(git, "HEAD")
    merged = (folder / "MERGE_HEAD").read_text().split() if (folder / "MERGE_HEAD").exists() else []
    if head and not merged and tree == await tree_at(git, head):
        return None
    parents = [parent for parent in (head, *merged) if parent]
    commit = await commit_tree(git, tree, parents, message)
    await git("update-ref", "-m", "fleet: salvage", "HEAD", commit, head or "")
    return commit


async def _end_operations(git: Git, folder: Path) -> None:
    """End a merge, rebase and the like, so that the worktree is clean and on its branch."""
    rebased = rebased_branch(folder)
    if rebased:
        await keep(git.folder, await head_commit(git), f"{label(rebased)}-rebase")
    for mark, end in UNFINISHED.items():
        if (folder / mark).exists():
            await git.run(*end)
    if rebased:
        await git("symbolic-ref", "HEAD", rebased)
        await git("reset", "--quiet", "--hard", "--no-recurse-submodules")


async def _put_aside_links(git: Git, inside: Iterable[str]) -> bool:
    """Move away each `.git` that belongs to a checkout elsewhere: work here must not change that.

    The files beside it are then like any others.
    """
    links = {path: git.folder / path / ".git" for path in inside}
    foreign = [it for it in links if not (_is_own(git.folder, links[it]) or _is_linked(links[it]))]
    for path in foreign:
        names = (git_dir(git.folder) / f"link-to-another-checkout-{n}" for n in count(1))
        shutil.move(links[path], next(name for name in names if not os.path.lexists(name)))
        await git("update-index", "--force-remove", "--", path.rstrip("/"))
    return bool(foreign)


def _is_own(worktree: Path, link: Path) -> bool:
    """Is this the `.git` of a repository in the worktree, or of one of its submodules?"""
    folders = [git_dir_of(link.parent), common_dir_of(link.parent)]
    homes = (worktree.resolve(), git_dir(worktree) / "modules")
    return all(any(it.is_relative_to(home) for home in homes) for it in folders if it)


def _is_linked(link: Path) -> bool:
    """Is this the `.git` of a worktree that another repository knows to be here?"""
    folder = git_dir_of(link.parent)
    if folder is None or folder.parent.name != "worktrees":
        return False
    back = folder / os.fsdecode(read_small(folder / "gitdir").strip())
    return back.parent.resolve() == link.parent.resolve()


async def _save_nested(git: Git, worktree: Path, status: str, branch: str) -> bool:
    """Archive commits that exist only in repositories inside the worktree, submodules included.

    True if a submodule is at another commit now.
    """
    known, moved = await submodules(git), False
    for path in dict.fromkeys([*(entry[3:] for entry in status.split("\0")), *known]):
        inner = worktree / path
        if not path or not has_repository(worktree, path):
            continue
        if not _is_own(worktree, inner / ".git") and (head := await commit_at(Git(inner), "HEAD")):
            await Git(inner)("update-ref", "--no-deref", "HEAD", head)  # its branch is not here
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


def _slug(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-")[:40] or "nested"


def rebased_branch(folder: Path) -> str | None:
    """The branch that an unfinished rebase in this git folder moves, as a ref."""
    for kind in ("rebase-merge", "rebase-apply"):
        name = folder / kind / "head-name"
        if name.exists() and (ref := name.read_text().strip()).startswith("refs/heads/"):
            return ref
    return None
