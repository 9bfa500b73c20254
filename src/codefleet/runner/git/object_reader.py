"""A git that stays open while a runner works, and answers questions about refs and objects.

Starting a git takes longer than the answer. So there is one `git cat-file` for each repository: it
only reads, works in no folder that others wait for, holds no lock, and ends when its input closes,
even if the runner is killed. It looks up a ref anew for every question, whoever moved it.
"""

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

from codefleet.platform import groups
from codefleet.runner.git.git import Git
from codefleet.runner.git.trusted_view import View, view_for

LONGEST_S = 10.0
"""How long an answer may take; after that, a git of its own is asked."""
IDLE_S = 5.0
"""After this time without a question it ends, so that a disk can be unplugged."""
LARGEST = 16 << 20
"""The largest object to read whole; git itself looks at larger ones."""
PLAIN = re.compile(
    r"(refs/(heads|remotes|tags|fleet)/[^\s\x00-\x1f\x7f:^~{}\\?*\[]+|[0-9a-f]{40}|[0-9a-f]{64})"
    r"(\^\{(commit|tree)\}|:[^\n]*)?"
)
"""Names that mean the same in every worktree of a repository."""


class Found(NamedTuple):
    """An object of the repository; `content` only if it was asked for."""

    id: str
    kind: str
    size: int
    content: bytes = b""


Answers = Sequence[Found | None]


@asynccontextmanager
async def readers_kept_open() -> AsyncIterator[None]:
    """Answer the questions of everything that is started in here with readers that stay open."""
    readers: dict[View, _Reader] = {}
    token = _readers.set(readers)
    try:
        yield
    finally:
        _readers.reset(token)
        for reader in readers.values():
            await reader.end()


async def look_up(folder: Path, *names: str, contents: bool = False) -> Answers | None:
    """What each name refers to, or None for what does not exist; None if no reader can tell."""
    readers = _readers.get()
    if readers is None or not all(PLAIN.fullmatch(name) for name in names):
        return None
    view = view_for(folder)
    if view is None or view.is_strangers:
        return None
    if view not in readers:
        readers[view] = _Reader(view)
    return await readers[view].ask(names, "contents" if contents else "info")


class _Reader:
    """One `git cat-file`, started when it is needed."""

    def __init__(self, view: View) -> None:
        self._env = {"GIT_DIR": str(view.common), "GIT_COMMON_DIR": str(view.folder)}
        self._process: asyncio.subprocess.Process | None = None
        self._killed: list[asyncio.subprocess.Process] = []
        self._one_at_a_time = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None

    async def ask(self, names: Sequence[str], command: str) -> Answers | None:
        """The answers, or None if there are none in time.

        A process that did not answer everything is given up: what it still has to say would be
        taken for the answer to the next question.
        """
        async with self._one_at_a_time:
            process = await self._taken()
            try:
                async with asyncio.timeout(LONGEST_S):
                    found = await _asked(process, names, command)
            except (TimeoutError, OSError, EOFError):  # killed, or stuck
                self._kill(process)
                return None
            except BaseException:
                self._kill(process)
                raise
            self._process = process
            self._idle = asyncio.get_running_loop().call_later(IDLE_S, self._close)
            return found

    async def end(self) -> None:
        """End it, and wait for all that were killed."""
        async with self._one_at_a_time:
            self._close()
            await asyncio.gather(*(process.wait() for process in self._killed))

    async def _taken(self) -> asyncio.subprocess.Process:
        """The process for one question, ours alone until it has answered."""
        if self._idle:
            self._idle.cancel()
        process, self._process = self._process, None
        if process and process.returncode is None:
            return process
        # Not in the repository: a lock there is stale only if no git runs in it.
        git = Git(Path("/"))
        return await git.start("cat-file", "--batch-command", env=self._env, leads=True, mute=True)

    def _close(self) -> None:
        process, self._process = self._process, None
        if self._idle:
            self._idle.cancel()
        if process:
            self._kill(process)

    def _kill(self, process: asyncio.subprocess.Process) -> None:
        """Kill it, and a fetch that it may have started; it only reads, so nothing is lost."""
        if process.returncode is None:
            groups.send(process.pid, signal.SIGKILL)
        if process.stdin:
            process.stdin.close()
        self._killed = [it for it in (*self._killed, process) if it.returncode is None]


_readers: ContextVar[dict[View, _Reader] | None] = ContextVar("readers", default=None)


async def _asked(
    process: asyncio.subprocess.Process, names: Sequence[str], command: str
) -> Answers:
    assert process.stdin
    assert process.stdout
    lines = "".join(f"{command} {name}\n" for name in names)
    process.stdin.write(lines.encode(errors="surrogateescape"))
    await process.stdin.drain()
    return [await _answer(process.stdout, command) for _ in names]


async def _answer(output: asyncio.StreamReader, command: str) -> Found | None:
    line = await output.readuntil(b"\n")
    words = line.decode(errors="surrogateescape").split()
    if words[-1:] in (["missing"], ["ambiguous"]):
        return None
    if len(words) != len(Found._fields) - 1 or not words[-1].isdecimal():
        raise EOFError(f"not an answer: {line[:100]!r}")
    found, kind, size = words[0], words[1], int(words[2])
    if command == "info":
        return Found(found, kind, size)
    if size > LARGEST:
        raise EOFError(f"too large to keep in memory: {size} bytes")
    return Found(found, kind, size, (await output.readexactly(size + 1))[:-1])
