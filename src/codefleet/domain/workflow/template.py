"""Prompts with variables: `{task_prompt}`, `{stage_0_summary}`, `{implement.summary}`.

Only these are variables; any other braces are text, so that code and JSON in a prompt are safe.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

FIELDS = ("summary", "files", "next_steps", "status", "result")
NUMBERED = re.compile(r"\{stage_(\d{1,4})_([a-z_]+)\}")
NAMED = re.compile(r"\{([A-Za-z_][\w-]*)\.([a-z_]+)\}")
VARIABLE = re.compile(rf"\{{task_prompt\}}|{NUMBERED.pattern}|{NAMED.pattern}")


class Variable(NamedTuple):
    """A variable in a template: the stage it refers to, and the field."""

    text: str
    stage: int | str
    field: str


def variables(template: str) -> Iterator[Variable]:
    """Everything in a template that refers to a stage's result, valid or not.

    A name with a field that no stage has is code (`{user.name}`), unless a stage has that name.
    """
    for found in NUMBERED.finditer(template):
        yield Variable(found[0], int(found[1]), found[2])
    for found in NAMED.finditer(template):
        yield Variable(found[0], found[1], found[2])


def fill(
    template: str, prompt: str, names: Sequence[str], values: Mapping[tuple[str, str], str]
) -> str:
    """The template with every variable replaced; replacements are not expanded again."""

    def value(found: re.Match[str]) -> str:
        if found[0] == "{task_prompt}":
            return prompt
        if found[1] is not None:
            number = int(found[1])
            name, field = (names[number] if number < len(names) else ""), found[2]
        else:
            name, field = found[3], found[4]
        known = name in names and field in FIELDS
        return values.get((name, field), "") if known else found[0]

    return VARIABLE.sub(value, template)
