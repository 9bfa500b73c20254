"""The lines of an export as nouns, the same for every store."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import ValidationError

from codefleet.domain.errors import Invalid
from codefleet.domain.model import Repo, Run, Task
from codefleet.domain.noun import Noun, in_utc
from codefleet.domain.validation import complaint
from codefleet.store import nouns

_NOUNS = {kind.word: kind.noun for kind in nouns.leaving(moving=True)}

_NAME = re.compile(r"(?!\.{1,2}$)[^/\0]+")
"""What can name a folder, as run ids and repo names do, and cannot lead out of its parent."""

Nouns = dict[str, list[Any]]


def parsed(exported: Sequence[tuple[str, str]]) -> Nouns:
    """The nouns of an export by kind; refuses an invalid line and names it."""
    found: Nouns = {kind: [] for kind in _NOUNS}
    for number, (kind, text) in enumerate(exported, start=1):
        if kind not in found:
            raise Invalid(
                f"line {number}: {kind!r} is not a kind of noun", hint=f"use one of {list(found)}"
            )
        try:
            found[kind].append(_noun(kind, text))
        except (ValueError, TypeError, KeyError) as wrong:
            raise Invalid(
                f"line {number}: this is not a valid {kind}", hint=_told(kind, text, wrong)
            ) from None
    _refuse_half_a_workflow(found)
    return found


def _told(kind: str, text: str, wrong: Exception) -> str:
    """What is wrong with a line, in our own terms."""
    if not isinstance(wrong, ValidationError):
        return str(wrong).splitlines()[0]
    found = complaint(_NOUNS[kind], json.loads(text), wrong)
    return f"{found.place}: {found.what}"


def _noun(kind: str, text: str) -> Noun:
    noun = _in_one_zone(_NOUNS[kind].from_json(text))
    if isinstance(noun, Task | Run | Repo):
        _refuse_no_name(noun.name if isinstance(noun, Repo) else noun.id)
    return noun


def _in_one_zone(noun: Noun) -> Noun:
    """The noun with its times in UTC: they are also compared as texts."""
    fields = {name: getattr(noun, name) for name in type(noun).__struct_fields__}
    zoned = {
        name: in_utc(value)
        for name, value in fields.items()
        if isinstance(value, datetime) and value.tzinfo is not UTC
    }
    return noun.evolve(**zoned) if zoned else noun


def _refuse_half_a_workflow(found: Nouns) -> None:
    known = {task.id for task in found["task"]}
    for flow in found["workflow"]:
        if missing := sorted(set(flow.tasks) - known):
            raise Invalid(
                f"the workflow {flow.id} has a task {missing[0]} that is not in the import",
                hint="`fleet export` exports both",
            )


def _refuse_no_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:40]!r} is not a name")
