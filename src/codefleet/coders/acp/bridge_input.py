"""What the fleet sends to the bridge: messages for the agent, and answers to its requests."""

import asyncio
import os
import threading
from contextlib import suppress

from codefleet.coders.jsonl import parsed, text


class Hearing:
    """Lines of standard input, sorted: messages wait their turn, answers go to their request."""

    def __init__(self) -> None:
        self._words: asyncio.Queue[str | None] = asyncio.Queue()
        self._asked: dict[str, asyncio.Future[bool | None]] = {}
        self._known: set[str] = set()
        self._is_over = False

    def listen(self) -> None:
        """Start reading, in a thread: input may be a file, which no event loop can wait for."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), daemon=True).start()

    async def words(self) -> str | None:
        """The next message for the agent; None if no more will come."""
        return await self._words.get()

    async def answer(self, request: str) -> bool | None:
        """Whether that request is granted; None if everything is cancelled.

        If nobody is left to ask, it is not granted.
        """
        if self._is_over:
            return False
        self._asked[request] = asyncio.get_running_loop().create_future()
        return await self._asked[request]

    def take(self, line: str) -> None:
        match parsed(line):
            case {"type": "say", "id": str(id), "text": str(words)} if id not in self._known:
                self._known.add(id)
                self._words.put_nowait(text(words))
            case {"type": "permit", "request": str(request), "allowed": bool(allowed)}:
                self._settle(request, allowed)

    def over(self, answer: bool | None = False) -> None:
        """No more input will come; requests that still wait get this answer."""
        self._is_over = True
        self._words.put_nowait(None)
        for request in list(self._asked):
            self._settle(request, answer)

    def _settle(self, request: str, allowed: bool | None) -> None:
        asked = self._asked.pop(request, None)
        if asked and not asked.done():
            asked.set_result(allowed)

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        left = b""
        with suppress(RuntimeError):  # the loop ended before the input did
            while piece := os.read(0, 1 << 16):
                *lines, left = (left + piece).split(b"\n")
                for line in lines:
                    loop.call_soon_threadsafe(self.take, line.decode(errors="replace"))
            loop.call_soon_threadsafe(self.take, left.decode(errors="replace"))
            loop.call_soon_threadsafe(self.over)
