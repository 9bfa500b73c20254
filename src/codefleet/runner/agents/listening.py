"""Reading a live agent at intervals: lines -> signals -> events, and signs of life."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from codefleet.config import Config
from codefleet.domain import liveness
from codefleet.domain.errors import Stale
from codefleet.domain.events import event
from codefleet.domain.liveness import Life, Patience
from codefleet.domain.model import Event, Task
from codefleet.domain.signals import Broke, Signal, Wants
from codefleet.ports import Coder
from codefleet.runner.agents.conversation import Conversation
from codefleet.runner.agents.hearing import LONGEST_TEXT, Heard, sound, told
from codefleet.runner.agents.heartbeat import Heartbeat
from codefleet.runner.agents.redaction import abridged, redacted
from codefleet.runner.agents.tail import Beat, Tail
from codefleet.runner.bounds import windows
from codefleet.runner.bounds.allowance import Allowance
from codefleet.runner.bounds.billing import Ledger
from codefleet.runner.custody import Exit, Kept
from codefleet.runner.hold import Hold
from codefleet.runner.verdict import Cause
from codefleet.wiring import system_uptime

MOST_EVENTS = 200


class Listener:
    """Follows one agent from where the last reader stopped."""

    def __init__(
        self,
        hold: Hold,
        coder: Coder,
        kept: Kept,
        settings: Config,
        task: Task,
        heard: Heard,
        talk: Conversation,
        allowance: Allowance,
        stop: Callable[[Cause, str], None],
        beat: Beat,
    ) -> None:
        self.hold, self.coder, self.kept = hold, coder, kept
        self.settings, self.task, self.stop = settings, task, stop
        self.heard, self.talk, self.allowance = heard, talk, allowance
        self.ledger = Ledger(coder.abilities, task.repo, settings.prices)
        self._beat = beat
        self._tail = Tail(kept, hold.run.offset)
        self._patience = Patience(settings.quiet_s, settings.stuck_s, settings.tool_s)
        self._pulse = Heartbeat(kept, Path(str(hold.run.worktree)), self._patience)
        self._life = Life.ALIVE

    async def listen(self) -> Exit:
        """Follow the agent to its end; every line is recorded exactly once, whoever reads it."""
        await self.talk.begin()
        self._replay()
        await self.talk.act()
        ended = asyncio.ensure_future(self.kept.ended())
        lost = asyncio.ensure_future(self.hold.lost.wait())
        try:
            while not ended.done():
                await self._next_beat(ended, lost)
                if lost.done():
                    raise Stale("the lease was lost")
                if await self._read() or self.talk.mail:
                    await self.talk.act()
                    await self._heed()
                await self._feel()
            while await self._read(final=True):
                pass
            await self._close_the_bill()
            return ended.result()
        finally:
            ended.cancel()
            lost.cancel()

    async def _next_beat(self, *sooner: asyncio.Future[Any]) -> None:
        """Wait for the beat that all listeners share, or until one of these is done."""
        beat = self._beat.next()

        def wake(_: object) -> None:
            if not beat.done():
                beat.set_result(None)

        for one in sooner:
            one.add_done_callback(wake)
        await beat
        for one in sooner:
            one.remove_done_callback(wake)

    def _replay(self) -> None:
        """After an adoption: take in, without recording it, what an earlier reader has recorded."""
        for line in self._tail.earlier():
            for signal in self._signals(line):
                self.heard.take(signal)
                self.talk.recall(signal)

    async def _read(self, *, final: bool = False) -> bool:
        """Take in what has arrived, and record it together with the offset."""
        lines = self._tail.read(final=final)
        if lines is None:
            return False
        now = await self.hold.fleet.now()
        events = self._hear(lines, now)
        booked = self.ledger.book(self.hold.run, now)
        await self.hold.note(
            [*events, *booked.lines],
            offset=self._tail.at,
            usage=booked.usage,
            said=self.heard.said[-LONGEST_TEXT:],
            session=self.heard.session or self.hold.run.session,
            model=self.heard.model or self.hold.run.model,
        )
        return True

    def _hear(self, lines: Sequence[str], now: datetime) -> list[Event]:
        """The events for these lines. A flood is cut short: the run's own log has all of it."""
        events: list[Event] = []
        decisions: list[Event] = []
        left_out = 0
        for line in lines:
            is_flood = len(events) >= MOST_EVENTS
            left_out += is_flood
            for signal in self._signals(line):
                self.ledger.hear(self.heard, signal)
                decisions += self.talk.weigh(signal, now)
                self._pulse.output()
                if not is_flood:
                    events += told(signal, self.hold.run, now)
        if left_out:
            words = f"{left_out} more lines omitted; the full output is in {self.kept.folder}"
            events.append(event("run.said", now, words, run=self.hold.run, left_out=left_out))
        return [*events, *decisions]

    async def _close_the_bill(self) -> None:
        """Book usage that the program did not total, and warn about limits that are close."""
        now = await self.hold.fleet.now()
        prompt = self.kept.folder / "prompt.md"
        if rest := self.ledger.close(self.hold.run, self.heard, prompt, now):
            await self.hold.note(rest.lines, usage=rest.usage)
        await self.allowance.warn()

    def _signals(self, line: str) -> Iterator[Signal]:
        """The signals in a line, redacted, except what goes back to the agent."""
        for signal in self.coder.read(line):
            is_sent_back = isinstance(signal, Wants)
            kept = signal if is_sent_back else redacted(signal, self.hold.secrets, abridged)
            yield sound(kept, self.coder.name)

    async def _feel(self) -> None:
        """Stop an agent that exceeds its time, money or context, or shows no sign of life."""
        if not self._pulse.due():
            return
        self._measure()
        limit = self.task.timeout_s or self.settings.timeout_s
        if await self._worked_longer_than(limit):
            await self._halt(Cause.TIMEOUT, f"it ran longer than {limit:.0f} s")
        elif self.heard.end is None and (over := await self.allowance.look()):
            await self._halt(over.cause, over.why)
        elif full := self._context_trouble():
            await self._halt(Cause.CONTEXT, full)
        else:
            await self._judge()

    def _context_trouble(self) -> str | None:
        filled, share = self.heard.filled, self.settings.context_share
        return windows.too_full(filled, self._window(), share)

    def _window(self) -> int:
        """The size of the agent's context window in tokens; 0 if unknown."""
        return windows.size(self.heard, self.hold.run.model, self.coder.name, self.settings)

    async def _heed(self) -> None:
        """Stop an agent that keeps retrying although its provider refuses it."""
        match self.heard.end:
            case Broke(why, retrying=True):
                await self._halt(Cause.REFUSED, why)

    def _measure(self) -> None:
        """Record memory and context in use and, by a clock that cannot be set, the time taken."""
        run = self.hold.run
        self.hold.remember(
            memory_mb=self._pulse.memory_mb(run.memory_mb),
            context=windows.used(self.heard.filled, self._window()),
            worked=liveness.worked_on(run.worked, *system_uptime()),
        )

    async def _worked_longer_than(self, limit: float) -> bool:
        """Has it worked longer than this, not counting the time it waited for humans?"""
        took = self.hold.run.worked.seconds if self.hold.run.worked else 0.0
        if took <= limit:
            return False
        waited = await self.hold.fleet.waited(self.hold.run, self.settings.answer_s)
        return took - waited > limit

    async def _waits_for_a_human(self) -> bool:
        """Did it ask a question during its turn that is open and not yet timed out?"""
        fleet, bound = self.hold.fleet, self.settings.answer_s
        return any([await fleet.open_for(q) < bound for q in await fleet.posed(self.hold.run)])

    async def _judge(self) -> None:
        verdict = liveness.judge(self._pulse.read(self.heard.in_tool), self._patience)
        if verdict.life is not Life.ALIVE and await self._waits_for_a_human():
            self._pulse.output()  # it waits for us; its silence counts again from the answer
            return
        if verdict.life is Life.STUCK:
            await self._halt(Cause.STUCK, ", ".join(verdict.reasons))
        elif verdict.life is Life.QUIET and self._life is Life.ALIVE:
            await self.hold.tell("run.quiet", ", ".join(verdict.reasons))
        self._life = verdict.life

    async def _halt(self, cause: Cause, why: str) -> None:
        if not self._pulse.stopped:
            self._pulse.stopped = True
            await self.hold.tell("run.stopping", why, cause=cause)
            self.stop(cause, why)
