"""A whole task, from the queue to the trunk, next to a bare script that does the same git work.

The script knows the fleet's commands in advance: it starts the same gits, and the same two small
programs for keeper and agent, but asks no store, takes no locks, and never looks twice.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median

from tests.trap import Trap

from bench.row import Row
from bench.wake import sample
from codefleet.domain.model import Draft
from codefleet.fleet import Fleet
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet

ROUNDS = 5
MANY = 4
GOAL = 2.0
BOUND_S = 120.0
IDENTITY = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
SMALL_PROGRAM = (sys.executable, "-I", "-S", "-c")
COUNT = 'case "$*" in *--batch-command*) ;; *) echo >> "$home/started" ;; esac'


def measure(quick: bool) -> Iterator[Row]:
    """Milliseconds for each task, and how many gits it starts."""
    tasks, rounds = (2, 1) if quick else (12, ROUNDS)
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        for agents in (1, MANY):
            place = Path(folder) / str(agents)
            place.mkdir()
            ours, raw = asyncio.run(_compare(place, agents, tasks * agents, rounds))
            who = "1 agent" if agents == 1 else f"{agents} agents"
            yield Row(f"whole task, {who}", 1000 * median(ours), 1000 * median(raw), "ms", GOAL)
        place = Path(folder) / "counted"
        place.mkdir()
        started, bare = asyncio.run(_count(place, tasks)), Bare(place / "bare", 1)
        bare.work(1)
        yield Row("gits started for a whole task", started, bare.gits, "", 1.0)


async def _compare(
    folder: Path, agents: int, tasks: int, rounds: int
) -> tuple[list[float], list[float]]:
    """Seconds for each task, ours and bare, in turns, because a busy machine is busy for both."""
    ours, raw, bare = [], [], Bare(folder / "bare", agents)
    async with open_fleet(folder / "home", create=True) as fleet:
        await register(fleet, sample(folder / "repo"))
        with _runner(folder / "home", agents):
            await _done(fleet, agents)  # fills the pool
            for _ in range(rounds):
                ours.append(await _done(fleet, tasks) / tasks)
                raw.append(await asyncio.to_thread(bare.work, tasks) / tasks)
    return ours, raw


async def _count(folder: Path, tasks: int) -> float:
    """How many gits a task starts, by a `git` on the PATH that counts."""
    trap = Trap(folder / "trap")
    async with open_fleet(folder / "home", create=True) as fleet:
        await register(fleet, sample(folder / "repo"))
        path = f"{trap.folder}:{os.environ['PATH']}"
        with _runner(folder / "home", 1, PATH=path):
            await _done(fleet, 1)
            trap.plan(COUNT)
            await _done(fleet, tasks)
    return len((trap.home / "started").read_text().splitlines()) / tasks


@contextmanager
def _runner(home: Path, agents: int, **env: str) -> Iterator[None]:
    argv = [sys.executable, "-m", "codefleet", "--home", str(home), "run", f"--agents={agents}"]
    quiet = subprocess.DEVNULL
    runner = subprocess.Popen(argv, stdout=quiet, stderr=quiet, env={**os.environ, **env})
    try:
        yield
    finally:
        runner.terminate()
        runner.wait(30)


async def _done(fleet: Fleet, tasks: int) -> float:
    """Seconds until this many new tasks are on the trunk."""
    begin = time.perf_counter()
    added = await fleet.add([_draft() for _ in range(tasks)])
    left = {task.id for task in added}
    async with asyncio.timeout(BOUND_S):
        async for event in fleet.follow():
            if event.kind == "task.completed" and event.task:
                left.discard(event.task)
            if not left:
                break
    return time.perf_counter() - begin


_numbers = count(1)


def _draft() -> Draft:
    number = next(_numbers)
    script = f"```fleet\nwrite part{number}.txt {number}\n```"
    return Draft(title=f"Part {number}", prompt=script, coder="scripted")


class Bare:
    """The same work by hand, in one worktree for each agent; landing is one at a time."""

    def __init__(self, folder: Path, agents: int) -> None:
        folder.mkdir()
        self.repo, self.gits = sample(folder / "repo"), 0
        self.slots = [folder / f"slot{number}" for number in range(agents)]
        for slot in self.slots:
            self._git(self.repo, "worktree", "add", "--quiet", "--detach", str(slot))
        self.gits = 0
        self._lane = threading.Lock()

    def work(self, tasks: int) -> float:
        """Seconds for this many tasks."""
        begin, left = time.perf_counter(), iter(range(tasks))
        with ThreadPoolExecutor(len(self.slots)) as agents:
            for agent in [agents.submit(self._agent, slot, left) for slot in self.slots]:
                agent.result()
        return time.perf_counter() - begin

    def _agent(self, slot: Path, left: Iterator[int]) -> None:
        for _ in left:
            self._task(slot, next(_numbers))

    def _task(self, slot: Path, number: int) -> None:
        branch = f"refs/heads/fleet/{number}"
        self._prepare(slot, branch)
        agent = f"open('part{number}.txt', 'w').write('{number}')"
        keeper = f"import subprocess; subprocess.run({[*SMALL_PROGRAM, agent]!r})"
        subprocess.run([*SMALL_PROGRAM, keeper], cwd=slot, check=True)
        tip = self._save(slot, branch)
        with self._lane:
            self._land(branch, tip)

    def _prepare(self, slot: Path, branch: str) -> None:
        self._git(slot, "reset", "--quiet", "--hard", "main")
        self._git(slot, "clean", "--quiet", "-ffdx")
        self._git(self.repo, "update-ref", branch, "main", "")
        self._git(slot, "symbolic-ref", "HEAD", branch)
        self._git(self.repo, "status", "--porcelain", "--untracked-files=all")

    def _save(self, slot: Path, branch: str) -> str:
        """Commit what the agent made, look at it, and leave the worktree."""
        self._git(slot, "ls-files", "-v", "--stage", "--others", "--exclude-standard")
        self._git(slot, "add", "--all")
        tree = self._git(slot, "write-tree")
        tip = self._git(slot, *IDENTITY, "commit-tree", tree, "-p", branch, "-m", "work")
        self._git(slot, "update-ref", "-m", "save", branch, tip)
        self._git(slot, "diff-tree", "-r", "--raw", "--numstat", f"{tip}^", tip)
        self._git(self.repo, "status", "--porcelain", "--untracked-files=all")
        self._git(slot, "status", "--porcelain", "--untracked-files=all")
        self._git(slot, "update-ref", "--no-deref", "HEAD", tip)
        return tip

    def _land(self, branch: str, tip: str) -> None:
        """Merge into the trunk and its checkout; what another has landed meanwhile is kept."""
        self._git(self.repo, "status", "--porcelain", "--untracked-files=no")
        tree = self._git(self.repo, "merge-tree", "--write-tree", "main", tip)
        words = ("commit-tree", tree, "-p", "main", "-p", tip, "-m", "land")
        new = self._git(self.repo, *IDENTITY, *words)
        self._git(self.repo, "read-tree", "-m", "-u", "main", new)
        self._git(self.repo, "update-ref", "refs/heads/main", new)
        self._git(self.repo, "update-ref", "-d", branch, tip)

    def _git(self, folder: Path, *args: str) -> str:
        self.gits += 1
        done = subprocess.run(
            ["git", *args],
            cwd=folder,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},  # so that looking disturbs no landing
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()
