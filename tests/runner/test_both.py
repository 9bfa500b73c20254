"""Two things at once: what both return, and nothing left behind if one fails."""

import asyncio

import pytest

from codefleet.runner.run.both import both


class Failure(Exception):
    pass


async def test_both_run_at_the_same_time_and_return_what_they_found() -> None:
    first, second = asyncio.Event(), asyncio.Event()

    async def one() -> str:
        first.set()
        await second.wait()
        return "one"

    async def other() -> str:
        await first.wait()
        second.set()
        return "other"

    async with asyncio.timeout(60):
        assert await both(one(), other()) == ("one", "other")


@pytest.mark.parametrize("fails_first", [True, False])
async def test_if_either_fails_the_other_has_ended_when_that_is_told(fails_first: bool) -> None:
    ended = asyncio.Event()

    async def fails() -> None:
        await asyncio.sleep(0)
        raise Failure

    async def waits() -> None:
        try:
            await asyncio.sleep(0 if not fails_first else 600)
        finally:
            ended.set()

    with pytest.raises(Failure):
        await (both(fails(), waits()) if fails_first else both(waits(), fails()))
    assert ended.is_set()
