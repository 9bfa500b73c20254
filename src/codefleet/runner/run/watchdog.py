"""Stopping an agent that exceeds its time, money or context, or shows no sign of life."""

from collections.abc import Callable
from pathlib import Path

from codefleet.config import Config
from codefleet.domain import liveness
from codefleet.domain.liveness import Life, Patience
from codefleet.domain.model import Task
from codefleet.domain.signals import Broke
from codefleet.runner.limits import context_window
from codefleet.runner.limits.allowance import Allowance
from codefleet.runner.output.live_agent import LiveAgent
from codefleet.runner.output.pulse import ActivityTracker
from codefleet.runner.stop import Cause
from codefleet.wiring import system_uptime


class Watchdog:
    """Watches one agent while it works."""

    def __init__(
        self,
        agent: LiveAgent,
        settings: Config,
        task: Task,
        allowance: Allowance,
        stop: Callable[[Cause, str], None],
    ) -> None:
        self.agent, self.lease, self.heard = agent, agent.lease, agent.heard
        self.settings, self.allowance, self._stop = settings, allowance, stop
        self._longest_s = task.timeout_s or settings.timeout_s
        self._patience = Patience(settings.quiet_s, settings.stuck_s, settings.tool_s)
        self._pulse = ActivityTracker(agent.kept, Path(str(agent.run.worktree)), self._patience)
        self._life = Life.ALIVE

    def saw_output(self) -> None:
        """Record meaningful output: a sign of life."""
        self._pulse.output()

    async def check(self) -> None:
        """Measure the agent and check every limit, if it is time to."""
        if not self._pulse.due():
            return
        self._measure()
        if await self._worked_too_long():
            await self._halt(Cause.TIMEOUT, f"it ran longer than {self._longest_s:.0f} s")
        elif self.heard.end is None and (over := await self.allowance.look()):
            await self._halt(over.cause, over.why)
        elif full := self._context_trouble():
            await self._halt(Cause.CONTEXT, full)
        else:
            await self._check_life()

    async def check_refusal(self) -> None:
        """Stop an agent that keeps retrying although its provider refuses it."""
        match self.heard.end:
            case Broke(why, retrying=True):
                await self._halt(Cause.REFUSED, why)

    async def finish(self) -> None:
        """Warn about limits that are close now that the agent has ended."""
        await self.allowance.warn()

    def _measure(self) -> None:
        """Record memory and context in use and, by a clock that cannot be set, the time taken."""
        run = self.agent.run
        self.lease.remember(
            memory_mb=self._pulse.memory_mb(run.memory_mb),
            context=context_window.used(self.heard.filled, self._window()),
            worked=liveness.worked_on(run.worked, *system_uptime()),
        )

    async def _worked_too_long(self) -> bool:
        """Has it worked longer than it may, not counting the time it waited for humans?"""
        run = self.agent.run
        took = run.worked.seconds if run.worked else 0.0
        if took <= self._longest_s:
            return False
        waited = await self.lease.dispatch.waited(run, self.settings.answer_s)
        return took - waited > self._longest_s

    def _context_trouble(self) -> str | None:
        filled, share = self.heard.filled, self.settings.context_share
        return context_window.too_full(filled, self._window(), share)

    def _window(self) -> int:
        """The size of the agent's context window in tokens; 0 if unknown."""
        model, coder = self.agent.run.model, self.agent.coder.name
        return context_window.size(self.heard, model, coder, self.settings)

    async def _check_life(self) -> None:
        verdict = liveness.judge(self._pulse.read(self.heard.in_tool), self._patience)
        if verdict.life is not Life.ALIVE and await self._waits_for_a_human():
            self._pulse.output()  # it waits for us; its silence counts again from the answer
            return
        if verdict.life is Life.STUCK:
            await self._halt(Cause.STUCK, ", ".join(verdict.reasons))
        elif verdict.life is Life.QUIET and self._life is Life.ALIVE:
            await self.lease.tell("run.quiet", ", ".join(verdict.reasons))
        self._life = verdict.life

    async def _waits_for_a_human(self) -> bool:
        """Did it ask a question during its turn that is open and not yet timed out?"""
        dispatch, bound = self.lease.dispatch, self.settings.answer_s
        return any(
            [await dispatch.open_for(q) < bound for q in await dispatch.posed(self.agent.run)]
        )

    async def _halt(self, cause: Cause, why: str) -> None:
        if not self._pulse.stopped:
            self._pulse.stopped = True
            await self.lease.tell("run.stopping", why, cause=cause)
            self._stop(cause, why)
