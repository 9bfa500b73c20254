"""What all nouns share: frozen, and the same in Python, JSON and a row.

A noun is checked where it enters from outside, by `from_json` or by `validation.checked`. Code that
creates one vouches for its values.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, dataclass_transform

import msgspec
from msgspec import Meta

_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")

MOST = 1e9
"""The maximum for seconds and dollars: more than anyone needs, and small enough for every clock
and calendar to add up."""

LARGEST = 2**53 - 1
"""The largest whole number that every store and every JSON reader keeps exactly."""

Instant = Annotated[datetime, Meta(tz=True)]
Text = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=1, le=LARGEST)]
Natural = Annotated[int, Meta(ge=0, le=LARGEST)]
Positive = Annotated[float, Meta(gt=0, le=MOST)]
Amount = Annotated[float, Meta(ge=0, le=MOST)]
NAME_PATTERN = r"^[A-Za-z0-9_-]{1,50}$(?!\n)"
Name = Annotated[str, Meta(pattern=NAME_PATTERN)]
"""The name of a team, or the handle of a member or a worker."""
DURATION_PATTERN = r"^[0-9]{1,5}(s|m|h|d|w)$(?!\n)"
Duration = Annotated[str, Meta(pattern=DURATION_PATTERN)]
Days = Annotated[float, Meta(ge=0, le=100_000)]


@lru_cache(maxsize=256)  # a moment is often written many times: in a task, its run and their events
def instant(moment: datetime) -> str:
    """Fixed width and one time zone, so that texts sort in the order of the moments."""
    utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    text = msgspec.json.encode(utc)[1:-2].decode()  # like `isoformat`, in a sixth of the time
    return f"{text}+00:00" if utc.microsecond else f"{text}.000000+00:00"


def in_utc(moment: datetime) -> datetime:
    """The same moment in UTC, as it is stored; one outside of the calendar is a ValueError."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{moment.isoformat()} is outside of the calendar") from None


def each_once(values: Iterable[str]) -> tuple[str, ...]:
    """Names as they are stored: sorted, without duplicates. Other values stay as they are: a single
    string, though it is iterable, is refused where it is checked."""
    unfit: Any = values
    return tuple(sorted(set(values))) if _are_texts(values) else unfit


def _are_texts(values: object) -> bool:
    if not isinstance(values, tuple | list | set | frozenset):
        return False
    return all(isinstance(value, str) for value in values)


def without_nul(text: str) -> str:
    """The text with NUL replaced: not every store can keep it, and all must keep the same."""
    return text.replace("\0", "\ufffd")


def without_nul_in_json(text: str) -> str:
    """The same for JSON, where NUL is an escape; after an escaped backslash it is none."""
    return _NUL.sub(r"\1\\ufffd", text) if "\\u0000" in text else text


class Frozen(msgspec.StructMeta):
    """The options of every noun in one place: an unknown field is an error."""

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        inside: dict[str, Any],
        frozen: bool = True,
        rename: Literal["camel"] | None = None,
    ) -> Any:
        return super().__new__(
            mcs,
            name,
            bases,
            inside,
            frozen=frozen,
            kw_only=True,
            forbid_unknown_fields=True,
            rename=rename,
        )


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Noun(msgspec.Struct, metaclass=Frozen, frozen=True):
    """Frozen and strict about its fields, so that a typo is an error and not ignored."""

    if TYPE_CHECKING:

        def evolve(self, **changes: Any) -> Self:
            """The same noun with these fields changed. The caller vouches for the values."""

    else:
        evolve = msgspec.Struct.__replace__  # an alias: forwarding the fields takes as long again

    def json(self) -> str:
        """The noun as JSON, its fields in their order."""
        return without_nul_in_json(msgspec.json.encode(self).decode())

    def plain(self) -> dict[str, Any]:
        """Its JSON as plain values."""
        return dict(msgspec.json.decode(msgspec.json.encode(self)))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The noun with this JSON; anything else is a ValueError."""
        return msgspec.json.decode(text, type=cls)


class Record(Noun):
    """A noun that stores keep as it is: found by its key, and replaced only by its next version."""

    if TYPE_CHECKING:
        version: Natural
        """Declared by each noun itself, because it comes last in its JSON."""
