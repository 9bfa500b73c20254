"""A home has one server at a time, which its commands find."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest

from codefleet.domain.errors import Refused
from codefleet.fleet import Fleet
from tests.doors.conftest import program
from tests.doors.http.conftest import BOUND_S, Served


async def test_a_second_server_of_a_home_is_refused_and_the_first_is_still_found(
    served: Served,
) -> None:
    second = await asyncio.to_thread(program, "serve", "--port=0")
    assert second.code == Refused.exit_code
    assert f"already served at {served.url} (process {served.process.pid})" in second.err
    assert "`fleet serve --stop` stops it" in second.err
    found = await asyncio.to_thread(program, "serve", "--status")
    assert found.out == f"{served.url}\n"
    stopped = await asyncio.to_thread(program, "serve", "--stop")
    assert (stopped.code, served.process.wait()) == (0, 0)


@pytest.mark.slow
async def test_of_servers_that_start_together_one_serves(home: Path, fleet: Fleet) -> None:
    argv = [sys.executable, "-m", "codefleet", "--home", str(home), "serve", "--port=0"]
    started = [await asyncio.create_subprocess_exec(*argv, stderr=PIPE) for _ in range(3)]
    ends = {asyncio.create_task(each.wait()): each for each in started}
    try:
        async with asyncio.timeout(BOUND_S):
            for ended in (await _first(ends), await _first(ends)):
                assert ended.returncode == Refused.exit_code
            (left,) = ends.values()
            assert left.stderr
            assert b"serving at" in await left.stderr.readline()
        found = await asyncio.to_thread(program, "serve", "--status")
        assert (left.returncode, found.code) == (None, 0)
    finally:
        for each in ends.values():
            each.terminate()
            await each.wait()


async def _first(ends: dict[asyncio.Task[int], Process]) -> Process:
    """The next of these processes that ends; it is no longer among them."""
    done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    return ends.pop(done.pop())
