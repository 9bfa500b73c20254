"""An agent's signals, folded into the state that matters at the end and into events."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from codefleet.coder import Coder
from codefleet.domain.events import event
from codefleet.domain.model import Event, Run, Usage
from codefleet.domain.signals import (
    Asks,
    Broke,
    Changed,
    Filled,
    Finished,
    Limited,
    Said,
    Signal,
    Started,
    Thought,
    Tool,
    Used,
    Wants,
    Window,
)
from codefleet.runner.output.validation import validated

End = Asks | Limited | Finished | Broke
"""The signals with which a turn can end."""


@dataclass
class OutputState:
    """The state of a conversation, as far as the output shows it.

    `resumed` is the session that the program was to resume, and `before` is what earlier runs of
    that session have spent: some programs report cumulative usage.
    """

    resumed: str | None = None
    before: Usage = field(default_factory=Usage)
    session: str | None = None
    model: str | None = None
    said: str = ""
    calls: int = 0
    began: bool = False
    worked: bool = False
    filled: Filled | None = None
    windows: dict[str, int] = field(default_factory=dict)
    end: End | None = None
    _added: Usage = field(default_factory=Usage)
    _in_all: Usage | None = None
    _messages: dict[str, Used] = field(default_factory=dict)
    _goes_on: bool = False
    _asked: Asks | None = None

    @property
    def in_tool(self) -> bool:
        """Is the agent waiting for a tool that it called?"""
        return self.calls > 0

    @property
    def spent(self) -> Usage:
        """Tokens and money of this run alone."""
        return sum(self.unsummed.values(), start=self.summed)

    @property
    def summed(self) -> Usage:
        """The totals that the program itself has reported."""
        return self._added + (self._in_all - self.before if self._in_all else Usage())

    @property
    def unsummed(self) -> Mapping[str | None, Usage]:
        """At least what its messages used since then, by model; replaced by the next total."""
        models = dict.fromkeys(used.model for used in self._messages.values())
        return {
            model: sum((u.usage for u in self._messages.values() if u.model == model), Usage())
            for model in models
        }

    def ask(self, asks: Asks) -> None:
        """End the run with this question, whatever the agent prints while it is being stopped."""
        self.end = self._asked = asks

    def take(self, signal: Signal) -> None:
        """Fold in one signal; the last end that an agent reports counts."""
        self.began = True
        self.worked = self.worked or isinstance(signal, Said | Tool | Changed)
        match signal:
            case Started(session, model):
                self.session, self.model = session or self.session, model or self.model
                # After a successful end this is another turn, which may end differently.
                self.end = None if isinstance(self.end, Finished) else self.end
            case Said(text, more):
                self.said = self.said + text if more and self._goes_on else text
                self.calls = 0  # it prints text again only after all its tool calls have returned
            case Tool(done=done):
                self.calls = max(0, self.calls + (-1 if done else 1))
            case Used():
                self._use(signal)
            case Filled():
                self.filled = signal
            case Window(model, size):
                self.windows[model] = size
            case Changed() | Thought() | Wants():
                pass
            case Limited(text, None, quota) if isinstance(self.end, Limited):
                # the reset time came before the message
                self.end = Limited(text, self.end.resets_at, quota or self.end.quota)
            case Broke(reason="unknown") if isinstance(self.end, Broke | Limited):
                pass  # the reason is already known
            case _:
                self.end = self._asked or signal
                self.said = _words(signal) or self.said
        self._goes_on = isinstance(signal, Said)

    def _use(self, used: Used) -> None:
        match used:
            case Used(usage, in_all=True):
                known = self._in_all or Usage()
                self._in_all = known + (usage - known)  # a total that falls would be billed again
                self._messages = {}
            case Used(usage, model=model, message=str(id)):
                known = self._messages[id].usage if id in self._messages else Usage()
                self._messages[id] = Used(known + (usage - known), model=model)
            case Used(usage, model=model):
                self._added += usage
                self.model = model or self.model


def _words(end: End) -> str:
    return end.text if isinstance(end, Finished) else ""


def explain_exit(
    heard: OutputState, coder: Coder, exit_code: int | None, stderr: str
) -> list[Signal]:
    """Ask the coder what the program's exit means, if its output did not make that clear."""
    if heard.end is not None or exit_code is None:
        return []
    signals = [validated(signal, coder.name) for signal in coder.explain(exit_code, stderr)]
    for signal in signals:
        heard.take(signal)
    return signals


def events_of(signal: Signal, run: Run, now: datetime) -> Iterator[Event]:
    """The events to record for a signal."""
    match signal:
        case Started(session, model) if session is None or session != run.session:
            yield event("run.session", now, session or "", run=run, model=model)
        case Said(text):
            yield event("run.said", now, text, run=run)
        case Thought(text):
            yield event("run.thought", now, text, run=run)
        case Tool(name, detail, False, call):
            yield event("run.tool", now, f"{name} {detail}".strip(), run=run, call=call or None)
        case Tool(done=True, call=call, result=result) if call and result:
            yield event("run.result", now, result, run=run, call=call)
        case _:
            return
