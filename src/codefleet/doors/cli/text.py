"""Text for terminals: made safe, measured, cut, set in columns. It knows no nouns of the fleet."""

import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache

import click

from codefleet.domain.invisible import INVISIBLE

CONTROL_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}
HIDDEN = dict.fromkeys(  # marks that reorder or hide what a human reads
    (
        *(*range(0x80, 0xA0), 0x061C, *range(0x200B, 0x2010), *range(0x2028, 0x202F)),
        *(*range(0x2060, 0x206A), 0xFEFF),
    )
)
SPELLED = {code: f"<U+{code:04X}>" for code in INVISIBLE}
BROKEN = dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)
SAFE = CONTROL_PICTURES | HIDDEN | SPELLED | BROKEN
SAFE_LINES = {code: to for code, to in SAFE.items() if code not in (0x09, 0x0A)}

AS_EMOJI = "\ufe0f"
_PRESENTED = re.compile(f"(?<=[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff]){AS_EMOJI}")

NARROWEST = 10

Row = Sequence[str]


def clean(text: str) -> str:
    """One line that is safe for a terminal: control characters are shown, not interpreted."""
    return text if text.isascii() and text.isprintable() else _translated(text, SAFE)


def inert(json: str) -> str:
    """Equivalent JSON that is safe for a terminal: dangerous characters are escaped."""
    return json if json.isascii() and json.isprintable() else json.translate(_spelled())


@cache
def _spelled() -> dict[int, str]:
    units = {code: chr(code).encode("utf-16-be").hex() for code in (0x7F, *HIDDEN, *SPELLED)}
    return {
        code: "".join(f"\\u{unit[at : at + 4]}" for at in range(0, len(unit), 4))
        for code, unit in units.items()
    }


def brief(text: str) -> str:
    """The first line of a text, with a mark if there is more."""
    first, *more = text.strip().splitlines() or [""]
    return clean(first) + (" …" if more else "")


def clean_lines(text: str) -> str:
    """The same for several lines."""
    return _translated(text, SAFE_LINES)


def _translated(text: str, table: Mapping[int, int | str | None]) -> str:
    """The translated text; only a variation selector after an emoji stays."""
    return AS_EMOJI.join(part.translate(table) for part in _PRESENTED.split(text))


def width(text: str) -> int:
    """How many columns a text takes, not counting its colours."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    return sum(_columns(character) for character in click.unstyle(text))


def fit(text: str, columns: int) -> str:
    """A plain text cut to this many columns, with a mark where it was cut."""
    if width(text) <= columns:
        return text
    kept, left = [], columns - 1
    for character in text:
        left -= _columns(character)
        if left < 0:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def table(
    headings: Row,
    rows: Iterable[Row],
    *,
    stretch: Sequence[int],
    room: int | None = None,
    folds: bool = True,
) -> str:
    """Rows in columns. If there is too little room, the widest of `stretch` shrinks; if that is
    not enough, the last of them moves to a line of its own below each row."""
    all_rows = [tuple(headings), *(tuple(row) for row in rows)]
    room = room or terminal_width()
    widths = [max(width(row[i]) for row in all_rows) for i in range(len(headings))]
    over = sum(widths) + 2 * (len(widths) - 1) - room
    while over > 0 and stretch:
        widest = max(stretch, key=lambda column: widths[column])
        if widths[widest] <= NARROWEST and folds:
            return _folded(all_rows, stretch, room)
        if widths[widest] <= NARROWEST:
            break
        widths[widest] -= 1
        over -= 1
    lines = (
        "  ".join(_padded(cell, columns) for cell, columns in zip(row, widths, strict=True))
        for row in all_rows
    )
    first, *rest = (line.rstrip() for line in lines)
    return "\n".join([click.style(first, dim=True), *rest])


def _folded(rows: Sequence[Row], stretch: Sequence[int], room: int) -> str:
    """The same table with its last stretching column below each row."""
    last = stretch[-1]
    head, *short = [(*row[:last], *row[last + 1 :]) for row in rows]
    below = [click.unstyle(row[last]) for row in rows[1:]]
    others = [column - (column > last) for column in stretch[:-1]]
    first, *lines = table(head, short, stretch=others, room=room, folds=False).split("\n")
    texts = [f"\n    {fit(said, room - 4)}" if said else "" for said in below]
    return "\n".join([first, *(line + text for line, text in zip(lines, texts, strict=True))])


def duration(seconds: float) -> str:
    """A duration, as short as people say it."""
    seconds = max(0.0, seconds)
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def local(moment: datetime) -> str:
    """A time in the user's time zone."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"


def count(number: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _padded(cell: str, columns: int) -> str:
    cell = cell if width(cell) <= columns else fit(click.unstyle(cell), columns)
    return cell + " " * (columns - width(cell))


def terminal_width() -> int:
    """The terminal's width; output to a pipe or a file is never cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000
