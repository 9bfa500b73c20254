"""The branches of tasks, compared with the commits that the store has for their runs.

Any agent can move or delete any branch of its repository, so a branch is never trusted: what
lands, and what the next run starts from, is the commit in the store.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.model import Repo, TaskId
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.runner.git.archive import ARCHIVE, archive, label
from codefleet.runner.git.branch import OURS, set_branch
from codefleet.runner.git.git import Git
from codefleet.runner.git.history import is_near, line
from codefleet.runner.git.lookup import commit_at, is_ancestor, ref_names
from codefleet.runner.git.object_reader import look_up
from codefleet.runner.git.run_refs import RUNS
from codefleet.runner.git.worktree_list import worktrees
from codefleet.runner.sharing.remote import Remote

SHOWN = 5
FEW = 32
"""How many refs to look at before git itself looks through them."""
TASK_OF_BRANCH = re.compile(r"fleet/([a-z0-9]+)-")


class Moved(NamedTuple):
    """A branch that is not at the expected commit; `found` is None if it is gone."""

    branch: str
    expected: str
    found: str | None
    is_ahead: bool
    """Does it contain the expected commit, and more?"""


class Branches:
    """The task branches of one repo: the local ones or, for a shared repo, those at its remote."""

    def __init__(self, repo: Repo, remote: Remote | None) -> None:
        self.repo, self.remote = repo, remote
        self.folder = Path(repo.path)
        self.git = Git(self.folder)

    async def compare(self, branch: str, expected: str) -> Moved | None:
        """How a branch differs from where it should be; None if it does not."""
        found = await self._tip(branch)
        if found == expected:
            return None
        ahead = found is not None and await is_ancestor(self.git, expected, found)
        return Moved(branch, expected, found, ahead)

    async def has(self, commit: str) -> bool:
        return await commit_at(self.git, commit) is not None

    async def has_others(self, commit: str, task: str) -> bool:
        """Does another task's work contain this commit?"""
        words = ("for-each-ref", "--format=%(refname)", f"--contains={commit}", OURS, RUNS, ARCHIVE)
        refs = (await self.git.run(*words)).out.splitlines()
        own = (f"{OURS}{task}-", f"{RUNS}{task}.", f"{ARCHIVE}{task}-", f"{ARCHIVE}{task}.")
        return any(not ref.startswith(own) for ref in refs)

    async def commits(self, tips: Sequence[str], bases: Sequence[str]) -> dict[str, list[str]]:
        """What these tips have beyond the bases and the trunk, each with its parents among it."""
        if (made := await self._own_line(tips, bases)) is not None:
            return made
        words = ("rev-list", "--parents", "--ignore-missing", *tips, "--not", self.repo.trunk_ref)
        listed = (await self.git(*words, *bases, "--")).splitlines() if tips else ()
        return {commit: parents for commit, *parents in map(str.split, listed)}

    async def _own_line(
        self, tips: Sequence[str], bases: Sequence[str]
    ) -> dict[str, list[str]] | None:
        """The same for one tip with a straight line of commits."""
        trunk = await commit_at(self.git, self.repo.trunk_ref)
        if len(tips) != 1 or trunk is None:
            return None
        made = await line(self.git, tips[0], trunk, *bases)
        return None if made is None else {each: made[n : n + 1] for n, each in enumerate(made, 1)}

    async def tasks_with(self, commits: Sequence[str]) -> set[TaskId]:
        """The tasks that have any of these commits on their branch, or in what their runs made."""
        present = ref_names(self.folder, OURS, RUNS)
        if not commits:
            return set()
        if present is not None and len(only := _tasks(present)) <= 1:
            return only
        if present and (near := await self._with(commits, sorted(present))) is not None:
            return _tasks(near)
        words = ("for-each-ref", "--format=%(refname)", *(f"--contains={each}" for each in commits))
        return _tasks((await self.git(*words, OURS, RUNS)).splitlines())

    async def _with(self, commits: Sequence[str], refs: Sequence[str]) -> list[str] | None:
        """The refs that have any of these commits; None if only git can tell."""
        tips = await look_up(self.folder, *refs) if len(refs) <= FEW else None
        if tips is None:
            return None
        found = []
        for ref, tip in zip(refs, tips, strict=True):
            has = [await is_near(self.git, each, tip.id) for each in commits] if tip else []
            if None in has:
                return None
            found += [ref] if any(has) else []
        return found

    async def has_landed(self, commit: str) -> bool:
        return await is_ancestor(self.git, commit, self.repo.trunk_ref)

    async def is_checked_out(self, branch: str) -> bool:
        """Is it checked out anywhere? Then it must not move."""
        return any(each.branch == branch for each in await worktrees(self.git))

    async def move_branch(self, branch: str, commit: str) -> str | None:
        """Move a branch to this commit; returns the ref that keeps what it had, if any.

        At a remote, what it had is archived there as well.
        """
        if self.remote:
            await self.remote.send_branch(branch, commit)
        ref = f"refs/heads/{branch}"
        old = await commit_at(self.git, ref)
        if old == commit or (self.remote and old is None):
            return None
        stray = old is not None and not await is_ancestor(self.git, old, commit)
        kept = await archive(self.folder, label(branch), str(old)) if stray else None
        await set_branch(self.git, ref, "-m", "fleet: restore", ref, commit, old or "")
        return kept

    async def difference(self, moved: Moved) -> str:
        """What was added to or removed from a branch, in one line."""
        if moved.found is None:
            return f"{moved.branch} is gone"
        was, now = moved.expected[:10], moved.found[:10]
        more = await self.git("log", f"--max-count={SHOWN}", "--format=%s", f"{was}..{now}")
        files = await self.git("diff", "--name-only", "--no-renames", was, now)
        what = f"commits: {'; '.join(more.splitlines())}" if more else "commits were removed"
        return (
            f"{moved.branch} moved from {was} to {now} ({what}; "
            f"files: {', '.join(files.splitlines()[:SHOWN]) or 'none'}); "
            f"`git diff {was} {now}` shows it"
        )

    async def _tip(self, branch: str) -> str | None:
        if self.remote:
            await self.remote.fetch(branch)
            return await self.remote.tip(branch)
        return await commit_at(self.git, f"refs/heads/{branch}")


def _tasks(refs: Iterable[str]) -> set[TaskId]:
    names = (ref.removeprefix(OURS).removeprefix(RUNS) for ref in refs)
    return {TaskId(re.split(r"[-.]", name)[0]) for name in names}


async def restored(branches: Branches, moved: Moved) -> str:
    """Move a branch back to where it should be; returns a message about it."""
    what = "was deleted" if moved.found is None else f"was moved to {moved.found[:10]}"
    text = f"{moved.branch} {what} by somebody else; it is restored at {moved.expected[:10]}"
    try:
        kept = await branches.move_branch(moved.branch, moved.expected)
    except WorkspaceTrouble as trouble:  # the store has the commit, with or without the branch
        return f"{moved.branch} {what} by somebody else and cannot be restored: {trouble.problem}"
    return f"{text}; what it was moved to is kept as {kept}" if kept else text


async def branches_of_tasks(fleet: Fleet, repo: Path) -> list[str]:
    """The branches of this fleet's tasks; other branches with such names are not ours."""
    listed = await Git(repo)("for-each-ref", "--format=%(refname)", "refs/heads/fleet/")
    branches = [ref.removeprefix("refs/heads/") for ref in listed.splitlines()]
    ids = sorted({task for each in branches if (task := task_of_branch(each))})
    tasks = await fleet.list(TaskQuery(ids=ids)) if ids else ()
    known = {task.id for task in tasks}
    return [each for each in branches if task_of_branch(each) in known]


def task_of_branch(branch: str | None) -> TaskId | None:
    """The task whose work is on this branch."""
    found = TASK_OF_BRANCH.match(branch or "")
    return TaskId(found[1]) if found else None
