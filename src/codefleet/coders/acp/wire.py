"""The agent's process and its pipes: messages out, messages in, and its last output."""

import asyncio
import json
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

from codefleet import platform
from codefleet.coders import trouble
from codefleet.platform import groups

LONGEST_LINE = 64 << 20
LAST_WORDS = 8000
GRACE_S = 2.0
"""How long an agent may take to end by itself, and again after each signal."""


class Wire:
    """A transport for the library's connection, over the pipes of an agent that we start.

    It is more tolerant than the library's own: anything that is not a message is skipped.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._last_words = b""
        self._listening = asyncio.create_task(self._pass_on_complaints())
        self._ended = asyncio.create_task(_ended(process))

    async def send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        await self._process.stdin.drain()

    async def receive(self) -> dict[str, Any] | None:
        while True:
            try:
                line = await self._line()
            except ValueError:  # too long for a message, and so is its rest
                continue
            if not line:
                return None
            if message := parsed(line):
                return message

    async def close(self) -> None:
        """End the agent: close its input, then ask it to stop, then kill it."""
        assert self._process.stdin
        self._process.stdin.close()
        for urge in (None, signal.SIGTERM, signal.SIGKILL):
            if urge:
                self._send(urge)
            if await self._over(self._ended):
                break
        self._send(signal.SIGTERM)  # for what it left in its group
        self._listening.cancel()
        self._ended.cancel()

    async def end(self) -> str:
        """How an agent that closed its output ended, with its last output."""
        how = "the agent closed its output"
        if await self._over(self._ended):
            how = f"the agent ended with {self._process.returncode}"
        await self._over(self._listening)
        words = trouble.last_words(self._last_words.decode(errors="replace"))
        return f"{how}\n{words}".strip()

    async def _line(self) -> bytes:
        """The next line; nothing after the agent's end, even if a child of it holds the pipe."""
        assert self._process.stdout
        reading = asyncio.ensure_future(self._process.stdout.readline())
        try:
            await asyncio.wait({reading, self._ended}, return_when="FIRST_COMPLETED")
            return reading.result() if await self._over(reading) else b""
        finally:
            reading.cancel()

    async def _over(self, task: "asyncio.Future[Any]") -> bool:
        done, _ = await asyncio.wait({task}, timeout=GRACE_S)
        return bool(done)

    def _send(self, urge: signal.Signals) -> None:
        groups.send(self._process.pid, urge)

    async def _pass_on_complaints(self) -> None:
        assert self._process.stderr
        while words := await self._process.stderr.read(1 << 16):
            self._last_words = (self._last_words + words)[-LAST_WORDS:]
            os.write(2, words)


async def start(argv: Sequence[str], env: Mapping[str, str]) -> Wire:
    """Start the agent in a session of its own: a stop goes to the bridge, which ends it gently."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(env),
        limit=LONGEST_LINE,
        start_new_session=True,
    )
    return Wire(process)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Wait for the agent itself; asyncio's own wait includes everything that holds its pipes."""
    await platform.processes().child_ended(process.pid)
    while process.returncode is None:  # noqa: ASYNC110  # asyncio is about to notice
        await asyncio.sleep(0.01)


def parsed(line: bytes) -> dict[str, Any] | None:
    """The message on a line, or None if there is no valid one."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or not isinstance(message.get("id"), int | str | None):
        return None
    if not isinstance(message.get("method"), str | None):
        return None
    if "error" in message and not isinstance(message["error"], dict):
        message["error"] = {"message": str(message["error"])}
    return message
