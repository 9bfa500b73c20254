"""How a waiting reader learns of a write within milliseconds, without polling.

After every commit the writer reads one byte of a file next to the database. Linux notifies all who
watch that file (inotify), and `PRAGMA data_version` confirms it: it differs exactly if another
connection has committed. Checking that number now and then is the safety net, and the only way on
other systems.

It is a separate file, because closing the database's file would drop SQLite's locks on it. It is
read and not touched, because a changed time is a change on disk that the next commit waits for.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from codefleet import platform

LOOK_S = 0.5
LOOK_UNTOLD_S = 0.02

Mark = tuple[int, int]


class Bell:
    """Rung after each commit of this store; heard by every store on the same file."""

    def __init__(self, path: Path, version: Callable[[], int]) -> None:
        self._file = path.with_name(f"{path.name}-bell")
        self._version = version
        self._rings = 0
        self._waiting: set[asyncio.Future[None]] = set()
        self._rope: int | None = None
        self._watch: int | None = None
        self._listeners = 0

    def ring(self) -> None:
        """Notify everyone, here and in other processes, of something new."""
        self._rings += 1
        self._wake()
        with contextlib.suppress(OSError):  # the safety net notifies the others
            if self._rope is None:
                self._rope = _hung(self._file)
            os.pread(self._rope, 1, 0)

    def mark(self) -> Mark:
        """What has been written so far, to wait for more."""
        return self._version(), self._rings

    async def wait(self, since: Mark, within: float) -> bool:
        """Wait for a ring since the mark; False if `within` seconds passed."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within
        with self._listening(loop):
            while self.mark() == since:
                left = until - loop.time()
                if left <= 0:
                    return False
                await self._rung(min(left, LOOK_S if self._watch else LOOK_UNTOLD_S))
        return True

    def close(self) -> None:
        """Wake everyone who still waits, and stop watching."""
        self._wake()
        if self._rope is not None:
            os.close(self._rope)
            self._rope = None
        if self._watch is None:
            return
        if self._listeners:
            asyncio.get_running_loop().remove_reader(self._watch)
        os.close(self._watch)
        self._watch = None

    async def _rung(self, within: float) -> None:
        ring: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(ring)
        try:
            await asyncio.wait([ring], timeout=within)
        finally:
            self._waiting.discard(ring)

    def _wake(self) -> None:
        for ring in self._waiting:
            if not ring.done():
                ring.set_result(None)

    @contextlib.contextmanager
    def _listening(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Watch the file while someone waits, and only then: our own writes ring it too."""
        if self._watch is None:
            self._watch = _watched(self._file)
        if self._watch is not None:
            loop.add_reader(self._watch, self._hear, self._watch)
        self._listeners += 1
        try:
            yield
        finally:
            self._listeners -= 1
            if self._watch is not None and not self._listeners:
                loop.remove_reader(self._watch)

    def _hear(self, watch: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(watch, 65536)  # only the ring matters, not its contents
        self._wake()


def _hung(file: Path) -> int:
    """The file, with its one byte, open for reading."""
    rope = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not os.fstat(rope).st_size:
        os.write(rope, b"!")
    return rope


def _watched(file: Path) -> int | None:
    """A file descriptor that becomes readable when anyone reads the file, or None."""
    with contextlib.suppress(OSError):  # the file must exist before it can be watched
        os.close(_hung(file))
    return platform.machine().watch(file)
