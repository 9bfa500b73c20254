"""Drafts as people and agents write them, and what a task may not contain.

What no run could use is refused now, before it costs a run or never starts one.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from codefleet.domain import command, scope
from codefleet.domain.errors import FleetError, Invalid
from codefleet.domain.model import Brief, Draft
from codefleet.domain.moment import moment, span
from codefleet.domain.validation import checked, unknown_field

FIELDS = tuple(field for field in Draft.__struct_fields__ if field != "stage")
NAMES = ("name", "title")


def read_all(entries: Sequence[object], now: datetime) -> list[Draft]:
    """The drafts that these entries describe. Every error names the entry."""
    return [_entry(number, entry, now) for number, entry in enumerate(entries, start=1)]


def read(said: Mapping[str, Any], now: datetime) -> Draft:
    """A draft as somebody wrote it in a file or a call; a time without a zone is local time."""
    unknown = next((str(field) for field in said if field not in FIELDS), None)
    if unknown is not None:
        problem, hint = unknown_field(unknown, FIELDS, {"description": "prompt"})
        raise Invalid(problem, hint=hint)
    if isinstance(at := said.get("not_before"), date):  # YAML has times, and dates alone
        said = {**said, "not_before": at.isoformat()}
    return filled_in(said, now)


def filled_in(said: Mapping[str, Any], now: datetime) -> Draft:
    """The draft with these fields: a time may be relative (+2h), a duration may have a unit."""
    return checked(Draft, {**said, **_times(said, now)})


def entry_name(number: int, entry: Mapping[str, Any] | Draft) -> str:
    """How an error names an entry: its number, and its name or title."""
    said = (entry.name, entry.title) if isinstance(entry, Draft) else map(entry.get, NAMES)
    called = next(filter(None, said), None)
    return f"entry {number} ({str(called)[:40]})" if called else f"entry {number}"


def _entry(number: int, entry: object, now: datetime) -> Draft:
    if not isinstance(entry, Mapping):
        raise Invalid(
            f"entry {number} is not a task: {str(entry)[:40]!r}", hint="a task needs a title"
        )
    try:
        return read(entry, now)
    except FleetError as wrong:
        problem = f"{entry_name(number, entry)}: {wrong.problem}"
        raise Invalid(problem, hint=wrong.hint) from None


def _times(said: Mapping[str, Any], now: datetime) -> dict[str, object]:
    """The times and durations that are texts, read."""
    found: dict[str, object] = {}
    if isinstance(at := said.get("not_before"), str):
        found["not_before"] = moment(at, now)
    if isinstance(limit := said.get("timeout_s"), str):
        found["timeout_s"] = span(limit).total_seconds()
    return found


def refuse_unusable(draft: Brief) -> None:
    """Refuse values that no run could use."""
    scope.valid(draft.scope)
    command.valid(draft.checks)
    for name in ("base", "model", "coder", "fallback", "assignee"):
        if "\0" in (getattr(draft, name) or ""):
            raise Invalid(f"{name}: a name cannot contain a NUL", hint="remove that character")
    if any("\0" in label for label in draft.labels):
        raise Invalid("labels: a name cannot contain a NUL", hint="remove that character")
    if draft.fallback and draft.fallback == draft.coder:
        raise Invalid(
            f"{draft.coder} cannot be its own fallback", hint="name another coder, or none"
        )
    if draft.assignee is not None and not draft.assignee.strip():
        raise Invalid("an assignee needs a name", hint="`fleet status` shows the agents")
