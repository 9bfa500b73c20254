"""SQL by name, read from a file in which `-- name: x` begins a statement and a comment says why.

A statement is either whole, or a head that filters and an order are joined to. One with a `{slot}`
in its name is a template: there is a statement for each record in `codefleet.store.nouns` that has
all of its slots. All text is from the file and that table; values only ever travel as parameters.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from codefleet.store import nouns

_NAME = "-- name: "
_SLOT = re.compile(r"\{(\w+)\}")


class Statements(dict[str, str]):
    """The statements of one engine by their names, in the order of the file."""

    def __init__(self, text: str) -> None:
        super().__init__(_parsed(text))

    def joined(self, *names: str) -> str:
        """A head, its filters and its order as one statement."""
        return "\n".join(self[name] for name in names)


class Numbered(NamedTuple):
    """A statement with numbered parameters, and their names in that order."""

    text: str
    names: Sequence[str]


def numbered(text: str, parameter: re.Pattern[str], sign: str) -> Numbered:
    """Replace named parameters by numbered ones, with an engine's sign before the number."""
    names = list(dict.fromkeys(parameter.findall(text)))
    by_number = parameter.sub(lambda match: f"{sign}{names.index(match[1]) + 1}", text)
    return Numbered(by_number, names)


@cache
def read(file: Path) -> Statements:
    """The statements of a file, read once."""
    return Statements(file.read_text(encoding="utf-8"))


def _parsed(text: str) -> Iterator[tuple[str, str]]:
    for block in text.split(_NAME)[1:]:
        name, _, body = block.partition("\n")
        lines = (line for line in body.splitlines() if not line.startswith("--"))
        yield from _filled(name.strip(), "\n".join(lines).strip().removesuffix(";"))


def _filled(name: str, body: str) -> Iterator[tuple[str, str]]:
    """A statement, or all that a template stands for."""
    slots = {*_SLOT.findall(name + body)}
    if not slots:
        yield name, body
        return
    for given in (kind.slots for kind in nouns.RECORDS):
        if slots <= given.keys():
            yield name.format_map(given), body.format_map(given)
