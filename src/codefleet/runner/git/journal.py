"""What the lane is about to do to a trunk, written first, for recovery after a crash.

The journal is used under a lock that the git processes of the move hold too. So a runner that gets
the lock knows that the runner before it and its last git are gone: what they left is final.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from codefleet.domain.noun import Noun
from codefleet.runner.git.locks import held

PATIENCE = 5.0
"""How long to wait for another runner that moves the same trunk, in seconds."""


class Move(Noun):
    """One step of a trunk from `old` to `new`, with or without the files of a checkout."""

    says: str = "codefleet is moving this checkout; if stopped, the next `fleet run` finishes it"
    folder: str
    trunk: str
    old: str
    new: str
    with_files: bool = False


class Journal:
    """At most one move, in one file, under a lock."""

    def __init__(self, file: Path, lock: int) -> None:
        self.file = file
        self.lock = lock

    def read(self) -> Move | None:
        try:
            return Move.from_json(self.file.read_bytes())
        except (FileNotFoundError, ValueError):
            return None

    def write(self, move: Move) -> None:
        draft = self.file.with_name(f"{self.file.name}.new")
        with draft.open("w", encoding="utf-8") as out:
            out.write(move.json())
            out.flush()
            os.fsync(out.fileno())
        draft.replace(self.file)

    def clear(self) -> None:
        self.file.unlink(missing_ok=True)


@asynccontextmanager
async def opened(file: Path) -> AsyncIterator[Journal | None]:
    """The journal, locked; None while another runner uses it."""
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(PATIENCE):
                lock = await stack.enter_async_context(held(file.with_name(f"{file.name}.lock")))
        except TimeoutError:
            yield None
            return
        yield Journal(file, lock)
