"""Seats that come and go with the queue, and caps on how many agents work at once."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Runner, RunnerId, Task
from codefleet.domain.scheduling import ClaimFilter, Hold, Why
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import TaskQuery, Write
from codefleet.runner.context import Context
from codefleet.runner.loop import Loop
from tests.stories.conftest import FLAGS, Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]


async def seats_of(fleet: Fleet) -> int:
    return len(await fleet.agents())


async def test_seats_come_and_go_with_the_queue(fleet: Fleet, crew: Crew, add: Add) -> None:
    loop = Loop(Context(fleet, FLAGS), agents=2, least=0)
    most = 0

    async def all_done() -> bool:
        nonlocal most
        most = max(most, await seats_of(fleet))
        return (await fleet.core.store.counts()).get("completed") == 3

    async def grows_and_shrinks() -> bool:
        await crew.wait_for(lambda: _is(fleet, 0))
        for name in "abc":
            await add(name, f"write {name}.txt x", "wait 0.2")
        await crew.wait_for(all_done)
        await crew.wait_for(lambda: _is(fleet, 0))
        return True

    await crew.until(loop, grows_and_shrinks)
    assert most == 2


@pytest.mark.parametrize("least", [0, 1])
async def test_the_agent_that_a_task_is_for_is_seated(
    least: int, fleet: Fleet, crew: Crew, add: Add
) -> None:
    loop = Loop(Context(fleet, FLAGS), agents=3, least=least)
    task = await add("mine", "write mine.txt x", assignee="agent-3")
    await add("any", "write any.txt x")

    async def all_done() -> bool:
        return (await fleet.core.store.counts()).get("completed") == 2

    await crew.until(loop, all_done)
    assert [run.agent for run in await fleet.core.store.runs(tasks=[task.id])] == ["agent-3"]


async def _is(fleet: Fleet, number: int) -> bool:
    runners = await fleet.core.store.records(Runner)
    return len(runners) == 1 and await seats_of(fleet) == number


@pytest.mark.parametrize(
    "settings",
    [
        "most_agents = 2",
        "most_agents_per_machine = 2",
        "[repos.shop]\nmost_agents = 2",
        "[coders.scripted]\nmost_agents = 2",
    ],
)
async def test_a_cap_in_the_settings_bounds_what_is_claimed(
    settings: str, fleet: Fleet, home: Path, add: Add
) -> None:
    (home / "fleet.toml").write_text(settings)
    for name in "abc":
        await add(name, "wait 60")
    await Context(fleet, FLAGS).refresh()
    seats = [Seat(f"agent-{n}", RunnerId("r-1"), fleet.host, "scripted") for n in range(3)]
    assert len(await Dispatch(fleet).claim(seats, ClaimFilter())) == 2
    assert not await Dispatch(fleet).claim(seats, ClaimFilter())


async def test_a_task_that_waits_for_a_cap_says_so(fleet: Fleet, home: Path, add: Add) -> None:
    (home / "fleet.toml").write_text("[repos.shop]\nmost_agents = 1\n")
    await Context(fleet, FLAGS).refresh()
    for name in "ab":
        await add(name, "wait 60")
    waits = await fleet.list(TaskQuery(ready=True))
    assert {hold.why for hold in (await fleet.why(waits)).values()} == {Why.SEAT}
    await Dispatch(fleet).claim(
        [Seat("agent-1", RunnerId("r-1"), fleet.host, "scripted")], ClaimFilter()
    )
    (hold,) = (await fleet.why(await fleet.list(TaskQuery(ready=True)))).values()
    assert hold == Hold(
        why=Why.MACHINE, text="1 agent works in shop, as many as its most_agents allows"
    )


async def test_no_more_agents_of_a_coder_work_at_once_than_its_cap(
    fleet: Fleet, crew: Crew, home: Path, add: Add
) -> None:
    (home / "fleet.toml").write_text("[coders.scripted]\nmost_agents = 1\n")
    for name in "abc":
        await add(name, f"write {name}.txt x")
    await crew.work(3)
    events = await fleet.core.store.events(kinds=["run.started", "run.ended"])
    assert [event.kind for event in events] == ["run.started", "run.ended"] * 3


async def test_a_runner_shows_life_whatever_the_store_knows_of_it(fleet: Fleet) -> None:
    runner = await Dispatch(fleet).join(host="lab", pid=1, pid_started=1.0, seats=1, coder=None)
    ahead = await Dispatch(fleet).heartbeat(await Dispatch(fleet).heartbeat(runner))
    again = await Dispatch(fleet).heartbeat(runner)
    assert again.version == ahead.version + 1
    await fleet.core.store.write(Write(removed=[runner]))
    assert (await Dispatch(fleet).heartbeat(runner)).version == 0


async def test_agents_are_told_by_machine_and_number_whoever_joined_first(fleet: Fleet) -> None:
    for host in ("lab", "attic", "lab", "attic", "lab", "attic"):
        await Dispatch(fleet).join(host=host, pid=1, pid_started=1.0, seats=2, coder=None)
    for told in (await fleet.agents(), (await fleet.status()).agents):
        by_machine = [(agent.host, int(agent.name.removeprefix("agent-"))) for agent in told]
        assert by_machine == sorted(by_machine)


async def test_a_run_that_cannot_even_be_given_up_is_told_in_the_log_of_crashes(
    fleet: Fleet, home: Path
) -> None:
    async def broken() -> None:
        raise WorkspaceTrouble("the folder is gone", hint="")

    driving = asyncio.create_task(broken(), name="k3m9x2pa.1")
    await asyncio.wait([driving])
    Loop(Context(fleet, FLAGS))._ended("agent-1", driving)
    told = (home / "logs" / "crash.log").read_text()
    assert "the run k3m9x2pa.1" in told
    assert "the folder is gone" in told


async def joined(fleet: Fleet, host: str, seats: int) -> Runner:
    return await Dispatch(fleet).join(host=host, pid=1, pid_started=1.0, seats=seats, coder=None)


async def names(fleet: Fleet) -> list[str]:
    return [agent.name for agent in await fleet.agents()]


async def test_runners_that_join_at_the_same_moment_share_no_name(fleet: Fleet) -> None:
    await asyncio.gather(*(joined(fleet, host, 3) for host in ("ada", "bob", "cat", "dan")))
    assert [*Counter(await names(fleet)).values()] == [1] * 12


async def test_no_seat_goes_while_its_agent_works(fleet: Fleet) -> None:
    runner = await joined(fleet, "ada", 3)
    busy = ("agent-2", "agent-3")
    assert (await Dispatch(fleet).reseat(runner, busy, 1, called=["agent-9"])).seats == busy


async def test_seats_that_are_made_at_the_same_moment_share_no_name(fleet: Fleet) -> None:
    runners = [await joined(fleet, host, 0) for host in ("ada", "bob", "cat")]
    for seats in (1, 3, 2):
        runners = await asyncio.gather(
            *(Dispatch(fleet).reseat(it, it.seats[:seats], seats) for it in runners)
        )
        assert [*Counter(await names(fleet)).values()] == [1] * 3 * seats


async def test_seats_are_numbered_on_where_another_runner_has_the_first_numbers(
    fleet: Fleet,
) -> None:
    await joined(fleet, "ada", 2)
    await joined(fleet, "bob", 2)
    assert sorted(await names(fleet)) == ["agent-1", "agent-2", "agent-3", "agent-4"]


async def test_an_agent_at_work_is_told_from_one_of_the_same_name_on_a_machine_that_came_back(
    fleet: Fleet, add: Add
) -> None:
    for host in ("ada", "bob", "cat"):
        one = await joined(fleet, host, 0)
        await Dispatch(fleet).heartbeat(one.evolve(seats=("agent-1",)))
        await add(host, "wait 60")
        await Dispatch(fleet).claim([Seat("agent-1", one.id, host, "scripted")], ClaimFilter())
    assert [agent.state for agent in await fleet.agents()] == ["working"] * 3
