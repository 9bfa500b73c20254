"""Reading a live agent at intervals: lines -> signals -> events."""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from codefleet.domain.errors import Stale
from codefleet.domain.events import event
from codefleet.domain.model import Event
from codefleet.domain.signals import Signal
from codefleet.runner.limits.ledger import Ledger
from codefleet.runner.output.changed_files import ChangedFiles
from codefleet.runner.output.conversation import Conversation
from codefleet.runner.output.live_agent import LiveAgent
from codefleet.runner.output.tail import ReadSchedule, Tail
from codefleet.runner.output.transcript import events_of
from codefleet.runner.output.validation import validated
from codefleet.runner.process.custody import Exit
from codefleet.runner.run.watchdog import Watchdog

MOST_EVENTS = 200


class Listener:
    """Follows one agent from where the last reader stopped."""

    def __init__(
        self,
        agent: LiveAgent,
        talk: Conversation,
        ledger: Ledger,
        watchdog: Watchdog,
        schedule: ReadSchedule,
    ) -> None:
        self.lease, self.coder, self.kept, self.heard = agent
        self.talk, self.ledger = talk, ledger
        self._watchdog, self._schedule = watchdog, schedule
        self._tail = Tail(agent.kept, agent.run.offset)
        self._changed = ChangedFiles(str(agent.run.worktree))

    async def listen(self) -> Exit:
        """Follow the agent to its end; every line is recorded exactly once, whoever reads it."""
        await self.talk.begin()
        self._replay()
        await self.talk.act()
        ended = asyncio.ensure_future(self.kept.ended())
        lost = asyncio.ensure_future(self.lease.lost.wait())
        try:
            while not ended.done():
                await self._next_turn(ended, lost)
                if lost.done():
                    raise Stale("the lease was lost")
                if await self._read() or self.talk.mail:
                    await self.talk.act()
                    await self._watchdog.check_refusal()
                await self._watchdog.check()
            while await self._read(final=True):
                pass
            await self._close_the_bill()
            return ended.result()
        finally:
            ended.cancel()
            lost.cancel()

    async def _next_turn(self, *sooner: asyncio.Future[Any]) -> None:
        """Wait for the turn that all listeners share, or until one of these is done."""
        turn = self._schedule.next()

        def wake(_: object) -> None:
            if not turn.done():
                turn.set_result(None)

        for one in sooner:
            one.add_done_callback(wake)
        await turn
        for one in sooner:
            one.remove_done_callback(wake)

    def _replay(self) -> None:
        """After an adoption: take in, without recording it, what an earlier reader has recorded."""
        for line in self._tail.earlier():
            for signal in self._signals(line):
                self.heard.take(signal)
                self.talk.recall(signal)
                self._changed.recall(signal)

    async def _read(self, *, final: bool = False) -> bool:
        """Take in what has arrived, and record it together with the offset."""
        lines = self._tail.read(final=final)
        if lines is None:
            return False
        self._schedule.count(len(lines))
        now = await self.lease.fleet.now()
        events = self._hear(lines, now)
        booked = self.ledger.book(self.lease.run, now)
        await self.lease.note(
            [*events, *booked.lines],
            offset=self._tail.at,
            usage=booked.usage,
            said=self.heard.said,
            session=self.heard.session or self.lease.run.session,
            model=self.heard.model or self.lease.run.model,
        )
        return True

    def _hear(self, lines: Sequence[str], now: datetime) -> list[Event]:
        """The events for these lines. A flood is cut short: the run's own log has all of it."""
        events: list[Event] = []
        never_omitted: list[Event] = []
        left_out = 0
        for line in lines:
            is_flood = len(events) >= MOST_EVENTS
            left_out += is_flood
            for signal in self._signals(line):
                never_omitted += self._take(signal, now)
                if not is_flood:
                    events += events_of(signal, self.lease.run, now)
        if left_out:
            words = f"{left_out} more lines omitted; the full output is in {self.kept.folder}"
            events.append(event("run.said", now, words, run=self.lease.run, left_out=left_out))
        return [*events, *never_omitted]

    def _take(self, signal: Signal, now: datetime) -> Iterator[Event]:
        """Let everyone take in the signal; decisions and changed files are always recorded."""
        self.ledger.record(self.heard, signal)
        self._watchdog.saw_output()
        yield from self.talk.judge_request(signal, now)
        yield from self._changed.events(signal, self.lease.run, now)

    def _signals(self, line: str) -> Iterator[Signal]:
        return (validated(signal, self.coder.name) for signal in self.coder.read(line))

    async def _close_the_bill(self) -> None:
        """Book usage that the program did not total, and warn about limits that are close."""
        now = await self.lease.fleet.now()
        prompt = self.kept.folder / "prompt.md"
        if rest := self.ledger.close(self.lease.run, self.heard, prompt, now):
            await self.lease.note(rest.lines, usage=rest.usage)
        await self._watchdog.finish()
