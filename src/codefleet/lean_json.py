"""JSON for programs that start for every run: as `json`, but without what takes long to load.

The module in C does all the work for `json` as well. It needs to be told only what `json` finds out
from its options.
"""

from _json import encode_basestring_ascii, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Plain:
    """What `json.loads` uses if no option is given."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


_scan = make_scanner(_Plain)  # type: ignore[arg-type]  # typeshed thinks it wants itself


def read(text: str) -> "Any":
    """The value that begins this text."""
    try:
        return _scan(text, 0)[0]
    except StopIteration:
        raise ValueError(f"not JSON: {text[:100]!r}") from None


def written(value: object) -> str:
    """A value as `json.dumps` writes it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return encode_basestring_ascii(value)
        case dict():
            return "{" + ", ".join(f"{written(k)}: {written(v)}" for k, v in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(written, value)) + "]"
        case int() | float():
            return repr(value)
    raise TypeError(f"not for JSON: {value!r}")
