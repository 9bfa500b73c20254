"""Every verb knows who asks, and every event says by whom."""

import json
from collections.abc import Awaitable, Callable

import pytest

from codefleet.domain.access import OWNER, AgentOf, Holder
from codefleet.domain.errors import Forbidden, Refused
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, Event, RunId, RunnerId, Task, TokenId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import Role, State
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.fleet.dispatch.runners import as_runner
from tests.stories.conftest import Crew

Add = Callable[..., Awaitable[Task]]


async def by_kind(fleet: Fleet) -> dict[str, str]:
    return {event.kind: event.by for event in await fleet.events()}


async def test_events_say_whether_a_human_or_a_runner_did_it(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    await add("Greet", "say Hello", "write hi.txt hello", "finish")
    await crew.work(agents=1)
    by = await by_kind(fleet)
    assert by["task.added"] == by["repo.added"] == "human"
    runner = f"runner {fleet.host}"
    for kind in ("runner.started", "run.started", "run.said", "run.ended", "task.completed"):
        assert by[kind] == runner, kind


async def test_events_name_the_owner_the_member_and_the_run_that_caused_them(fleet: Fleet) -> None:
    (task,) = await fleet.acting_as(OWNER).add([Draft(title="Lead")])
    seat = Seat("agent-1", RunnerId("r"), "lab", "scripted")
    (claim,) = await Dispatch(fleet).claim([seat], ClaimFilter())
    (child,) = await fleet.acting_as(AgentOf(run=claim.run.id)).add([Draft(title="Child")])
    await fleet.create_team("web")
    (theirs,) = await member(fleet, Role.TEAM_LEAD).add([Draft(title="Theirs")])
    added = {e.task: e.by for e in await fleet.events() if e.kind == "task.added"}
    by = {task.id: "owner", child.id: f"run {claim.run.id}", theirs.id: "ann@web"}
    assert added == by
    assert (await by_kind(fleet))["run.started"] == "runner lab"


async def test_an_export_keeps_by_whom_and_older_logs_still_load(fleet: Fleet, add: Add) -> None:
    await add("Greet")
    lines = [line async for line in fleet.export()]
    events = [row["body"] for row in map(json.loads, lines) if row["kind"] == "event"]
    assert {body["by"] for body in events} == {"human"}
    old = {name: value for name, value in events[0].items() if name != "by"}
    assert Event.from_json(json.dumps(old)).by == ""


def member(fleet: Fleet, role: Role) -> Fleet:
    return fleet.acting_as(Holder(token=TokenId("t1"), handle="ann", team="web", role=role))


@pytest.mark.parametrize("role", [Role.WORKER, Role.MERGER, Role.MONITOR, Role.NOTIFIER])
async def test_a_token_without_the_right_changes_nothing(
    fleet: Fleet, add: Add, role: Role
) -> None:
    await fleet.create_team("web")
    task = await add("Greet", team="web")
    with pytest.raises(Forbidden, match="ann@web may not cancel"):
        await member(fleet, role).cancel(task.id)
    assert (await fleet.get(task.id)).state is State.PENDING
    assert (await fleet.events())[-1].kind == "task.added"


async def test_a_monitor_reads_everything_of_its_team_and_adds_nothing(
    fleet: Fleet, add: Add
) -> None:
    await fleet.create_team("web")
    task = await add("Greet", team="web")
    wall = member(fleet, Role.MONITOR)
    assert (await wall.status()).counts == {"pending": 1}
    assert (await wall.get(task.id)).title == "Greet"
    with pytest.raises(Forbidden, match="may not add tasks"):
        await wall.add([Draft(title="More")])


async def test_an_agent_cannot_become_a_runner(fleet: Fleet) -> None:
    agent = fleet.acting_as(AgentOf(run=RunId("k3m9x2pa.1")))
    with pytest.raises(Refused, match="may not run agents"):
        as_runner(agent)
