"""One run, from its worktree to its verdict. Every step can be repeated after a crash."""

import asyncio
import time
from collections.abc import Iterable, Sequence

from codefleet.coder import Coder
from codefleet.domain.errors import FleetError, Stale, StoreGone
from codefleet.domain.model import Repo, Run, Task, Usage
from codefleet.runner.brief import own_tools, resume
from codefleet.runner.context import Context
from codefleet.runner.limits.allowance import Allowance
from codefleet.runner.limits.ledger import Ledger
from codefleet.runner.output.conversation import Conversation
from codefleet.runner.output.live_agent import LiveAgent
from codefleet.runner.process import custody
from codefleet.runner.process.custody import AgentProcess, Exit
from codefleet.runner.run import delivery, stages
from codefleet.runner.run.branch_watch import watch
from codefleet.runner.run.coder_choice import choose_coder
from codefleet.runner.run.conclusion import Conclusion
from codefleet.runner.run.interruption import GivenUp
from codefleet.runner.run.launch import start_agent
from codefleet.runner.run.listener import Listener
from codefleet.runner.run.preparation import prepare, refusal
from codefleet.runner.run.settled_stage import end_stage
from codefleet.runner.run.state import RunState
from codefleet.runner.run.watchdog import Watchdog
from codefleet.runner.run.wind_down import LOST, fail, log_error, wind_down
from codefleet.runner.stop import Cause

LONGEST_START_S = 30.0
NEVER_STARTED = Exit(stopped=True)


class Attempt:
    """Drives one run through its steps, each in a module of its own."""

    def __init__(self, context: Context, task: Task, run: Run, repo: Repo) -> None:
        self.state = RunState.of(context, task, run, repo)
        self._control = self.state.control
        self._talk: Conversation | None = None
        self._is_listening = False
        self._since = time.monotonic()

    @property
    def run(self) -> Run:
        return self.state.run

    @property
    def task(self) -> Task:
        return self.state.task

    @property
    def is_starting(self) -> bool:
        """Has it printed nothing yet? A silent agent does not count as starting forever."""
        return not self.state.heard.began and time.monotonic() - self._since < LONGEST_START_S

    async def drive(self) -> None:
        """Do the whole run; every error is recorded in the store."""
        try:
            await self._drive_to_its_end()
        finally:
            self.state.workspace.release_locks()

    def stop(self, cause: Cause, why: str) -> None:
        """Ask the agent to stop; its work is kept."""
        self._control.stop(cause, why)

    def kill(self) -> None:
        """Kill the agent, or what is run for it; its work is still kept."""
        self._control.kill()

    def notify_message(self) -> None:
        """There may be a message from a human for this agent."""
        if self._talk:
            self._talk.mail = True

    async def look_at_branch(self) -> None:
        """Keep the agent's commits so far, and restore its branch if somebody else moved it."""
        if self._is_listening:  # afterwards, the inspection itself moves the branch
            await watch(self.state.lease)

    async def _drive_to_its_end(self) -> None:
        state = self.state
        try:
            async with state.lease.kept():
                await self._drive()
        except Stale:
            await wind_down(state, LOST)
        except StoreGone:
            return  # the runner ends; the agent continues, and its keeper records how it ends
        except GivenUp:
            if not self._control.is_taken_away:
                return  # the runner exits at once, and the next one continues the run
            await wind_down(state, self._control.stopping.why if self._control.stopping else "")
        except Exception as error:
            if not isinstance(error, FleetError):
                log_error(state, error)
            await fail(state, error)
        await state.workspace.finish(state.run)

    async def _drive(self) -> None:
        state = self.state
        self._control.kept = kept = await self._adopted()
        decision = None if kept else await stages.decide(state.fleet, state.task, state.run)
        if decision:
            await end_stage(state, decision)
            return
        coder = await choose_coder(state)
        earlier = await state.earlier()
        allowance = Allowance(state.lease, state.settings, state.task, _sum(earlier))
        conclusion = Conclusion(state, coder, allowance)
        self._control.kept = kept = kept or await self._started(conclusion)
        if kept is None:
            return
        if self._control.stopping:
            self._control.request_stop()
        await conclusion.conclude(await self._listen(kept, coder, earlier, allowance))

    async def _adopted(self) -> AgentProcess | None:
        """The agent that an earlier runner started, if it did."""
        kept = await custody.adopt(self.state.folder)
        if kept and not kept.keeper.is_alive:  # the checks may have outlived their runner
            await asyncio.to_thread(custody.kill_tagged, self.run.id)
        elif kept and (lost := own_tools.lost(self.state.folder, self.state.context.tools_url)):
            await self.state.lease.tell("run.warned", lost)
        return kept

    async def _started(self, conclusion: Conclusion) -> AgentProcess | None:
        """A fresh agent; None if the run ended before there was one."""
        state = self.state
        if refused := await refusal(state, conclusion.allowance):
            await delivery.end(state, refused)
            return None
        await prepare(state)
        if self._control.stopping:
            await conclusion.conclude(NEVER_STARTED)
            return None
        return await start_agent(state, conclusion.coder)

    async def _listen(
        self, kept: AgentProcess, coder: Coder, earlier: Sequence[Run], allowance: Allowance
    ) -> Exit:
        """Follow the agent to its end, and answer its requests meanwhile."""
        state = self.state
        heard = state.heard
        heard.resumed = session = resume.session(earlier, coder, state.run.host)
        heard.before = _sum(run for run in earlier if session and session == run.session)
        agent = LiveAgent(state.lease, coder, kept, heard)
        self._talk = Conversation(agent, lambda: state.context.settings(state.repo), self.stop)
        ledger = Ledger(coder.abilities, state.task.repo, state.settings.prices)
        watchdog = Watchdog(agent, state.settings, state.task, allowance, self.stop)
        listener = Listener(agent, self._talk, ledger, watchdog, state.context.read_schedule)
        self._is_listening = True
        try:
            return await listener.listen()
        finally:
            self._is_listening = False


def _sum(runs: Iterable[Run]) -> Usage:
    return sum((run.usage for run in runs), start=Usage())
