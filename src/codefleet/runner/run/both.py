"""Two things at once that do not depend on each other: most of the time, a git is waited for."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")


async def both(one: Coroutine[Any, Any, A], other: Coroutine[Any, Any, B]) -> tuple[A, B]:
    """What both return. If one fails or is cancelled, the other has ended before this raises."""
    beside = asyncio.ensure_future(other)
    try:
        return await one, await beside
    finally:
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
