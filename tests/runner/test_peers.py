"""Who is gone: by its process on this machine, by its heartbeat elsewhere."""

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from codefleet.domain.errors import Refused
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, Runner
from codefleet.domain.scheduling import ClaimFilter
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import Write
from codefleet.runner import peers
from codefleet.runner.context import Context
from codefleet.runner.loop import Loop
from codefleet.runner.paths import Paths
from codefleet.runner.process.identity import Process
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.gitrepo import make_repo


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with open_fleet(tmp_path / "home", create=True) as opened:
        yield opened


async def join(fleet: Fleet, *, host: str, started: float = 1.0) -> Runner:
    """A runner with our own pid: it is alive only if it started when we did."""
    return await Dispatch(fleet).join(
        host=host, pid=os.getpid(), pid_started=started, seats=1, coder="scripted", keep=()
    )


async def silence(fleet: Fleet, runner: Runner, *, for_long: bool = False) -> None:
    long_ago = runner.seen_at - (2 * peers.LONG if for_long else 2 * Dispatch(fleet).lease)
    await fleet.core.store.write(
        Write(records=[runner.evolve(seen_at=long_ago, version=runner.version + 1)])
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
    assert [runner.id for runner in await peers.dead_runners_here(fleet)] == [gone.id]
    assert await peers.dead_runner_ids(fleet) == {gone.id, silent.id}
    assert beats.seen_at > await fleet.core.store.now() - timedelta(minutes=1)


async def test_a_machine_that_has_been_away_for_days_is_no_longer_listed(fleet: Fleet) -> None:
    away, gone = await join(fleet, host="there"), await join(fleet, host="elsewhere")
    await silence(fleet, away)
    await silence(fleet, gone, for_long=True)
    assert len(await fleet.agents()) == 2
    await Loop(Context(fleet), agents=1, until_idle=True).run()
    assert [agent.host for agent in await fleet.agents()] == ["there"]
    told = [each.text for each in await fleet.events() if each.kind == "runner.stopped"]
    assert told[0].startswith("elsewhere, not seen since ")
    assert (await Dispatch(fleet).heartbeat(gone)).host == "elsewhere"


async def test_of_many_who_strike_off_a_runner_one_tells_and_a_living_one_stays(
    fleet: Fleet,
) -> None:
    gone, back = await join(fleet, host="there"), await join(fleet, host="there")
    await Dispatch(fleet).heartbeat(back)
    await asyncio.gather(
        *(Dispatch(fleet).remove_silent_runner(runner) for runner in (gone, gone, back, back))
    )
    assert [runner.id for runner in await fleet.core.store.records(Runner)] == [back.id]
    assert [each.kind for each in await fleet.events()].count("runner.stopped") == 1


async def test_a_lane_is_free_at_once_when_its_holder_is_gone_or_forgotten(fleet: Fleet) -> None:
    here, there = await join(fleet, host=fleet.host), await join(fleet, host="there")
    forgotten = await join(fleet, host=fleet.host)
    for repo, holder in {"a": here, "b": there, "c": forgotten}.items():
        assert await Dispatch(fleet).take_lane(repo, holder.id, dead=())
    await fleet.core.store.write(Write(removed=[forgotten]))
    assert await peers.lane_holders(fleet) == {here.id, forgotten.id}
    assert await Dispatch(fleet).take_lane("a", there.id, dead=await peers.lane_holders(fleet))
    assert (
        await Dispatch(fleet).take_lane("b", here.id, dead=await peers.lane_holders(fleet)) is None
    )


async def foreign(fleet: Fleet, **fields: object) -> Runner:
    """A runner with the name of this machine, from another boot, container or machine."""
    one = await join(fleet, host=fleet.host)
    there = one.evolve(machine="elsewhere", version=one.version + 1, **fields)
    await fleet.core.store.write(Write(records=[there]))
    return there


async def test_a_runner_whose_pid_means_nothing_here_is_judged_by_its_heartbeat(
    fleet: Fleet,
) -> None:
    beats, silent = await foreign(fleet), await foreign(fleet)
    await silence(fleet, silent)
    assert [runner.id for runner in await peers.dead_runners_here(fleet)] == [silent.id]
    assert beats.id not in await peers.dead_runner_ids(fleet)


async def test_a_run_of_a_namesake_is_not_adopted_but_one_from_before_a_restart_is(
    fleet: Fleet, tmp_path: Path
) -> None:
    repo = make_repo(tmp_path / "shop")
    await register(fleet, repo.path)
    await fleet.add([Draft(title=name, repo="shop") for name in ("Ours", "Theirs")])
    gone = await foreign(fleet)
    seats = [Seat(f"agent-{n}", gone.id, fleet.host, "scripted") for n in (1, 2)]
    ours, theirs = await Dispatch(fleet).claim(seats, ClaimFilter())
    Paths(fleet.home).run(ours.run).mkdir(parents=True)
    assert await peers.orphans(fleet) == []
    await silence(fleet, gone)
    assert [run.id for run in await peers.orphans(fleet)] == [ours.run.id]
    await fleet.core.store.write(Write(removed=[gone]))
    assert [run.id for run in await peers.orphans(fleet)] == [ours.run.id]
    assert theirs.run.outcome is None


async def test_a_machine_does_not_run_under_the_name_of_another(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codefleet.runner.peers.LOOK_S", 0.01)
    other = await foreign(fleet)

    async def beat() -> None:
        alive = other
        while True:
            alive = await Dispatch(fleet).heartbeat(alive)
            await asyncio.sleep(0.01)

    beating = asyncio.create_task(beat())
    with pytest.raises(Refused, match="another machine of this fleet is also called"):
        await Loop(Context(fleet), agents=1, until_idle=True).run()
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)


async def test_a_machine_that_was_started_anew_runs_once_its_old_self_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codefleet.runner.peers.LOOK_S", 0.01)
    async with open_fleet(tmp_path / "home", create=True, flags={"lease_s": 2.0}) as fleet:
        await foreign(fleet)
        await Loop(Context(fleet, {"lease_s": 2.0}), agents=1, until_idle=True).run()
        assert [each.kind for each in await fleet.events()].count("runner.started") == 2
