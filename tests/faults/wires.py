"""Wires between machines and what they share, which a test can cut and repair per machine."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
CHUNK = 65536


class Wire:
    """A port on this machine that leads somewhere, until it is cut."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = {}
        self.is_cut = False
        self.port = 0

    async def serve(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        if self.is_cut:
            back.transport.abort()
            return
        self._open[back] = asyncio.current_task()
        try:
            with suppress(OSError, asyncio.CancelledError):  # the test is over
                await self._answer(near, back)
        finally:
            del self._open[back]
            back.transport.abort()

    def cut(self) -> None:
        self.is_cut = True
        for writer in self._open:
            writer.transport.abort()

    def mend(self) -> None:
        self.is_cut = False

    async def close(self) -> None:
        """Cut it for good, and wait until nobody is connected."""
        self.cut()
        answering = [task for task in self._open.values() if task]
        for task in answering:
            task.cancel()
        await asyncio.gather(*answering)


@asynccontextmanager
async def wire(answer: Answer) -> AsyncIterator[Wire]:
    made = Wire(answer)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        await made.close()


def to_postgres(socket: Path) -> Answer:
    """Connect to a server's socket."""

    async def answer(near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        far, out = await asyncio.open_unix_connection(socket)
        await _both_ways(near, back, far, out)

    return answer


def to_git(folder: Path) -> Answer:
    """Connect to git's own server, one process per caller, which outlives a killed machine."""
    argv = ("git", "daemon", "--inetd", "--export-all", "--enable=receive-pack")

    async def answer(near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        process = await asyncio.create_subprocess_exec(
            *(*argv, f"--base-path={folder}", str(folder)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin
        assert process.stdout
        try:
            await _both_ways(near, back, process.stdout, process.stdin)
        finally:
            await process.wait()

    return answer


async def _both_ways(
    near: asyncio.StreamReader,
    back: asyncio.StreamWriter,
    far: asyncio.StreamReader,
    out: asyncio.StreamWriter,
) -> None:
    """Forward both ways until the far side ends; the end of input is forwarded too."""
    asking = asyncio.create_task(_hand_on(near, out))
    try:
        await _hand_on(far, back)
    finally:
        asking.cancel()
        out.close()
        await asyncio.gather(asking, return_exceptions=True)


async def _hand_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while heard := await source.read(CHUNK):
            target.write(heard)
            await target.drain()
    with suppress(OSError):
        if target.can_write_eof():
            target.write_eof()
