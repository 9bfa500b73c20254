"""Handing over the work of a run whose agent reports that it is done, or recording why not."""

from codefleet.domain.model import Evidence
from codefleet.runner.run import verdict
from codefleet.runner.run.handover import complete, hand_over
from codefleet.runner.run.outcome import record_verdict
from codefleet.runner.run.state import RunState
from codefleet.runner.run.verdict import Delivered


async def end(state: RunState, ended: verdict.Verdict) -> None:
    """End the run with this verdict."""
    task = await record_verdict(ended, state.lease, state.settings, await state.earlier())
    if task and task.state.is_final:
        await state.leave()


async def send(state: RunState, found: Evidence) -> None:
    """Send the work to the other machines before it is reported as done."""
    sync = state.workspace.sync
    if sync and await state.workspace.is_ahead(found):
        branch, control = str(state.run.branch), state.control
        await sync.push(state.lease, branch, found.tip, lambda: bool(control.stopping))


async def deliver(state: RunState, delivered: Delivered, found: Evidence) -> None:
    """Submit or complete the task if git and the checks agree that the work is done."""
    workspace = state.workspace
    wrong = verdict.judge_work(found, delivered) or await workspace.merging.left_out(state.task)
    for message in await state.dispatch.unread(state.task.id):
        if message.to and message.to == state.task.handle:
            continue  # it waits for the next worker with that handle
        await state.warn([f"the agent did not read: {message.text}"])
    if wrong:
        await end(state, wrong)
    elif not found.changes and not (state.task.stage and await workspace.is_ahead(found)):
        await complete(state, "finished without changes")
    else:
        await hand_over(state, found)
