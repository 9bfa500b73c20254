"""A place to start real agents in, cleaned up at the end."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from codefleet.coder import Start
from codefleet.runner.process import custody
from codefleet.runner.process.custody import AgentProcess, Exit

BOUND_S = 60
HOLD = "while [ ! -e go ]; do sleep 0.01; done"


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(BOUND_S):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)


class Yard:
    """A place to start agents in, each with a run folder and a shared working folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.work = path / "work"
        self.work.mkdir()
        self.kept: list[AgentProcess] = []

    async def start(self, *argv: str, run: str = "t.1", grace_s: float = 0.3) -> AgentProcess:
        return await self.begin(Start(argv=argv), run=run, grace_s=grace_s)

    async def shell(self, script: str, *, run: str = "t.1", grace_s: float = 0.3) -> AgentProcess:
        return await self.start("sh", "-c", script, run=run, grace_s=grace_s)

    async def begin(
        self, start: Start, *, run: str = "t.1", grace_s: float = 0.3, lock: int | None = None
    ) -> AgentProcess:
        kept = await custody.start(
            self.folder(run),
            start,
            cwd=self.work,
            env={"PATH": os.environ["PATH"]},
            run_id=self.tag(run),
            grace_s=grace_s,
            lock=lock,
        )
        self.kept.append(kept)
        return kept

    def folder(self, run: str) -> Path:
        return self.path / "runs" / run

    def tag(self, run: str) -> str:
        return f"{self.path.name}-{os.getpid()}-{run}"

    def go(self) -> None:
        (self.work / "go").touch()

    async def has(self, name: str) -> None:
        await until((self.work / name).exists)

    def left(self, run: str = "t.1") -> int:
        return custody.kill_tagged(self.tag(run))

    async def clear(self) -> None:
        for kept in self.kept:
            kept.kill()
            await kept.ended()
            custody.kill_tagged(self.tag(kept.folder.name))


async def ended(kept: AgentProcess) -> Exit:
    async with asyncio.timeout(BOUND_S):
        return await kept.ended()
