"""What is sent to an agent while it runs: permissions, messages from humans, and the end.

A decision is recorded before it is carried out, and whoever adopts the run carries it out again.
That is safe because the keeper passes each line to the agent only once.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import cast

from codefleet.coder import Talker
from codefleet.config import Config
from codefleet.domain.events import event
from codefleet.domain.model import Event, Question
from codefleet.domain.permissions import Decision, Ruling, decide
from codefleet.domain.secrets import redact
from codefleet.domain.signals import Asks, Broke, Finished, Limited, Signal, Wants
from codefleet.runner.brief.prompt import note
from codefleet.runner.output import location
from codefleet.runner.output.live_agent import LiveAgent
from codefleet.runner.output.permission import permissions_of, question
from codefleet.runner.stop import Cause

MOST_REQUESTS = 10_000
Settings = Callable[[], Config]
Stopping = Callable[[Cause, str], None]


class Conversation:
    """The fleet's side of the conversation with one agent; silent if the coder cannot talk."""

    def __init__(self, agent: LiveAgent, now: Settings, stop: Stopping) -> None:
        """`now` returns the settings in force, so that a changed rule applies at once."""
        self.lease, coder, self.kept, self.heard = agent
        self.settings_now, self.stop = now, stop
        self.mail = True
        self._talker = cast(Talker, coder) if coder.abilities.talks else None
        self._answered: Sequence[Question] = ()
        self._decided: dict[str, Decision] = {}
        self._due: list[tuple[Wants, Decision]] = []

    async def begin(self) -> None:
        """Load what humans have answered and what was decided before an adoption."""
        if self._talker:
            self._answered = await permissions_of(self.lease.fleet, self.lease.run.task)
            self._decided = await self._decisions()

    def recall(self, signal: Signal) -> None:
        """Take in a signal again that was read before an adoption."""
        if isinstance(signal, Wants) and signal.request in self._decided:
            self._due.append((signal, self._decided[signal.request]))

    def judge_request(self, signal: Signal, now: datetime) -> list[Event]:
        """Decide on a permission request; write the events before you call `act`."""
        if not self._talker or not isinstance(signal, Wants):
            return []
        detail = self._about(signal)
        settings = self.settings_now()
        decision = decide(settings.policy, self._answered, signal.tool, detail)
        self._due.append((signal, decision))
        return [
            event(
                "run.permission",
                now,
                f"{decision.ruling} {signal.tool} {detail}",
                run=self.lease.run,
                request=signal.request,
                tool=signal.tool,
                detail=detail,
                verdict=decision.ruling,
                why=decision.why,
            )
        ]

    async def act(self) -> None:
        """Carry out decisions, deliver messages from humans, and handle the end of a turn."""
        if not self._talker:
            return
        for wants, decision in self._due:
            self._answer(self._talker, wants, decision)
        self._due.clear()
        has_mail, self.mail = self.mail, False
        match self.heard.end:
            case Asks() as asks:
                self.heard.ask(asks)
                self.stop(Cause.ASKED, "it waits for an answer")
            case None if has_mail:
                await self._deliver(self._talker)
            case Finished() if await self._deliver(self._talker):
                self.heard.end = None  # it continues with this message
            case Finished() | Broke() | Limited():
                self.kept.close_input()

    def _answer(self, talker: Talker, wants: Wants, decision: Decision) -> None:
        if decision.ruling is Ruling.ASK:
            self.heard.ask(question(wants.tool, self._about(wants)))
            return
        allowed = decision.ruling is Ruling.ALLOW
        self.kept.say(talker.permit(wants, allowed=allowed, why="" if allowed else decision.why))

    async def _deliver(self, talker: Talker) -> bool:
        """Deliver messages from humans; False if there were none, or no agent to receive them.

        Sent first, recorded afterwards: at-least-once, and the channel deduplicates.
        """
        dispatch, run = self.lease.dispatch, self.lease.run
        said = False
        for message in await dispatch.messages_for(run):
            if self.kept.say(talker.say(message.id, note(message))):
                await dispatch.delivered(message, run)
                said = True
        return said

    async def _decisions(self) -> dict[str, Decision]:
        run = self.lease.run
        told = await self.lease.fleet.events(
            task=run.task, kinds=["run.permission"], newest=True, limit=MOST_REQUESTS
        )
        return {
            one.data["request"]: Decision(Ruling(one.data["verdict"]), one.data["why"])
            for one in told
            if one.run == run.id
        }

    def _about(self, wants: Wants) -> str:
        """What rules and humans judge: the resolved paths, or else the request's text, redacted."""
        worktree = str(self.lease.run.worktree)
        words = wants.detail.removeprefix(f"{worktree}/")
        about = location.resolved(wants.paths, Path(worktree)) if wants.paths else words
        # As answers to it are stored, but all of it: a rule may be about the middle.
        return redact(about, self.lease.secrets)
