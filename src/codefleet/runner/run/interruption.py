"""Aborting work that nobody waits for any more, and finishing what must not stop halfway."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class GivenUp(Exception):
    """The work was aborted; the outcome is decided elsewhere."""


async def run_unless(given_up: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """Do the work, unless it is given up first."""
    doing = asyncio.ensure_future(work)
    told = asyncio.ensure_future(given_up.wait())
    try:
        await asyncio.wait((doing, told), return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        raise GivenUp
    finally:
        for each in (doing, told):
            each.cancel()
        await asyncio.gather(doing, told, return_exceptions=True)


async def uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Do short work that must not stop halfway; a cancellation takes effect when it is done."""
    doing = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        await asyncio.gather(doing, return_exceptions=True)
        raise
