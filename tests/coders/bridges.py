"""Bridges to the small ACP agent, run over real pipes as their keepers would run them."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from codefleet.coder import Endpoint
from codefleet.coders.acp import coder
from codefleet.coders.jsonl import say
from tests.coders.assignments import assignment

AGENT = Path(__file__).with_name("acp_agent.py")
BOUND_S = 30
ENDPOINT = Endpoint("http://127.0.0.1:20000/mcp", "t1.1:f00d")
Line = dict[str, Any]


class Bridge:
    """One bridge: lines in, lines out."""

    def __init__(self, process: asyncio.subprocess.Process, worktree: Path) -> None:
        self.process, self.worktree = process, worktree
        self.said = 0

    def send(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line.encode() + b"\n")

    def say(self, *deeds: Line) -> None:
        self.said += 1
        self.send(say(f"m{self.said}", json.dumps(deeds)))

    def close_input(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    async def line(self) -> Line | None:
        assert self.process.stdout
        raw = await asyncio.wait_for(self.process.stdout.readline(), BOUND_S)
        return dict(json.loads(raw)) if raw else None

    async def until(self, kind: str) -> Line:
        """The next line of this kind."""
        while line := await self.line():
            if line["type"] == kind:
                return line
        raise AssertionError(f"it ended without a line {kind}")

    async def rest(self) -> list[Line]:
        """All lines until the end."""
        lines = []
        while line := await self.line():
            lines.append(line)
        return lines

    async def turn(self, *deeds: Line) -> list[Line]:
        """Everything that one turn prints."""
        self.say(*deeds)
        lines = []
        while line := await self.line():
            if line["type"] != "started":
                lines.append(line)
            if line["type"] in ("finished", "broke", "limit"):
                break
        return lines


class Yard:
    """Starts and stops bridges, all to agents with the same memory."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.worktree = folder, folder / "work"
        self.worktree.mkdir()
        self._bridges: list[Bridge] = []

    async def bridge(
        self, *ways: str, env: dict[str, str] | None = None, resume: str | None = None, **more: str
    ) -> Bridge:
        """A bridge that asks about all tools, to an agent with these ways."""
        agent = [sys.executable, str(AGENT), f"--notes={self.folder / 'notes'}"]
        options: dict[str, object] = {"argv": [*agent, *(f"--way={way}" for way in ways)], **more}
        given = assignment(self.folder, resume=resume, options=options)
        run = given._replace(judged=["*"], tools=["fleet", "mcp"], endpoint=ENDPOINT)
        start = coder.start(run)
        process = await asyncio.create_subprocess_exec(
            *start.argv,
            cwd=self.worktree,
            env={**os.environ, **start.env, **(env or {})},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=1 << 25,
        )
        self._bridges.append(Bridge(process, self.worktree))
        return self._bridges[-1]

    async def close(self) -> None:
        for bridge in self._bridges:
            bridge.close_input()
            if bridge.process.returncode is None:
                bridge.process.kill()
            await bridge.process.communicate()
