"""What an actor may do with a task, a workflow or what waits for a human, as buttons ask."""

from collections.abc import Sequence

from codefleet.domain.access import OWNER, Right
from codefleet.domain.board import Need
from codefleet.domain.model import Draft, Workflow
from codefleet.domain.views import Move
from codefleet.domain.words import Role, State
from codefleet.domain.workflow import workflow
from codefleet.domain.workflow.moves import FlowMove
from codefleet.fleet import Fleet
from codefleet.fleet.board import BoardReader

PLAN = {"name": "ship", "stages": [{"name": "build", "prompt": "Build"}]}


async def may(fleet: Fleet, ref: str) -> set[str]:
    return {move.verb for move in await fleet.moves(ref)}


async def test_a_pending_task_can_be_paused_cancelled_edited_and_told(fleet: Fleet) -> None:
    (task,) = await fleet.add([Draft(title="Extract the mailer")])
    assert await may(fleet, task.id) == {"pause", "cancel", "edit", "send"}
    assert Move(verb="cancel", to=State.CANCELLED) in await fleet.moves(task.id)


async def test_a_paused_task_can_be_resumed_instead(fleet: Fleet) -> None:
    (task,) = await fleet.add([Draft(title="Extract the mailer")])
    await fleet.pause(task.id)
    assert {"resume"} == await may(fleet, task.id) - {"cancel", "edit", "send"}


async def test_a_cancelled_task_can_only_be_retried(fleet: Fleet) -> None:
    (task,) = await fleet.add([Draft(title="Extract the mailer")])
    await fleet.cancel(task.id)
    assert await may(fleet, task.id) == {"retry"}


async def test_a_monitor_may_change_nothing(fleet: Fleet) -> None:
    await fleet.create_team("shop")
    (task,) = await fleet.add([Draft(title="Extract the mailer", team="shop")])
    _, text = await fleet.create_token("shop", "ada", Role.MONITOR)
    monitor = await fleet.with_token(text)
    assert await may(monitor, task.id) == set()
    assert Right.READ_STATUS in await monitor.rights()
    assert Right.LAND not in await monitor.rights()


async def test_the_owner_may_do_all_but_what_needs_the_machine(fleet: Fleet) -> None:
    rights = await fleet.acting_as(OWNER).rights()
    assert Right.LAND in rights
    assert Right.RESET not in rights
    assert set(await fleet.rights()) == set(Right)


async def started(fleet: Fleet, team: str | None = None) -> Workflow:
    return await fleet.start(workflow.parse(PLAN), team=team)


async def needs(fleet: Fleet) -> Sequence[Need]:
    return (await BoardReader(fleet).read()).needs


async def test_a_workflow_at_work_can_only_be_cancelled(fleet: Fleet) -> None:
    flow = await started(fleet)
    assert (await fleet.workflow(flow.id)).moves == (FlowMove.CANCEL,)


async def test_a_cancelled_workflow_can_be_retried_or_cleaned_up(fleet: Fleet) -> None:
    flow = await started(fleet)
    stands = await fleet.cancel_workflow(flow.id)
    assert stands.moves == (FlowMove.RETRY, FlowMove.CLEAN_UP)
    assert (await fleet.retry_workflow(flow.id)).moves == (FlowMove.CANCEL,)


async def test_a_monitor_may_do_nothing_with_a_workflow(fleet: Fleet) -> None:
    await fleet.create_team("shop")
    flow = await started(fleet, "shop")
    _, text = await fleet.create_token("shop", "ada", Role.MONITOR)
    monitor = await fleet.with_token(text)
    assert (await monitor.workflow(flow.id)).moves == ()
    assert [each.moves for each in await monitor.workflows()] == [()]


async def test_an_alert_is_settled_by_those_who_may_answer(fleet: Fleet) -> None:
    await fleet.create_team("shop")
    _, text = await fleet.create_token("shop", "ada", Role.MONITOR)
    monitor = await fleet.with_token(text)
    raised = await monitor.alert("The disk is full")
    (seen,) = await needs(fleet)
    assert (seen.kind, seen.ref, seen.moves) == ("alert", raised.id, ("settle",))
    assert [need.moves for need in await needs(monitor)] == [()]
