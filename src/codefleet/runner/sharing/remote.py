"""The remote through which machines share a repo: fetches, and pushes that are safe from races.

What it has is kept under `refs/remotes/origin/`, as with any `git fetch`. The fleet's branches are
pushed with a lease on what was seen there; the trunk only ever moves forward.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import Unreachable, WorkspaceTrouble
from codefleet.domain.model import Repo
from codefleet.runner.git.archive import archive, label
from codefleet.runner.git.git import Done, Git
from codefleet.runner.git.layout import common_dir, git_dir
from codefleet.runner.git.locks import drop_forgotten, held
from codefleet.runner.git.lookup import commit_at, is_ancestor

TRIES = 5
LONGEST_S = 300.0
LONGEST_COPY_S = 86_400.0
LONGEST_LOOK_S = 20.0
SLOW = {"GIT_HTTP_LOW_SPEED_LIMIT": "1", "GIT_HTTP_LOW_SPEED_TIME": "30"}
FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--prune", "origin")
PUSH = ("push", "--porcelain", "--no-verify")
BY_HAND = "check its hooks and branch protection"
HALF_MADE = re.compile(r"bad object worktrees/[^/]+/HEAD")
"""While `git worktree add` runs, that HEAD is all zeros, and a fetch takes it for a lost commit."""
HALF_MADE_S = 0.2
TAKEN_LOCK = re.compile(r"'([^']+)\.lock': File exists")


class Pushed(NamedTuple):
    """The result of a push; `refused` is why the remote rejected it."""

    refused: str = ""


class Remote:
    """The remote of one repo, as this machine's clone or mirror knows it."""

    def __init__(self, repo: Repo, lock: Path) -> None:
        self.git = Git(Path(repo.path))
        self.name, self.trunk = repo.name, repo.trunk
        self._lock = lock

    async def fetch(self, *branches: str) -> None:
        """Fetch the trunk and these branches, which need not exist."""
        tracked = [f"+refs/heads/{self.trunk}:{_tracking(self.trunk)}"]
        # As patterns, because a missing single name is an error for git.
        tracked += [f"+refs/heads/{branch}*:{_tracking(branch)}*" for branch in branches]
        async with self._alone() as lock:
            done = await self._ask(*FETCH, *tracked, lock=lock)
            for _ in range(TRIES):
                if not HALF_MADE.search(done.err):
                    break
                await asyncio.sleep(HALF_MADE_S)
                done = await self._ask(*FETCH, *tracked, lock=lock)
            if done.code:
                raise self._away("fetch", done)

    async def tip(self, branch: str) -> str | None:
        """The commit of a branch at the remote when it was last fetched."""
        return await commit_at(self.git, _tracking(branch))

    async def send_branch(self, branch: str, tip: str) -> None:
        """Push a task's branch to the remote; commits there that we do not have are archived."""
        for _ in range(TRIES):
            seen = await self.tip(branch)
            if seen == tip:
                return
            if seen and not await is_ancestor(self.git, seen, tip):
                await self.send_archive(await archive(self.git.folder, label(branch), seen))
            if not (refused := (await self._send(branch, tip, seen or "")).refused):
                return
            await self.fetch(branch)
        raise WorkspaceTrouble(
            f"the remote of {self.name} rejected {branch}: {refused}", hint=BY_HAND
        )

    async def send_trunk(self, commit: str) -> str | None:
        """Move the remote's trunk forward to a commit, or return why it did not move."""
        return (await self._send(self.trunk, commit, None)).refused or None

    async def send_archive(self, ref: str) -> None:
        """Keep an archived commit at the remote too."""
        async with self._alone() as lock:
            done = await self._ask(*PUSH, "origin", f"{ref}:{ref}", lock=lock)
        if done.code:
            raise self._away("push", done)

    async def drop(self, branch: str) -> None:
        """Delete a branch at the remote, unless it moved since it was last fetched."""
        if seen := await self.tip(branch):
            await self._send(branch, "", seen)

    async def _send(self, branch: str, tip: str, lease: str | None) -> Pushed:
        ref = f"refs/heads/{branch}"
        guard = () if lease is None else (f"--force-with-lease={ref}:{lease}",)
        async with self._alone() as lock:
            done = await self._ask(*PUSH, *guard, "origin", f"{tip}:{ref}", lock=lock)
            refused = [line for line in done.out.splitlines() if line.startswith("!")]
            if done.code and not refused:
                raise self._away("push", done)
            if not refused:
                words = (_tracking(branch), tip) if tip else ("-d", _tracking(branch))
                await self.git.run("update-ref", *words)
        return Pushed(refused[0].split("\t")[-1] if refused else "")

    async def _ask(self, *words: str, lock: int) -> Done:
        """Run a network command; if a killed git left a lock, remove it and retry once."""
        done = await self.git.run(*words, env=SLOW, holds=[lock], within_s=LONGEST_S)
        if done.code and (taken := TAKEN_LOCK.search(done.err)):
            folder = git_dir(self.git.folder)
            name = Path(taken[1]).resolve()
            if name.is_relative_to(common_dir(folder)):
                await drop_forgotten(folder, str(name.relative_to(common_dir(folder))))
                done = await self.git.run(*words, env=SLOW, holds=[lock], within_s=LONGEST_S)
        return done

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[int]:
        """One at a time on this machine: git fails on a ref that another git has locked."""
        async with held(self._lock) as lock:
            yield lock

    def _away(self, verb: str, done: Done) -> Unreachable:
        return Unreachable(
            f"the remote of {self.name} cannot be reached: git {verb}: {_last(done.err)}",
            hint=f"try it by hand: git -C {self.git.folder} {verb} origin",
        )


async def trouble(repo: Repo) -> str:
    """Why this machine cannot fetch from or push to a shared repo's remote; empty if it can."""
    git = Git(Path(repo.path) if Path(repo.path).is_dir() else Path("/"))
    words: Sequence[str] = ("ls-remote", "--heads", str(repo.remote))
    if git.folder == Path(repo.path):
        words = (*PUSH, "--dry-run", "origin", f"{repo.trunk_ref}:refs/heads/fleet/doctor")
    done = await git.run(*words, env=SLOW, within_s=LONGEST_LOOK_S)
    return _last(done.err) if done.code else ""


async def make_mirror(repo: Repo) -> None:
    """Create this machine's own bare copy of a shared repo, unless it exists."""
    folder = Path(repo.path)
    if folder.is_dir() or not repo.remote:
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        async with held(folder.with_name(f".{folder.name}.lock")):
            if not folder.is_dir():
                draft = await _copied(repo, folder.with_name(f".{folder.name}.new"))
                draft.rename(folder)
    except OSError as wrong:
        raise WorkspaceTrouble(
            f"cannot copy {repo.name} to {folder}: {wrong.strerror}",
            hint="check the permissions and the free space there",
        ) from wrong


async def _copied(repo: Repo, draft: Path) -> Path:
    """A copy that is made anew, or completed if one was started."""
    await Git(draft.parent)(
        "init", "--quiet", "--bare", f"--initial-branch={repo.trunk}", str(draft)
    )
    git = Git(draft)
    await git("config", "remote.origin.url", str(repo.remote))
    await git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    done = await git.run("fetch", "--quiet", "origin", env=SLOW, within_s=LONGEST_COPY_S)
    if done.code:
        raise Unreachable(
            f"cannot copy {repo.name} from {repo.remote}: {_last(done.err)}",
            hint=f"try it by hand: git ls-remote {repo.remote}",
        )
    return draft


def _tracking(branch: str) -> str:
    return f"refs/remotes/origin/{branch}"


def _last(words: str) -> str:
    """Git's error message, without the advice that it adds."""
    lines = [line for line in words.splitlines() if line.startswith(("fatal:", "error:", "ssh:"))]
    return (lines or words.splitlines() or ["nothing"])[0]
