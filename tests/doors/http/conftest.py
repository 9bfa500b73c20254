"""A served fleet: the real program in a process of its own, and a client with the owner's token."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from codefleet.fleet import Fleet
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.doors.http.forked import Forked
from tests.gitrepo import SampleRepo

BOUND_S = 30.0
API = "/api/v1"


class Served(NamedTuple):
    """A running server."""

    url: str
    token: str
    process: Forked

    @property
    def owner(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def stop(self) -> None:
        """Stop it before its time: a home has one server."""
        self.process.terminate()
        self.process.wait(BOUND_S)


@contextmanager
def serving(home: Path, *options: str) -> Iterator[Served]:
    """A server of this home, ready to answer; it is stopped gently afterwards."""
    process = Forked("--home", str(home), "serve", "--port=0", *options)
    said = process.stderr.readline()
    found = re.search(r"serving at (\S+); the token is in (.*)", said)
    assert found, said + process.stderr.read()
    try:
        yield Served(found[1], Path(found[2]).read_text(), process)
    finally:
        process.terminate()
        out = process.finished(BOUND_S)
    assert out == b""


@pytest.fixture
async def fleet(home: Path, repo: SampleRepo) -> AsyncIterator[Fleet]:
    """The same fleet as the server's, opened beside it."""
    async with open_fleet(home, create=True) as opened:
        await register(opened, repo.path)
        yield opened


@pytest.fixture
def served(home: Path, fleet: Fleet) -> Iterator[Served]:
    with serving(home) as server:
        yield server


@pytest.fixture
async def owner(served: Served) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that may do everything, at the API's own address."""
    async with httpx2.AsyncClient(
        base_url=served.url + API, headers=served.owner, timeout=BOUND_S
    ) as client:
        yield client


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens elsewhere."""
    async with asyncio.timeout(BOUND_S):
        while not condition():
            await asyncio.sleep(0.01)
