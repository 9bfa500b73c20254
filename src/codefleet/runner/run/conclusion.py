"""The agent has ended: its work is saved and inspected, and the outcome is decided."""

import asyncio
from datetime import UTC, datetime

from codefleet.coder import Coder
from codefleet.domain.model import Evidence, Result
from codefleet.domain.result import corrected
from codefleet.runner.brief import checkpoint
from codefleet.runner.brief.gather import asked_before
from codefleet.runner.limits.allowance import Allowance
from codefleet.runner.output.transcript import explain_exit
from codefleet.runner.process import custody
from codefleet.runner.process.custody import Exit
from codefleet.runner.run import delivery, evidence, stages, verdict
from codefleet.runner.run.state import RunState
from codefleet.runner.run.verdict import Delivered, Failed, Released, Verdict
from codefleet.runner.run.wind_down import wind_down

STDERR_TAIL = 8000
NOTE_TAIL = 1000


class Conclusion:
    """The end of one run, from the agent's exit to the verdict."""

    def __init__(self, state: RunState, coder: Coder, allowance: Allowance) -> None:
        self.state, self.coder, self.allowance = state, coder, allowance
        self.lease, self.heard = state.lease, state.heard

    async def conclude(self, exit: Exit) -> None:
        """Save the work, inspect it, and decide the outcome."""
        state = self.state
        await asyncio.to_thread(custody.kill_tagged, state.run.id)
        if state.control.stopping and state.control.is_taken_away:
            await wind_down(state, state.control.stopping.why)
            return
        await self._secure_worktree()
        ended, result = await self._verdict(exit)
        checked = isinstance(ended, Delivered)
        found = await state.inspection().look(state.message, checked=checked)
        result = corrected(result, found) if result else None
        await self.lease.note(evidence=found, result=result, said=self.heard.said)
        await delivery.send(state, found)
        await self._end(ended, found)

    async def _secure_worktree(self) -> None:
        """Lock the worktree again, repair it, and store the notes."""
        state = self.state
        worktree = str(await state.workspace.reopen(state.run))
        if worktree != state.run.worktree:
            await self.lease.note(worktree=worktree)
        await state.warn(await state.workspace.repair(state.run, state.folder))
        await state.notebook.close()

    async def _verdict(self, exit: Exit) -> tuple[Verdict, Result | None]:
        """The verdict from the agent's end and its notes, before the work is inspected."""
        state = self.state
        ended = self._judge_exit(exit)
        asked = await asked_before(state.fleet, state.run)
        hands_on = state.task.stage is not None
        result, asks = await state.notebook.report(asked, hands_on=hands_on)
        posed = await state.dispatch.posed(state.run)
        ended = verdict.apply_notes(ended, result, asks, posed)
        if not isinstance(ended, Delivered):
            return ended, result
        judge = stages.Judge(state.fleet, state.task, state.run)
        return await judge.verdict(ended, result, self.heard.said)

    def _judge_exit(self, exit: Exit) -> Verdict:
        stopping = self.state.control.stopping
        errors = evidence.tail(self.state.folder / "stderr.log", STDERR_TAIL)
        if not stopping:
            explain_exit(self.heard, self.coder, exit.code, errors)
        ended = verdict.judge_run(self.heard, exit, stopping, self.coder.abilities)
        ended = verdict.with_reset_time(ended, self._last_output_at())
        if isinstance(ended, Failed) and self.heard.end is None:
            return Failed(ended.reason, f"{ended.note}\n{errors[-NOTE_TAIL:]}".strip())
        return ended

    def _last_output_at(self) -> datetime:
        """When the agent last printed something, by the clock of its own machine."""
        output = self.state.folder / "stdout.jsonl"
        found = output if output.exists() else self.state.folder
        return datetime.fromtimestamp(found.stat().st_mtime, UTC)

    async def _end(self, ended: Verdict, found: Evidence) -> None:
        state = self.state
        if isinstance(ended, Delivered):
            if over := self.allowance.overrun():
                await state.warn([over])
            await delivery.deliver(state, ended, found)
            return
        if isinstance(ended, Released):
            await checkpoint.write(state.folder, state.run, found, ended.note, self.lease.secrets)
        earlier, restarts = await state.earlier(), state.settings.restarts
        await delivery.end(state, verdict.limit_restarts(ended, state.run, earlier, restarts))
