"""What was heard of an agent: signals folded into what matters at the end, and into events."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from codefleet.domain.events import event
from codefleet.domain.model import Event, Run, Usage
from codefleet.ports import (
    Asks,
    Broke,
    Finished,
    Limited,
    Said,
    Signal,
    Started,
    Tool,
    Touched,
    Used,
)

LONGEST_TEXT = 4000


@dataclass
class Heard:
    """The state of a conversation, as far as its output tells."""

    session: str | None = None
    model: str | None = None
    said: str = ""
    usage: Usage = field(default_factory=Usage)
    tool: str | None = None
    asks: Asks | None = None
    limited: Limited | None = None
    finished: Finished | None = None
    broke: Broke | None = None

    def take(self, signal: Signal) -> None:
        """Fold one signal in; the last word of an agent is what counts."""
        match signal:
            case Started(session, model):
                self.session, self.model = session or self.session, model or self.model
            case Said(text):
                self.said = text
            case Tool(name, _, done):
                self.tool = None if done else name
            case Used(usage):
                self.usage += usage
            case Asks():
                self.asks = signal
            case Limited():
                self.limited = signal
            case Broke():
                self.broke = signal
            case Finished(text, _):
                self.finished, self.said = signal, text or self.said
            case Touched():
                return


def told(signal: Signal, run: Run, now: datetime) -> Iterator[Event]:
    """The events a signal is worth."""
    match signal:
        case Started(session, model):
            yield event("run.session", now, session or "", run=run, model=model)
        case Said(text):
            yield event("run.said", now, text[:LONGEST_TEXT], run=run)
        case Tool(name, detail, False):
            yield event("run.tool", now, f"{name} {detail}"[:LONGEST_TEXT].strip(), run=run)
        case Used(usage):
            yield event("run.used", now, run=run, **usage.model_dump())
        case _:
            return
