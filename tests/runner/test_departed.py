"""Who is no more: by its process on this machine, by its heartbeat elsewhere."""

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from codefleet.domain.model import Runner
from codefleet.fleet import Fleet
from codefleet.ports import Write
from codefleet.runner import departed
from codefleet.runner.desk import Desk
from codefleet.runner.loop import Loop
from codefleet.runner.process import Process
from codefleet.wiring import open_fleet


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with open_fleet(tmp_path / "home", create=True) as opened:
        yield opened


async def join(fleet: Fleet, *, host: str, started: float = 1.0) -> Runner:
    """A runner with our own pid: it is alive only when it began when we did."""
    return await fleet.join(
        host=host, pid=os.getpid(), pid_started=started, seats=1, coder="scripted", keep=()
    )


async def silence(fleet: Fleet, runner: Runner, *, for_long: bool = False) -> None:
    long_ago = runner.seen_at - (2 * departed.LONG if for_long else 2 * fleet.lease)
    await fleet.store.write(
        Write(runners=[runner.evolve(seen_at=long_ago, version=runner.version + 1)])
    )


async def test_a_runner_here_is_judged_by_its_process_and_one_elsewhere_by_its_heartbeat(
    fleet: Fleet,
) -> None:
    me = Process.find(os.getpid())
    assert me
    alive = await join(fleet, host=fleet.host, started=me.started)
    gone = await join(fleet, host=fleet.host)
    beats, silent = await join(fleet, host="there"), await join(fleet, host="there")
    for runner in (alive, silent):
        await silence(fleet, runner)
    assert [runner.id for runner in await departed.here(fleet)] == [gone.id]
    assert await departed.everywhere(fleet) == {gone.id, silent.id}
    assert beats.seen_at > await fleet.store.now() - timedelta(minutes=1)


async def test_a_machine_that_has_been_away_for_days_is_no_longer_listed(fleet: Fleet) -> None:
    away, gone = await join(fleet, host="there"), await join(fleet, host="elsewhere")
    await silence(fleet, away)
    await silence(fleet, gone, for_long=True)
    assert len(await fleet.agents()) == 2
    await Loop(Desk(fleet), agents=1, until_idle=True).run()
    assert [agent.host for agent in await fleet.agents()] == ["there"]
    told = [each.text for each in await fleet.events() if each.kind == "runner.stopped"]
    assert told[0].startswith("elsewhere, not seen since ")
    assert (await fleet.beat(gone)).host == "elsewhere"


async def test_of_many_who_strike_off_a_runner_one_tells_and_a_living_one_stays(
    fleet: Fleet,
) -> None:
    gone, back = await join(fleet, host="there"), await join(fleet, host="there")
    await fleet.beat(back)
    await asyncio.gather(*(fleet.strike_off(runner) for runner in (gone, gone, back, back)))
    assert [runner.id for runner in await fleet.store.runners()] == [back.id]
    assert [each.kind for each in await fleet.events()].count("runner.stopped") == 1


async def test_a_lane_is_free_at_once_when_its_holder_is_gone_or_forgotten(fleet: Fleet) -> None:
    here, there = await join(fleet, host=fleet.host), await join(fleet, host="there")
    forgotten = await join(fleet, host=fleet.host)
    for repo, holder in {"a": here, "b": there, "c": forgotten}.items():
        assert await fleet.take_lane(repo, holder.id, dead=())
    await fleet.store.forget_runner(forgotten.id)
    assert await departed.lane_holders(fleet) == {here.id, forgotten.id}
    assert await fleet.take_lane("a", there.id, dead=await departed.lane_holders(fleet))
    assert await fleet.take_lane("b", here.id, dead=await departed.lane_holders(fleet)) is None
