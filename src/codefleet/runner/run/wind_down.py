"""Ending a run that cannot go on: after an error on our side, or without its task."""

import asyncio
from contextlib import suppress
from pathlib import Path

from codefleet.domain.errors import FleetError, Stale
from codefleet.runner.crash_log import record
from codefleet.runner.lease import retry_write
from codefleet.runner.process import custody
from codefleet.runner.run import delivery
from codefleet.runner.run.outcome import verdict_on_error
from codefleet.runner.run.state import RunState

LOST = "it no longer holds its task"


async def wind_down(state: RunState, why: str) -> None:
    """The task belongs to another run now: stop, archive the work, and report nothing more."""
    await _end_agent(state)
    await state.notebook.close_for(state.run)
    if (tip := await state.rescue().archive()) and not state.run.evidence:
        state.lease.remember(tip=tip)
    await retry_write(lambda: state.dispatch.end_lost_run(state.run, why))
    if await state.workspace.reacquire(state.run):
        await state.leave()


async def fail(state: RunState, error: Exception) -> None:
    """Handle an error on our side: stop the agent, save its work, and record the failure."""
    await _end_agent(state)
    try:
        await _record_failure(state, error)
    except Stale:
        await wind_down(state, LOST)
    except FleetError as trouble:
        log_error(state, trouble)


async def _record_failure(state: RunState, error: Exception) -> None:
    await state.notebook.close()
    now = await state.fleet.now()
    ended = verdict_on_error(error, Path(state.repo.path), state.run.host, now)
    rescue = state.rescue()
    note = ended.note + await rescue.save()
    if not state.run.evidence:
        state.lease.remember(tip=await rescue.made())
    await delivery.end(state, ended._replace(note=note))


def log_error(state: RunState, error: BaseException) -> None:
    record(state.context.paths.crash_log(), state.run.id, error)


async def _end_agent(state: RunState) -> None:
    """End the agent, and repair its folder so that its work can be saved."""
    control = state.control
    control.kept = control.kept or await custody.adopt(state.folder)
    if control.kept:
        control.request_stop()
        await control.kept.ended()
    await asyncio.to_thread(custody.kill_tagged, state.run.id)
    with suppress(FleetError):  # its folder is gone: nothing left to save
        await state.workspace.repair(state.run, state.folder)
