"""Lines of the screen as plain data: pieces of text, each with the name of its style."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from codefleet.doors.cli.text import clean, fit, width

Span = tuple[str, str]
"""A text and the name of its style; see `theme.styles_of`."""


LONGEST = 1000
"""No terminal shows more in a line."""


class Row(NamedTuple):
    """One line of the screen. Lines with the same `key` are selected together."""

    spans: tuple[Span, ...]
    key: str = ""

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.spans)


def row(*spans: Span, key: str = "") -> Row:
    return Row(tuple(span for span in spans if span[0]), key)


def size(spans: Iterable[Span]) -> int:
    """How many columns these take."""
    return sum(width(text) for text, _ in spans)


def one_line(text: str) -> str:
    """Text from an agent or a user as one line that is safe for a terminal."""
    return clean(" ".join(text[:LONGEST].split()))


def cut(text: str, columns: int) -> str:
    """One safe line of at most this many columns."""
    return fit(clean(text), columns) if columns > 0 else ""


def pad(text: str, columns: int) -> str:
    """One safe line of exactly this many columns."""
    shown = cut(text, columns)
    return shown + " " * (columns - width(shown))


def spread(left: Sequence[Span], right: Sequence[Span], columns: int, key: str = "") -> Row:
    """A line with a left and a right end. If both do not fit, the last span of `left` is cut
    first, then the right end is dropped."""
    room = columns - size(right) - (1 if right else 0)
    if room < min(columns // 3, size(left)):
        right, room = (), columns
    kept = squeeze(left, room)
    gap = " " * max(1 if right else 0, columns - size(kept) - size(right))
    return row(*kept, (gap, ""), *right, key=key)


def squeeze(spans: Sequence[Span], columns: int) -> list[Span]:
    """The spans in this many columns: the last ones are cut or left out."""
    kept: list[Span] = []
    for text, style in spans:
        left = columns - size(kept)
        if left <= 0:
            break
        if width(text) > left:
            kept.append((cut(text, left), style))
            break
        kept.append((text, style))
    return kept
