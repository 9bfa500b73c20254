"""The end of a workflow stage that needs no agent: skipped, asked of a human, or settled."""

from pathlib import Path

from codefleet.domain.model import Result
from codefleet.domain.result import corrected
from codefleet.domain.words import Reason
from codefleet.runner.run import delivery, stages
from codefleet.runner.run.preparation import prepare
from codefleet.runner.run.state import RunState
from codefleet.runner.run.verdict import Delivered, Failed


async def end_stage(state: RunState, decision: stages.Decision) -> None:
    """End the run of such a stage as it was decided."""
    match decision:
        case stages.Skipped(note):
            await state.lease.end(lambda run: state.dispatch.skip(run, note))
        case stages.Settled(result, takes, ends_on_trunk) if takes or ends_on_trunk:
            await _take_on(state, result, takes)
        case stages.Settled(result):
            await state.lease.note(result=result)
            await state.lease.end(lambda run: state.dispatch.complete(run, result.summary))
        case _:
            await delivery.end(state, decision)


async def _take_on(state: RunState, result: Result, commit: str | None) -> None:
    """Deliver the work of earlier stages as this one's own."""
    await prepare(state)
    if state.conflicts:
        files = ", ".join(state.conflicts[:5])
        why = f"what it builds on conflicts in {files}"
        await delivery.end(state, Failed(Reason.MERGE_CONFLICT, why))
        return
    if commit:
        await stages.reset_to_winner(Path(str(state.run.worktree)), commit, state.run)
    found = await state.inspection().look(state.message, checked=True)
    await state.lease.note(evidence=found, result=corrected(result, found))
    await delivery.send(state, found)
    await delivery.deliver(state, Delivered(no_changes=True), found)
