"""Reading `result.json`, which an agent wrote: what can be read counts, the rest is told."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from codefleet.domain.model import Evidence, Result
from codefleet.domain.words import Claimed

LONGEST_TEXT = 4000
LONGEST_ITEM = 500
MOST_ITEMS = 20
TEXTS = ("summary", "tests", "question", "choice")
LISTS = ("next_steps", "options")
OF_GIT = ("files_changed", "commits")
"""Here git's word counts, so the agent's is not even read."""


class Read(NamedTuple):
    """What was found, and what was wrong with it."""

    result: Result | None
    problems: tuple[str, ...] = ()


def read(text: str) -> Read:
    """The result that an agent wrote, as far as it makes sense; nothing it wrote raises."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        return Read(None, (f"it is not JSON: {wrong}",))
    if not isinstance(given, dict):
        return Read(None, ("it is not a JSON object",))
    problems: list[str] = []
    fields = dict(_fields(given, problems))
    return Read(Result(**fields), tuple(problems))


def corrected(result: Result, seen: Evidence) -> Result:
    """The result with files and commits as git has them, whatever the agent said."""
    return result.evolve(
        files_changed=tuple(change.path for change in seen.changes), commits=seen.commits
    )


def _fields(given: Mapping[str, Any], problems: list[str]) -> Iterator[tuple[str, Any]]:
    """Each field that can be read; what is wrong with the others goes to `problems`."""
    if unknown := sorted(set(given) - {"status", *TEXTS, *LISTS, *OF_GIT}):
        problems.append(f"it has no field {', '.join(_clean(name)[:40] for name in unknown[:5])}")
    if given.get("status") in Claimed.__members__.values():
        yield "status", Claimed(given["status"])
    else:
        problems.append(f"its status is none of {', '.join(Claimed)}")
    for names, reading, kind in ((TEXTS, _text, "a text"), (LISTS, _list, "a list of texts")):
        for name in names:
            value = given.get(name)
            if (found := reading(value)) is not None:
                yield name, found
            elif value is not None:
                problems.append(f"{name} is not {kind}")


def _text(value: object) -> str | None:
    lines = [value] if isinstance(value, str) else value
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        return None
    return _clean("\n".join(lines))[:LONGEST_TEXT]


def _list(value: object) -> tuple[str, ...] | None:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        return None
    cleaned = (_clean(item)[:LONGEST_ITEM] for item in items[:MOST_ITEMS])
    return tuple(item for item in cleaned if item)


def _clean(text: str) -> str:
    """Half a surrogate pair, which JSON can spell, cannot be stored."""
    return text.encode(errors="replace").decode().strip()
