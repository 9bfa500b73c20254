"""Seats that come and go with the queue, and caps on how many agents are at work."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import RunnerId, Task
from codefleet.domain.scheduling import Want
from codefleet.fleet import Fleet
from codefleet.runner.bounds import caps
from codefleet.runner.desk import Desk
from codefleet.runner.loop import Loop
from tests.stories.conftest import FLAGS, Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]


async def seats_of(fleet: Fleet) -> int:
    return len(await fleet.agents())


async def test_seats_come_and_go_with_the_queue(fleet: Fleet, crew: Crew, add: Add) -> None:
    loop = Loop(Desk(fleet, FLAGS), agents=2, least=0)
    most = 0

    async def all_done() -> bool:
        nonlocal most
        most = max(most, await seats_of(fleet))
        return (await fleet.store.counts()).get("completed") == 3

    async def grows_and_shrinks() -> bool:
        await crew.wait_for(lambda: _is(fleet, 0))
        for name in "abc":
            await add(name, f"write {name}.txt x", "wait 0.2")
        await crew.wait_for(all_done)
        await crew.wait_for(lambda: _is(fleet, 0))
        return True

    await crew.until(loop, grows_and_shrinks)
    assert most == 2


async def _is(fleet: Fleet, number: int) -> bool:
    runners = await fleet.store.runners()
    return len(runners) == 1 and await seats_of(fleet) == number


@pytest.mark.parametrize(
    ("settings", "room"),
    [
        ("", caps.Room(3)),
        ("most_agents = 2", caps.Room(1)),
        ("most_agents = 1", caps.Room(0)),
        ("most_agents_per_machine = 1", caps.Room(0)),
        ("[repos.shop]\nmost_agents = 1", caps.Room(1, {"shop"})),
        ("[repos.shop]\nmost_agents = 2", caps.Room(1)),
        ("[coders.scripted]\nmost_agents = 1", caps.Room(1, coders={"scripted"})),
    ],
)
async def test_a_cap_that_is_reached_leaves_no_room(
    settings: str, room: caps.Room, fleet: Fleet, home: Path, add: Add
) -> None:
    (home / "fleet.toml").write_text(settings)
    await add("Paint", "wait 60")
    await Desk(fleet, FLAGS).refresh()
    (claim,) = await fleet.claim([Seat("agent-1", RunnerId("r-1"), fleet.host, "scripted")], Want())
    found = await caps.room(fleet, 3)
    assert (found.seats, set(found.repos), set(found.coders)) == (
        room.seats,
        set(room.repos),
        set(room.coders),
    )
    assert claim.run.is_live


async def test_no_more_agents_of_a_coder_work_at_once_than_its_cap(
    fleet: Fleet, crew: Crew, home: Path, add: Add
) -> None:
    (home / "fleet.toml").write_text("[coders.scripted]\nmost_agents = 1\n")
    for name in "abc":
        await add(name, f"write {name}.txt x")
    await crew.work(3)
    events = await fleet.store.events(kinds=["run.started", "run.ended"])
    assert [event.kind for event in events] == ["run.started", "run.ended"] * 3


async def test_a_runner_shows_life_whatever_the_store_knows_of_it(fleet: Fleet) -> None:
    runner = await fleet.join(host="lab", pid=1, pid_started=1.0, seats=1, coder=None)
    ahead = await fleet.beat(await fleet.beat(runner))
    again = await fleet.beat(runner)
    assert again.version == ahead.version + 1
    await fleet.store.forget_runner(runner.id)
    assert (await fleet.beat(runner)).version == 0
