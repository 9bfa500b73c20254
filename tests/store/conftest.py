"""The contract's fixtures: one fresh store of each kind, and more connections to it."""

import os
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from codefleet.ports import Clock, Store
from tests import postgres
from tests.store.kinds import KINDS
from tests.store.samples import StillClock

ON_A_SERVER = {"postgres", "pgbouncer"}


class Place(NamedTuple):
    """Where a store is, in a form that can be passed to another process."""

    kind: str
    address: str

    def open(self, clock: Clock) -> Store:
        return KINDS[self.kind].open(self.address, clock)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs a server is left out of `make fast`."""
    for item in items:
        wanted = {"own_server", "postgres_server"} & {*getattr(item, "fixturenames", ())}
        parts = re.split(r"[\[\]-]", item.name)
        if wanted or ON_A_SERVER & {*parts[1:]}:
            item.add_marker("slow")


def skip_or_fail(missing: str | None) -> None:
    """An unavailable store is skipped on a laptop and fails in CI."""
    if missing and os.environ.get("CI") == "true":
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)


@pytest.fixture
def postgres_server() -> None:
    skip_or_fail(postgres.missing())


needs_postgres = pytest.mark.usefixtures("postgres_server")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """The name of a kind of store that is available here."""
    name: str = request.param
    skip_or_fail(KINDS[name].missing())
    return name


@pytest.fixture
def place(kind: str, tmp_path: Path) -> Iterator[Place]:
    place = Place(kind, KINDS[kind].place(tmp_path))
    yield place
    KINDS[kind].remove(place.address)


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def connect(place: Place, clock: StillClock) -> AsyncIterator[Callable[[], Store]]:
    """Opens more connections to the one store, closed at the end."""
    async with AsyncExitStack() as stack:

        def connected() -> Store:
            store = place.open(clock)
            stack.push_async_callback(store.close)
            return store

        yield connected


@pytest.fixture
async def store(connect: Callable[[], Store]) -> Store:
    return connect()
