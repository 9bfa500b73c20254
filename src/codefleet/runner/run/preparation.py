"""Before the agent starts: whether it may, and the worktree that it works in."""

from codefleet.domain.accounts import account_of, sentence
from codefleet.domain.events import event
from codefleet.domain.words import Reason
from codefleet.runner.git.trusted_index import note_index
from codefleet.runner.lease import retry_write
from codefleet.runner.limits.allowance import Allowance
from codefleet.runner.run.interruption import run_unless
from codefleet.runner.run.launch import kill_earlier_agents
from codefleet.runner.run.state import RunState
from codefleet.runner.run.verdict import Failed, Released, Verdict, judge_stop


async def refusal(state: RunState, allowance: Allowance) -> Verdict | None:
    """Why this run should not even start."""
    account = account_of(state.run.coder, state.settings.coders)
    for rest in await state.fleet.rests():
        if rest.account == account:
            return Released(sentence(rest, await state.fleet.now()))
    if state.task.attempts >= (state.task.max_attempts or state.settings.attempts):
        return Failed(Reason.CRASHED, "its runner went away during every attempt")
    over = await allowance.look()
    return judge_stop(over) if over else None


async def prepare(state: RunState) -> None:
    """Prepare a worktree on the task's branch: seeded, set up, and with the trunk merged in."""
    folder, lease, workspace = state.folder, state.lease, state.workspace
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    await kill_earlier_agents(lease, state.context.paths, state.notebook)
    await state.warn(await workspace.begin(state.run))
    ready = await workspace.prepare(state.task, state.run, lease.note)
    note_index(ready.path)
    state.task = await retry_write(
        lambda: state.dispatch.record_choices(state.run, branch=ready.branch)
    )
    now = await state.fleet.now()
    await lease.note(
        [event("run.prepared", now, str(ready.path), run=state.run)],
        worktree=str(ready.path),
        branch=ready.branch,
        base=ready.base,
    )
    state.conflicts = ready.conflicts
    await state.warn(ready.warnings)
    await run_unless(state.control.given_up, workspace.set_up(ready.path, folder / "setup.log"))
