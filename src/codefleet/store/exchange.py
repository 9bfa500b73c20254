"""The lines of an export as nouns, for every store alike."""

import json
from collections.abc import Sequence
from typing import Any

from codefleet.domain.errors import Invalid
from codefleet.domain.model import Conflict, Event, Message, Question, Repo, Run, Task, Workflow
from codefleet.domain.noun import Noun

_NOUNS: dict[str, type[Noun]] = {
    "repo": Repo,
    "task": Task,
    "run": Run,
    "question": Question,
    "conflict": Conflict,
    "message": Message,
    "workflow": Workflow,
    "event": Event,
}

Nouns = dict[str, list[Any]]


def parsed(exported: Sequence[tuple[str, str]]) -> Nouns:
    """The nouns of an export by kind; refuses what is none, by its line."""
    nouns: Nouns = {kind: [] for kind in (*_NOUNS, "setting")}
    for number, (kind, text) in enumerate(exported, start=1):
        if kind not in nouns:
            raise Invalid(
                f"line {number}: {kind!r} is no kind of noun", hint=f"one of {list(nouns)}"
            )
        try:
            nouns[kind].append(_noun(kind, text))
        except (ValueError, KeyError) as error:
            raise Invalid(
                f"line {number}: this is no {kind}", hint=str(error).splitlines()[0]
            ) from error
    return nouns


def _noun(kind: str, text: str) -> Any:
    if kind == "setting":
        setting = json.loads(text)
        return str(setting["name"]), str(setting["value"])
    return _NOUNS[kind].from_json(text)
