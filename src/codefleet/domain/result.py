"""Reading an agent's `result.json`: what can be read counts, the rest is reported."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from codefleet.domain.model import Evidence, Result
from codefleet.domain.noun import without_nul
from codefleet.domain.words import ReportedStatus

LONGEST_TEXT = 4000
LONGEST_ITEM = 500
MOST_ITEMS = 20
TEXTS = ("summary", "tests", "question", "choice")
LISTS = ("next_steps", "options")
OF_GIT = ("files_changed", "commits")
"""Git decides these, so the agent's values are not even read."""


class Read(NamedTuple):
    """What was found, and what was wrong with it."""

    result: Result | None
    problems: tuple[str, ...] = ()


def read(text: str) -> Read:
    """The agent's result, as far as it makes sense; nothing in it raises."""
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
    """The result with files and commits from git, whatever the agent reported."""
    return result.evolve(
        files_changed=tuple(change.path for change in seen.changes), commits=seen.commits
    )


def _fields(given: Mapping[str, Any], problems: list[str]) -> Iterator[tuple[str, Any]]:
    """Each field that can be read; what is wrong with the others goes to `problems`."""
    if unknown := sorted(set(given) - {"status", *TEXTS, *LISTS, *OF_GIT}):
        problems.append(f"unknown fields: {', '.join(_clean(name)[:40] for name in unknown[:5])}")
    if given.get("status") in ReportedStatus.__members__.values():
        yield "status", ReportedStatus(given["status"])
    else:
        problems.append(f"its status is not one of {', '.join(ReportedStatus)}")
    for names, reading, kind in ((TEXTS, _text, "a string"), (LISTS, _list, "a list of strings")):
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
    """Replace lone surrogates and zeros, which JSON can spell but no store can keep."""
    return without_nul(text.encode(errors="replace").decode()).strip()
