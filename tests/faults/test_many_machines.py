"""Three machines, one database, one remote: everything lands once, whatever breaks."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import pytest

from codefleet.domain.model import Draft, Run, Runner
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.wiring import open_fleet
from tests import postgres
from tests.faults.conftest import landed_tasks, until
from tests.faults.machines import LEASE_S, Machine
from tests.faults.wires import Wire, to_git, to_postgres, wire
from tests.gitrepo import SampleRepo, make_repo
from tests.script import script

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TASKS = 300
BOUND_S = 600.0
NAMES = ("ada", "bob", "eve")
AHEAD = 10
"""How many more tasks must be completed before the next thing breaks, or is repaired."""


class Breakable(Machine):
    """A machine that also reaches the database through its own wire."""

    def __init__(self, root: Path, name: str, options: str, database: Wire, remote: Wire) -> None:
        store = f"postgresql://fleet@127.0.0.1:{database.port}/postgres?{options}"
        super().__init__(root, name, store, remote)
        self.database = database


class Site(NamedTuple):
    """What the machines share, and a view of the fleet that is never cut off."""

    machines: Sequence[Breakable]
    server: postgres.Server
    remote: SampleRepo
    fleet: Fleet
    lost: list[Run]
    """Runs of frozen machines, as they were once others had taken over their tasks."""

    async def live_on(self, machine: Machine) -> list[Run]:
        return [r for r in await self.fleet.core.store.runs(live=True) if r.host == machine.name]

    async def taken_over(self, runs: Sequence[Run]) -> Sequence[Run]:
        """Wait until none of these runs is live, and return them as they are then."""
        ids = [run.id for run in runs]

        async def all_ended() -> bool:
            return not any(run.is_live for run in await self.fleet.core.store.runs(ids=ids))

        await until(all_ended, BOUND_S)
        return await self.fleet.core.store.runs(ids=ids)

    async def completed(self) -> int:
        return (await self.fleet.core.store.counts()).get(State.COMPLETED, 0)

    async def ahead(self, by: int = AHEAD) -> None:
        """Wait until the fleet has completed some more tasks, or all of them."""
        goal = min(TASKS, await self.completed() + by)
        await until(lambda: self._has(goal), BOUND_S)

    async def silent(self, machine: Machine) -> None:
        """Wait until every lease of a machine has expired, by the store's clock."""
        await until(lambda: self._is_silent(machine.name), BOUND_S)

    async def _has(self, goal: int) -> bool:
        return await self.completed() >= goal

    async def _is_silent(self, host: str) -> bool:
        now = await self.fleet.core.store.now()
        lease = timedelta(seconds=LEASE_S)
        seen = [
            r.seen_at + lease for r in await self.fleet.core.store.records(Runner) if r.host == host
        ]
        held = [
            r.lease_until for r in await self.fleet.core.store.runs(live=True) if r.host == host
        ]
        return all(moment < now for moment in (*seen, *held))


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    seed = make_repo(tmp_path / "seed", {"README.md": "A shop.\n"})
    remote = SampleRepo(tmp_path / "srv" / "shop.git")
    seed.git("clone", "--quiet", "--bare", str(seed.path), str(remote.path))
    remote.git("config", "core.fsync", "none")
    server = postgres.Server.made(*postgres.QUICK)
    address = server.fresh()
    async with AsyncExitStack() as stack:
        stack.callback(server.remove)
        machines = []
        for name in NAMES:
            database = wire(to_postgres(server.folder / ".s.PGSQL.5432"))
            git = wire(to_git(remote.path.parent))
            wires = [await stack.enter_async_context(each) for each in (database, git)]
            options = address.partition("&")[2]
            machine = Breakable(tmp_path, name, options, *wires)
            stack.callback(machine.kill)
            machines.append(machine)
        home = tmp_path / "judge"
        fleet = await stack.enter_async_context(
            open_fleet(home, create=True, flags={"store": address, "lease_s": LEASE_S})
        )
        yield Site(machines, server, remote, fleet, [])


async def backlog(fleet: Fleet) -> None:
    """Tasks that each check that they see what they need."""
    drafts = []
    for number in range(TASKS):
        needs = [number - back for back in (9, 21) if number >= back]
        steps = [f"shell test -f n/{need}.txt" for need in needs]
        drafts.append(
            Draft(
                title=f"Task {number}",
                name=f"t{number}",
                needs=tuple(f"t{need}" for need in needs),
                prompt=script(*steps, f"write n/{number}.txt {number}"),
                repo="shop",
            )
        )
    await fleet.add(drafts)


async def killed(site: Site, machine: Breakable) -> None:
    machine.kill()
    await site.ahead()
    machine.start()


async def frozen(site: Site, machine: Breakable) -> None:
    """Freeze a busy machine until others take over its tasks; an idle one has none to lose."""
    await until(lambda: _busy_or_done(site, machine), BOUND_S)
    machine.freeze()
    while not (held := await site.live_on(machine)):
        machine.thaw()
        if await site.completed() == TASKS:
            return  # the backlog ended before this machine had a task again
        await until(lambda: _busy_or_done(site, machine), BOUND_S)
        machine.freeze()
    await site.silent(machine)
    site.lost.extend(await site.taken_over(held))
    machine.thaw()


async def _busy_or_done(site: Site, machine: Machine) -> bool:
    return bool(await site.live_on(machine)) or await site.completed() == TASKS


async def cut_off_from_the_database(site: Site, machine: Breakable) -> None:
    machine.database.cut()
    await site.silent(machine)
    machine.database.mend()


async def cut_off_from_the_remote(site: Site, machine: Breakable) -> None:
    machine.remote.cut()
    await site.ahead()
    machine.remote.mend()


async def database_restarted(site: Site, machine: Breakable) -> None:
    await asyncio.to_thread(site.server.restart)


async def database_killed(site: Site, machine: Breakable) -> None:
    await asyncio.to_thread(site.server.kill)
    await asyncio.to_thread(site.server.start)


Fault = Callable[[Site, Breakable], Awaitable[None]]
FAULTS: Sequence[Fault] = (
    killed,
    frozen,
    cut_off_from_the_database,
    cut_off_from_the_remote,
    database_restarted,
    database_killed,
)


async def test_every_task_lands_once_whatever_breaks(site: Site) -> None:
    ada, bob, _ = site.machines
    await asyncio.to_thread(ada.fleet, "init", "--share", at=await asyncio.to_thread(ada.clone))
    await asyncio.to_thread(bob.fleet, "init", at=await asyncio.to_thread(bob.clone))
    await backlog(site.fleet)
    for machine in site.machines:
        machine.start()
    turn = 0
    while await site.completed() < TASKS:
        await site.ahead()
        fault = FAULTS[turn % len(FAULTS)]
        await fault(site, site.machines[(turn + turn // len(FAULTS)) % len(NAMES)])
        turn += 1
    for machine in site.machines:
        await asyncio.to_thread(machine.stop)
    assert turn >= len(FAULTS)
    assert await site.fleet.core.store.counts() == {State.COMPLETED: TASKS}
    tasks = await site.fleet.list(TaskQuery())
    assert Counter(landed_tasks(site.remote)) == Counter(task.id for task in tasks)
    assert site.lost
    assert {run.note for run in site.lost} == {"its runner went away"}
    now = await site.fleet.core.store.runs(ids=[run.id for run in site.lost])
    assert _as_they_ended(now) == _as_they_ended(site.lost), (
        "a frozen machine may add that it is back, and what it had made, but nothing else"
    )
    files = site.remote.git("ls-tree", "--name-only", "main", "n/").split()
    assert sorted(files) == sorted(f"n/{number}.txt" for number in range(TASKS))


def _as_they_ended(runs: Sequence[Run]) -> list[Run]:
    return sorted((run.evolve(note="", tip=None, version=0) for run in runs), key=attrgetter("id"))
