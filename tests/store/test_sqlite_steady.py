"""Leases on SQLite use the machine's uptime: setting the clock ends none."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from codefleet.ports import Uptime
from codefleet.store.sqlite.store import SqliteStore
from tests.store.samples import LEASE, StillClock, add, claim, take, task


class Machine:
    """A machine whose clock can be set, and which can be rebooted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = StillClock()
        self.boot, self.up = "first", 100.0

    def uptime(self) -> Uptime:
        return Uptime(self.boot, self.up)

    def opened(self) -> SqliteStore:
        return SqliteStore.open(self.path, clock=self.clock, uptime=self.uptime)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "fleet.db")


@pytest.fixture
async def store(machine: Machine) -> AsyncIterator[SqliteStore]:
    store = machine.opened()
    yield store
    await store.close()


async def test_a_clock_set_forward_ends_no_lease(store: SqliteStore, machine: Machine) -> None:
    await add(store, task("a"))
    await take(store)
    machine.clock.advance(days=365)
    assert await claim(store) == []
    assert await store.next_start() == machine.clock.now() + LEASE


async def test_a_clock_set_back_prolongs_no_lease(store: SqliteStore, machine: Machine) -> None:
    await add(store, task("a"))
    await take(store)
    machine.clock.advance(hours=-1)
    machine.up += LEASE.total_seconds()
    assert await claim(store) == ["a"]


async def test_two_processes_have_the_same_time_whatever_the_clock_says(
    store: SqliteStore, machine: Machine
) -> None:
    machine.clock.advance(hours=1)
    other = machine.opened()
    assert await other.steady() == await store.steady()
    await other.close()


@pytest.mark.parametrize("wrong", [timedelta(0), timedelta(days=-365)])
async def test_leases_of_an_earlier_boot_have_ended(
    store: SqliteStore, machine: Machine, wrong: timedelta
) -> None:
    await add(store, task("a"))
    await take(store)
    machine.boot, machine.up = "second", 1.0
    machine.clock.moment += wrong
    again = machine.opened()
    assert await claim(again) == ["a"]
    await again.close()
