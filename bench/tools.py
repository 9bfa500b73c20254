"""The fleet's own memory for agents that use its tools: runner, keepers, and servers of tools."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from bench.row import Row
from bench.wake import sample
from codefleet.domain.model import Draft
from codefleet.fleet import Fleet
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet

AGENTS = 50
GOAL_MB = 15.0
LONGEST_S = 600.0
PROGRAM = Path(__file__).with_name("tool_user.py")
SETTINGS = """\
coder = "claude"
agent_tools = "{over}"
durability = "normal"
memory_reserve_mb = 0
[coders.claude]
program = "{program}"
env = {{ BENCH_END = "{end}" }}
"""


def measure(quick: bool) -> list[Row]:
    """Megabytes for each agent while all are at work and have used a tool."""
    agents = 3 if quick else AGENTS
    http, stdio = (_megabytes_each(agents, over) for over in ("http", "stdio"))
    what = f"{agents} agents with tools: the fleet's memory for each"
    return [
        Row(f"{what}, at most", http, GOAL_MB, "MB", None if quick else 1.0),
        Row(f"{what}, instead of a server each", http, stdio, "MB", 1.0),
    ]


def _megabytes_each(agents: int, over: str) -> float:
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        return asyncio.run(Crowd(Path(folder), agents, over).megabytes()) / agents


class Crowd:
    """Agents that have used a tool and wait, under one `fleet run`."""

    def __init__(self, folder: Path, agents: int, over: str) -> None:
        self.folder, self.home, self.end = folder, folder / "home", folder / "end"
        self.agents = agents
        program = folder / "agent"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {PROGRAM} "$@"\n')
        program.chmod(0o700)
        self.home.mkdir()
        settings = SETTINGS.format(over=over, program=program, end=self.end)
        (self.home / "fleet.toml").write_text(settings)

    async def megabytes(self) -> float:
        """The proportional set size of the fleet's own processes: shared pages are counted once."""
        repo = sample(self.folder / "repo")
        async with open_fleet(self.home, create=True) as fleet:
            await register(fleet, repo)
            tasks = [Draft(title=f"Wait {number}") for number in range(self.agents)]
            await fleet.add([task.evolve(max_attempts=1) for task in tasks])
            runner = self._start_runner()
            try:
                async with asyncio.timeout(LONGEST_S):
                    await self._all_ready(fleet)
                    used = sum(_pss(each) for each in self._own(runner.pid))
                    self.end.touch()
                    await asyncio.to_thread(runner.wait)
            finally:
                runner.kill()
                runner.wait()
        return used / 1e6

    async def _all_ready(self, fleet: Fleet) -> None:
        ready: set[str | None] = set()
        async for event in fleet.follow():
            ready |= {event.run} if event.kind == "run.progress" else set()
            if len(ready) == self.agents:
                return

    def _own(self, runner: int) -> Iterator[psutil.Process]:
        """The runner, its keepers, and servers of tools; not the agents."""
        home = str(self.home)
        for process in psutil.process_iter():
            words = _words(process)
            is_ours = any(word.startswith(home) for word in words)
            if process.pid == runner or (is_ours and str(PROGRAM) not in words):
                yield process

    def _start_runner(self) -> subprocess.Popen[bytes]:
        fleet = (sys.executable, "-m", "codefleet", "--home", str(self.home))
        argv = [*fleet, "run", f"--agents={self.agents}", "--until-idle"]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet)


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _pss(process: psutil.Process) -> float:
    return float(process.memory_full_info().pss)
