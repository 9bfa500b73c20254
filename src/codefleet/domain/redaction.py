"""What is stored holds no key: every text from an agent or a program is redacted first.

`Core.write` does it for the store, `codefleet.runner.file_redaction` for files.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeVar

from codefleet.domain.model import (
    Alert,
    Checkpoint,
    Event,
    Memory,
    Post,
    Question,
    Rest,
    Run,
    Task,
)
from codefleet.domain.noun import Noun
from codefleet.domain.secrets import redact

LONGEST_WORDS = 1 << 17
LONGEST_PEM = 16 << 10

FIELDS: Mapping[type[Noun], tuple[str, ...]] = {
    Event: ("text", "data"),
    Task: ("note",),
    Run: ("model", "session", "note", "said", "evidence", "result"),
    Question: ("text", "options", "tool", "detail"),
    Rest: ("note", "remedy"),
    Alert: ("text",),
    Post: ("payload",),
    Memory: ("value", "tags"),
    Checkpoint: (
        *("goal", "now", "test", "done_this_session", "blockers", "questions"),
        *("worked", "failed", "next", "files", "outcome"),
    ),
}
"""Where each noun has text from agents and programs. The rest is from humans: the prompt of a task,
a message and an answer reach an agent whole."""

N = TypeVar("N", bound=Noun)


class Redaction:
    """Redacts what looks like a key, and the `known` values, which are certainly keys."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.known = tuple(known)
        self._clean: dict[str, Any] = {}
        self._margin = max(LONGEST_PEM, 2 * max(map(len, self.known), default=0))

    def noun(self, noun: N) -> N:
        """The same noun as it may be stored."""
        before = {name: getattr(noun, name) for name in FIELDS.get(type(noun), ())}
        after = {name: self._once(name, value) for name, value in before.items()}
        return noun if after == before else noun.evolve(**after)

    def _once(self, name: str, value: Any) -> Any:
        """The same for one field; what it was last time is clean, and may be large."""
        if name not in self._clean or value is not self._clean[name]:
            self._clean[name] = self.value(value)
        return self._clean[name]

    def value(self, it: Any) -> Any:
        """The same value with every text inside it redacted, and abridged if it is huge."""
        match it:
            case "" | int() | float() | Enum() | None:
                return it
            case str():
                return self._abridged(it)
            case Noun():
                inside = {name: getattr(it, name) for name in type(it).__struct_fields__}
                clean = {name: self.value(value) for name, value in inside.items()}
                return it if clean == inside else it.evolve(**clean)
            case dict():
                return {name: self.value(value) for name, value in it.items()}
            case list():
                return [self.value(value) for value in it]
            case tuple():
                return tuple(self.value(value) for value in it)
        return it

    def start(self, text: str, longest: int) -> str:
        """The start of the redacted text; redacted before it is cut, so that no key is halved."""
        return redact(text[: longest + self._margin], self.known)[:longest]

    def end(self, text: str, longest: int) -> str:
        """The end of the redacted text."""
        return redact(text[-longest - self._margin :], self.known)[-longest:]

    def _abridged(self, text: str) -> str:
        """The text redacted and, if huge, cut to its two ends: no more is ever stored."""
        if len(text) <= LONGEST_WORDS:
            return redact(text, self.known)
        kept = LONGEST_WORDS // 4
        left_out = f"[{len(text) - 2 * kept} characters left out]"
        return f"{self.start(text, kept)}\n{left_out}\n{self.end(text, kept)}"
