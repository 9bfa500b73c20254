"""The cost for one runner of supervising many agents that print constantly, losing no line."""

import asyncio
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import psutil

from bench.row import Row
from bench.wake import sample
from codefleet.domain.model import Draft
from codefleet.fleet import Fleet
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet

AGENTS = 50
PER_SECOND = 100
CORE_GOAL = 50.0
MEMORY_GOAL = 80.0
LONGEST_S = 180.0


def measure(quick: bool) -> list[Row]:
    """The runner's own CPU time and memory while its agents print, and the lines it logged."""
    agents, seconds = (10, 4) if quick else (AGENTS, 10)
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        crowd = Crowd(Path(folder), agents, seconds)
        core, memory, told = asyncio.run(crowd.watch())
    what = f"{agents} agents, {PER_SECOND} lines a second each"
    return [
        Row(f"{what}: lines told of lines printed", told, crowd.printed, "", 1.0),
        Row(f"{what}: the runner's share of a core", core, CORE_GOAL, "%", 1.0),
        Row(f"{what}: the runner's memory", memory, MEMORY_GOAL, "MB", 1.0),
    ]


class Crowd:
    """Agents that wait for each other and then all print at once, under one `fleet run`."""

    def __init__(self, folder: Path, agents: int, seconds: int) -> None:
        self.home, self.folder = folder / "home", folder
        self.agents, self.seconds = agents, seconds
        self.printed = agents * seconds * PER_SECOND

    async def watch(self) -> tuple[float, float, int]:
        """Percent of a core and megabytes while they print; how many lines are then in the log."""
        repo = sample(self.folder / "repo")
        async with open_fleet(self.home, create=True) as fleet:
            await register(fleet, repo)
            await fleet.add([self._draft(number) for number in range(self.agents)])
            runner = self._start_runner()
            try:
                async with asyncio.timeout(LONGEST_S):
                    await self._all_ready(fleet)
                    core, memory = await self._while_they_talk(psutil.Process(runner.pid))
                    await asyncio.to_thread(runner.wait)
            finally:
                runner.kill()
            return core, memory, await _lines_told(fleet, self.seconds * PER_SECOND)

    async def _while_they_talk(self, runner: psutil.Process) -> tuple[float, float]:
        """Measured in the middle, when all have started and none has ended."""
        (self.folder / "go").touch()
        await asyncio.sleep(1.0)
        window = self.seconds - 2.0
        before = _own_seconds(runner)
        await asyncio.sleep(window)
        return 100 * (_own_seconds(runner) - before) / window, _megabytes(runner)

    async def _all_ready(self, fleet: Fleet) -> None:
        ready: set[str | None] = set()
        async for event in fleet.follow():
            ready |= {event.run} if event.kind == "run.session" else set()
            if len(ready) == self.agents:
                return

    def _draft(self, number: int) -> Draft:
        steps = (
            f"wait until {self.folder / 'go'} {LONGEST_S:g}",
            f"recite {self.seconds * PER_SECOND} {PER_SECOND}",
            "finish --no-changes",
        )
        script = "\n".join(("```fleet", *steps, "```"))
        return Draft(title=f"Recite {number}", prompt=script, coder="scripted")

    def _start_runner(self) -> subprocess.Popen[bytes]:
        fleet = (sys.executable, "-m", "codefleet", "--home", str(self.home))
        argv = [*fleet, "run", f"--agents={self.agents}", "--until-idle"]
        return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


async def _lines_told(fleet: Fleet, printed: int) -> int:
    """Of the lines that each run printed: those in the log, and those reported as left out."""
    told: dict[str | None, set[str]] = defaultdict(set)
    left_out: Counter[str | None] = Counter()
    after = 0
    while events := await fleet.core.store.events(after=after, kinds=["run.said"], limit=10_000):
        after = events[-1].seq
        for event in events:
            left_out[event.run] += event.data.get("left_out", 0)
            if event.text.startswith("line "):
                told[event.run].add(event.text)
    return sum(min(len(lines) + left_out[run], printed) for run, lines in told.items())


def _own_seconds(runner: psutil.Process) -> float:
    times = runner.cpu_times()
    return float(times.user + times.system)


def _megabytes(runner: psutil.Process) -> float:
    return float(runner.memory_info().rss) / 1e6
