"""External input -> a noun, or a sentence stating what is wrong and where."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
from msgspec import ValidationError

from codefleet.domain.errors import Invalid
from codefleet.domain.noun import DURATION_PATTERN, LARGEST, MOST, NAME_PATTERN, Noun
from codefleet.domain.suggestion import nearest

if TYPE_CHECKING:
    from msgspec import inspect

N = TypeVar("N", bound=Noun)
W = TypeVar("W", bound=StrEnum)

PLACED = re.compile(r"(.*?)(?: - at (`key` in )?`\$([\w.\[\]]*)`)?", re.DOTALL)
STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
FIELD = re.compile(r"Object (contains unknown|missing required) field `(.*)`", re.DOTALL)
THEIRS = ("Expected ", "Invalid ", "Integer ", "Number ", "Float ", "Input ", "Out of ")
"""How msgspec's own messages begin; the others come from our nouns."""

FORMS = {"budget": "name what it limits: {usd: 1}, {tokens: 200000}, or both"}
"""How to write fields whose format is hard to guess."""

PATTERNS = {
    NAME_PATTERN: "1 to 50 letters, digits, - or _",
    DURATION_PATTERN: "a duration such as 30m, 24h or 7d",
}
"""What strings with a pattern look like, in words."""

LONGEST_SHOWN = 80
MOST_SHOWN = 10**30
BYTES = (bytes, bytearray, memoryview)
SIMPLE = frozenset({str, int, bool, type(None)})
"""Types of values that have nothing inside, and that JSON keeps as they are."""
DEEPEST = 100
"""How many lists and tables may be inside each other."""
NO_KEYS = "its keys should be strings"
NO_TEXT = "it contains bytes that are not text"


class Complaint(NamedTuple):
    """Where something is wrong, and what."""

    where: Sequence[str]
    what: str
    is_unknown: bool = False

    @property
    def place(self) -> str:
        return ".".join(self.where) or "it"

    @property
    def sentence(self) -> str:
        """A complaint about the whole is a sentence by itself, unless it lacks a subject."""
        if self.where:
            return f"{self.place}: {self.what}"
        return f"it {self.what}" if self.what.startswith("should ") else self.what


def checked(kind: type[N], said: Mapping[str, Any], *, strict: bool = True) -> N:
    """A noun made of external input; a problem is reported in one sentence.

    If not `strict`, numbers and the like may be given as texts.
    """
    try:
        plain = msgspec.to_builtins(said, builtin_types=BYTES)
        msgspec.json.encode(plain)  # a lone surrogate, legal in Python, cannot be stored
    except UnicodeEncodeError:
        raise no_text() from None
    except (TypeError, ValueError, RecursionError):
        raise Invalid("it must be plain JSON", hint="strings, numbers, lists and tables") from None
    refuse_deep(plain)
    try:
        noun = msgspec.convert(plain, kind, strict=strict)
        found = next(_lost(plain, []), None)
    except ValidationError as wrong:
        found = complaint(kind, plain, wrong)
    if found is None:
        return noun
    if found.is_unknown and len(found.where) == 1:
        problem, hint = unknown_field(found.place, kind.__struct_encode_fields__)
        raise Invalid(problem, hint=hint)
    hint = FORMS.get(next(iter(found.where), ""), f"fix {found.place}")
    raise Invalid(found.sentence, hint=hint)


def refuse_deep(said: Any) -> None:
    """Refuse what is nested so deeply that a walk through it could fail."""
    layer = [said]
    for _ in range(DEEPEST):
        layer = [it for each in layer if type(each) not in SIMPLE for it in _inside(each)]
        if not layer:
            return
    if any(isinstance(each, Mapping | list | tuple) for each in layer):
        raise Invalid(f"it is nested more than {DEEPEST} levels deep", hint="make it flatter")


def _inside(value: Any) -> Iterable[Any]:
    match value:
        case Mapping():
            return value.values()
        case list() | tuple():
            return value
    return ()


def unknown_field(
    name: str, known: Sequence[str], others: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """The problem with a field that does not exist, and a hint.

    `others` maps the terms of other systems to ours.
    """
    meant = (others or {}).get(name) or nearest(name, known)
    maybe = f"did you mean `{meant}`? " if meant else ""
    all_of_them = f"Fields: {', '.join(known)}" if known else "there are no fields: leave it out"
    return f"unknown field `{name[:LONGEST_SHOWN]}`", maybe + all_of_them


def word(given: str | None, words: type[W]) -> W | None:
    """One of a closed list of words, or none."""
    try:
        return words(given) if given is not None else None
    except ValueError:
        shown = given[:LONGEST_SHOWN] if given else given
        known = ", ".join(words)
        raise Invalid(f"{shown!r} is none of {known}", hint="use one of them") from None


def no_text() -> Invalid:
    """The error for a lone surrogate, which Python can hold but nothing can store."""
    return Invalid(NO_TEXT, hint="write it in UTF-8")


def _lost(value: Any, where: Sequence[str]) -> Iterator[Complaint]:
    """What JSON would silently change: NaN and infinities, bytes, keys that are not strings."""
    match value:
        case Mapping():
            if not all(isinstance(key, str) for key in value):
                yield Complaint(where, NO_KEYS)
            for key, inside in value.items():
                if type(inside) not in SIMPLE:
                    yield from _lost(inside, [*where, str(key)])
        case list() | tuple():
            for number, inside in enumerate(value):
                if type(inside) not in SIMPLE:
                    yield from _lost(inside, [*where, str(number)])
        case float() if not math.isfinite(value):
            yield Complaint(where, f"should be a number, not {value}")
        case bytes() | bytearray() | memoryview():
            yield Complaint(where, "should be a string, not bytes")


def complaint(kind: type[msgspec.Struct], said: Any, wrong: ValidationError) -> Complaint:
    """What is wrong, in our own terms, and where."""
    placed = PLACED.fullmatch(str(wrong))
    assert placed  # the second half is optional, so everything matches
    where = [*_steps(placed[3] or "", said)]
    if field := FIELD.fullmatch(placed[1]):
        is_unknown = field[1] == "contains unknown"
        what = "there is no such field" if is_unknown else "it is missing"
        return Complaint([*where, field[2]], what, is_unknown)
    if placed[2]:
        return Complaint(where, NO_KEYS)
    if not placed[1].startswith(THEIRS):
        return Complaint(where, placed[1])
    value = _at(said, where)
    return Complaint(where, f"should be {_wanted(kind, where, value)}, not {_shown(value)}")


def _steps(path: str, said: Any) -> Iterator[str]:
    """The parts of a path; msgspec omits the keys of a table, so only a sole key is known."""
    known: list[str] = []
    for name, key in STEP.findall(path):
        here = _at(said, known)
        is_alone = isinstance(here, Mapping) and len(here) == 1
        step = next(iter(here)) if key == "..." and is_alone else name or key
        known.append(str(step))
        yield str(step)


def _at(said: Any, where: Sequence[str]) -> Any:
    """The value at this place; None if a hostile field name only looks like a path."""
    for step in where:
        match said:
            case Mapping():
                said = said.get(step)
            case list() | tuple() if step.isdecimal() and int(step) < len(said):
                said = said[int(step)]
            case _:
                return None
    return said


def _shown(value: Any) -> str:
    match value:
        case str() if len(value) > LONGEST_SHOWN:
            return f"one of {len(value):,} characters"
        case list() | tuple():
            return f"a list of {len(value)}"
        case Mapping():
            return "a table"
        case float() if not math.isfinite(value):
            return str(value)
        case int() if abs(value) > MOST_SHOWN:
            return "a number that large"
        case bytes() | bytearray() | memoryview():
            return "bytes"
    return msgspec.json.encode(value).decode()


def _wanted(kind: type[msgspec.Struct], where: Sequence[str], value: Any) -> str:
    """What the type at this place requires, as far as it concerns this value."""
    from msgspec import inspect  # imported here, because only errors need it

    return _described(_type_at(inspect.type_info(kind), where), value)


def _type_at(found: "inspect.Type", where: Sequence[str]) -> "inspect.Type":
    from msgspec import inspect

    for step in where:
        match bare := _bare(found):
            case inspect.StructType():
                found = next(field.type for field in bare.fields if field.encode_name == step)
            case inspect.DictType():
                found = bare.value_type
            case inspect.VarTupleType() | inspect.ListType():
                found = bare.item_type
    return _bare(found)


def _bare(found: "inspect.Type") -> "inspect.Type":
    """The type without its metadata, and without None."""
    from msgspec import inspect

    while isinstance(found, inspect.Metadata):
        found = found.type
    if isinstance(found, inspect.UnionType):
        some = [each for each in found.types if not isinstance(each, inspect.NoneType)]
        return _bare(some[0]) if len(some) == 1 else found
    return found


def _described(found: "inspect.Type", value: Any) -> str:
    from msgspec import inspect

    match found:
        case inspect.IntType():
            return f"a whole number{_bounds(found, value)}"
        case inspect.FloatType():
            return f"a number{_bounds(found, value)}"
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType(pattern=str(pattern)):
            return PATTERNS[pattern]
        case inspect.StrType():
            return f"a string{_length(found, 'characters')}"
        case inspect.EnumType():
            return " or ".join(found.cls)
        case inspect.LiteralType():
            return " or ".join(map(str, found.values))
        case inspect.DateTimeType():
            return "a time with a time zone, such as 2030-01-31T09:00:00Z"
        case inspect.VarTupleType() | inspect.ListType():
            return f"a list{_length(found, 'entries')}"
    return "a table"


def _bounds(found: "inspect.IntType | inspect.FloatType", value: Any) -> str:
    """The bounds of a number; technical limits are shown only when exceeded."""
    bounds = {"from": found.ge, "above": found.gt, "to": found.le}
    is_beyond = isinstance(value, int | float) and value > (found.le or math.inf)
    left_out = (None,) if is_beyond else (None, MOST, LARGEST)
    told = {word: bound for word, bound in bounds.items() if bound not in left_out}
    return "".join(f" {word} {bound:,.16g}" for word, bound in told.items())


def _length(found: "inspect.StrType | inspect.VarTupleType | inspect.ListType", unit: str) -> str:
    if found.max_length is None:
        return " that is not empty" if found.min_length else ""
    least = f"{found.min_length} to" if found.min_length else "at most"
    return f" of {least} {found.max_length:,} {unit}"
