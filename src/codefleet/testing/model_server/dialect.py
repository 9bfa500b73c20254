"""What the server has to know of a model API: how to read a request, how to word an answer."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from codefleet.testing.model_server.script import Message, Refusal

Json = dict[str, Any]


class Call(NamedTuple):
    """A tool that the model calls: named arguments, or one text for a tool that takes just that."""

    name: str
    input: Json | str
    id: str


class Usage(NamedTuple):
    input: int = 100
    output: int = 20
    cached: int = 0


class Answer(NamedTuple):
    """What the model says and does in one go."""

    text: str = ""
    think: str = ""
    calls: Sequence[Call] = ()
    usage: Usage = Usage()
    stop: str | None = None


class Frame(NamedTuple):
    """One piece of a streamed answer."""

    data: Json | str
    event: str = ""


class Dialect(Protocol):
    """One model API."""

    def speaks(self, path: str) -> bool:
        """Is this the path of a request for an answer?"""

    def streams(self, path: str, body: Json) -> bool:
        """Does the program want the answer in pieces?"""

    def conversation(self, body: Json) -> list[Message]: ...

    def tools(self, body: Json) -> Mapping[str, Json]:
        """The tools that the program offers, each with the schemas of its arguments."""

    def whole(self, body: Json, answer: Answer) -> Json: ...

    def stream(self, body: Json, answer: Answer) -> Iterator[Frame]: ...

    def refuse(self, refusal: Refusal) -> Json:
        """The body of an HTTP error."""

    def used_up(self, until: float, seconds: float) -> Refusal:
        """How this API tells that there is nothing more until then (Unix time), for so long."""


def new_id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:20]}"


def words(text: str) -> list[str]:
    """A text in the pieces in which it is streamed."""
    return [piece for piece in text.replace(" ", " \0").split("\0") if piece]


def texts(content: Any) -> tuple[str, ...]:
    """The texts of a message, whose content is one text or a list of parts."""
    if isinstance(content, str):
        return (content,)
    parts = content if isinstance(content, list) else ()
    return tuple(part["text"] for part in parts if isinstance(part.get("text"), str))
