"""Land one branch on the trunk: build the merge separately, test it, then move the trunk.

Every step starts from the current state in git, so that a killed git, a killed runner and a user
who commits at the same moment are all handled the same way: look again and continue from there.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.model import Check
from codefleet.runner.git.commit import commit_tree, identity
from codefleet.runner.git.git import Git, failed
from codefleet.runner.git.history import is_near_ancestor
from codefleet.runner.git.lookup import tree_at
from codefleet.runner.git.relink import is_tied
from codefleet.runner.git.slot_lock import SlotLocks
from codefleet.runner.git.trusted_index import note_index, restore_index
from codefleet.runner.landing.targets import LocalTrunk, SharedTrunk, Trunk
from codefleet.runner.process.leftovers import kill_tagged, tag_of
from codefleet.runner.sharing.remote import Remote

TRIES = 5

Checks = Callable[[Path], Awaitable[Check | None]]
"""Runs the checks in a folder; returns the first that failed."""


async def _nothing_changed() -> bool:
    return True


class Landed(NamedTuple):
    commit: str


class Conflicts(NamedTuple):
    paths: tuple[str, ...]


class Red(NamedTuple):
    """A check that failed on the merge."""

    check: Check


class Rewritten(NamedTuple):
    """The trunk no longer has a commit that the work builds on and would bring back."""

    lost: str


class Waits(NamedTuple):
    """What is in the way, and how to resolve it."""

    why: str


Result = Landed | Conflicts | Red | Rewritten | Waits


async def land(
    repo: Path,
    trunk: str,
    tip: str,
    *,
    message: str,
    workspace: Path,
    journal: Path,
    checks: Checks | None,
    tested_tree: str | None,
    remote: Remote | None = None,
    keep: Sequence[str] = (),
    last_look: Callable[[], Awaitable[bool]] = _nothing_changed,
) -> Result:
    """Merge `tip` into the trunk exactly once, whatever is killed on the way.

    With a `remote`, the trunk is the one there.
    A landing is always a merge commit with the tip itself as its second parent. So git knows
    whether a tip has landed: it is an ancestor of the trunk. A landing that was done but never
    recorded is detected this way, and not repeated.
    """
    proved = {tested_tree}
    target = SharedTrunk(remote) if remote else LocalTrunk(repo, trunk, journal)
    landing = _Landing(repo, target, tip, message, workspace, checks, proved, keep, last_look)
    trouble: WorkspaceTrouble | None = None
    for _ in range(TRIES):
        try:
            if result := await landing.attempt():
                return result
        except WorkspaceTrouble as problem:  # killed, or the parent of a git that was killed
            trouble = problem
    if trouble:
        raise trouble
    return Waits(f"{trunk} of {repo} keeps moving; this is retried later")


@dataclass(frozen=True)
class _Landing:
    repo: Path
    target: Trunk
    tip: str
    message: str
    workspace: Path
    checks: Checks | None
    proved: set[str | None]
    keep: Sequence[str]
    last_look: Callable[[], Awaitable[bool]]

    @property
    def git(self) -> Git:
        return Git(self.repo)

    async def attempt(self) -> Result | None:
        """One attempt from the current state; None if the trunk moved meanwhile."""
        if why := await self.target.ready():
            return Waits(why)
        old = await self.target.head()
        if landed := await self._landed_in(old):
            return landed
        merged = await self._merge(old, self.tip)
        lost = await self.target.dropped_commit(old, self.tip)
        if lost and await self._brings_back(lost, old, merged):
            return Rewritten(lost)
        if isinstance(merged, Conflicts):
            return merged
        if why := await self.target.in_the_way(old, merged):
            return Waits(why)
        commit = await self._commit(old, merged)
        if red := await self._prove(commit, merged):
            return red
        if not await self.last_look():
            return Waits("somebody changed the task meanwhile")
        return await self._move(old, commit)

    async def _landed_in(self, old: str) -> Landed | None:
        if await is_near_ancestor(self.git, self.tip, old) is False:
            return None
        words = ("merge-base", "--is-ancestor", self.tip, old)
        done = await self.git.run(*words)
        if done.code == 1:
            return None
        if done.code:
            raise failed(self.repo, words, done)
        since = await self.git("rev-list", "--first-parent", "--parents", f"{self.tip}..{old}")
        merges = (line.split() for line in since.splitlines())
        by_us = (commit for commit, *parents in merges if self.tip in parents[1:])
        return Landed(next(by_us, old))

    async def _merge(self, ours: str, theirs: str) -> str | Conflicts:
        """The tree of the merge; no worktree is touched."""
        if await is_near_ancestor(self.git, ours, theirs):
            return await tree_at(self.git, theirs)  # it changes what ours has, and nothing else did
        words = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
        done = await self.git.run(*words)
        if done.code not in (0, 1):
            raise failed(self.repo, words, done)
        tree, *paths = done.out.split("\0")
        return Conflicts(tuple(path for path in paths if path)) if done.code else tree

    async def _brings_back(self, lost: str, old: str, merged: str | Conflicts) -> bool:
        """Would the trunk differ if only what came after `lost` were merged?"""
        ours, theirs = [await self._on(lost, side) for side in (old, self.tip)]
        return await self._merge(ours, theirs) != merged

    async def _on(self, base: str, commit: str) -> str:
        """A commit with the same files on top of `base`: old gits cannot set a merge base."""
        words = ("commit-tree", f"{commit}^{{tree}}", f"-p{base}", "-m", "to compare")
        return await self.git(*words, env=await identity(self.git))

    async def _commit(self, old: str, tree: str) -> str:
        parents = (old, self.tip)
        return await commit_tree(self.git, tree, parents, f"{self.message.rstrip()}\n")

    async def _prove(self, commit: str, tree: str) -> Red | None:
        if tree in self.proved or self.checks is None:
            return None
        with self._locked_workspace() as folder:
            await self._prepare(folder, commit)
            if check := await self.checks(folder):
                return Red(check)
        self.proved.add(tree)
        return None

    @contextmanager
    def _locked_workspace(self) -> Iterator[Path]:
        """A worktree of the lane's that no other process uses.

        A runner that lost the lane while it was frozen may still hold the first one.
        """
        locks = SlotLocks(self.workspace.parent)
        others = (self.workspace.with_name(f"{self.workspace.name}~{n}") for n in count(2))
        folder = next(path for path in chain([self.workspace], others) if locks.take(path))
        try:
            yield folder
        finally:
            locks.drop(folder)

    async def _prepare(self, folder: Path, commit: str) -> None:
        """Reset a worktree to this commit, with nothing else in it or running there."""
        await asyncio.to_thread(kill_tagged, tag_of(folder))  # checks that outlived their runner
        if not (is_tied(self.repo, folder) and await self._reuse(folder, commit)):
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            # Force twice: a git that was killed while it created it left it registered and locked.
            words = ("worktree", "add", "--quiet", "--force", "--force", "--detach")
            await self.git(*words, str(folder), commit)
        note_index(folder)

    async def _reuse(self, folder: Path, commit: str) -> bool:
        try:
            restore_index(folder)
        except OSError:
            return False
        git = Git(folder)
        # Not a reset: if a check left it on a branch, that branch must not move.
        there = await git.run("checkout", "--quiet", "--force", "--detach", commit)
        kept = [f"--exclude={glob}" for glob in self.keep]
        return there.code == 0 and (await git.run("clean", "--quiet", "-ffdx", *kept)).code == 0

    async def _move(self, old: str, commit: str) -> Result | None:
        why = await self.target.move(old, commit)
        if why is None:
            return Landed(commit)
        moved = await self.target.head() != old
        return None if moved else Waits(why)
