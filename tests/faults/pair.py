"""Two machines, each a separate process with its own home, working on one small backlog."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.wiring import open_fleet
from tests.faults.conftest import landed_tasks, until
from tests.faults.machines import LEASE_S, Machine
from tests.faults.wires import to_git, wire
from tests.gitrepo import SampleRepo, make_repo


class Pair(NamedTuple):
    """Ada, who shares her clone; Bob, who gets a mirror; and a view of their fleet."""

    ada: Machine
    bob: Machine
    remote: SampleRepo
    fleet: Fleet

    async def work(self, within_s: float) -> None:
        """Both machines do everything there is to do, and continue until they are stopped."""
        for machine in (self.ada, self.bob):
            machine.start("2")

        async def all_done() -> bool:
            return set(await self.fleet.core.store.counts()) == {State.COMPLETED}

        try:
            await until(all_done, within_s)
        except TimeoutError:
            counts = await self.fleet.core.store.counts()
            raise AssertionError(f"{counts}\n{self.ada.log()}\n{self.bob.log()}") from None

    async def stop(self) -> None:
        for machine in (self.ada, self.bob):
            await asyncio.to_thread(machine.stop)

    async def assert_each_landed_once(self) -> None:
        tasks = await self.fleet.list(TaskQuery())
        assert Counter(landed_tasks(self.remote)) == Counter(task.id for task in tasks)


@asynccontextmanager
async def pair(
    root: Path, store: str, for_bob: Mapping[str, str], for_both: Mapping[str, str]
) -> AsyncIterator[Pair]:
    """Two machines with these environment variables, which know one repo."""
    seed = make_repo(root / "seed", {"README.md": "A shop.\n"})
    remote = SampleRepo(root / "srv" / "shop.git")
    seed.git("clone", "--quiet", "--bare", str(seed.path), str(remote.path))
    async with AsyncExitStack() as stack:
        flags = {"store": store, "lease_s": LEASE_S}
        judge = open_fleet(root / "judge", create=True, flags=flags)
        fleet = await stack.enter_async_context(judge)
        machines = []
        for name, variables in (("ada", for_both), ("bob", {**for_both, **for_bob})):
            git = await stack.enter_async_context(wire(to_git(remote.path.parent)))
            machine = Machine(root, name, store, git, **variables)
            stack.callback(machine.kill)
            machines.append(machine)
        ada, bob = machines
        await asyncio.to_thread(ada.fleet, "init", "--share", at=await asyncio.to_thread(ada.clone))
        yield Pair(ada, bob, remote, fleet)
