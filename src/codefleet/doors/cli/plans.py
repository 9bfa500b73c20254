"""Read a plan from a workflow file. Every error names the stage and its line."""

import os
from collections.abc import Sequence
from typing import NamedTuple

import click

from codefleet.coders import capabilities
from codefleet.config import load
from codefleet.domain.workflow import workflow
from codefleet.domain.workflow.plan import Plan
from codefleet.doors.cli.call import home
from codefleet.doors.cli.drafts import read_content, read_text


class Change(NamedTuple):
    """A field of all stages, or of one (`review.coder`), set on the command line."""

    key: str
    value: str


def change(text: str) -> Change:
    """`coder=scripted` as a change."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise click.BadParameter(f"{text!r} is not FIELD=VALUE, such as coder=scripted.")
    return Change(key.strip(), value)


def read_plan(source: str, changes: Sequence[Change] = (), prompt: str | None = None) -> Plan:
    """The plan in a YAML or JSON file, checked as far as possible before it starts."""
    text = read_text(source)
    said = workflow.replaced(read_content(source, text), changes)
    lines = _lines(text)
    plan = workflow.parse(said, lines)
    capabilities.check(plan, load(home(), env=os.environ).coders, lines)
    return plan.evolve(prompt=prompt) if prompt is not None else plan


def _lines(text: str) -> list[int]:
    """The line on which each stage begins; JSON is nearly YAML, and is read as such."""
    import yaml  # here, because only files need it

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return []
    fields = root.value if isinstance(root, yaml.MappingNode) else []
    for key, stages in fields:
        if key.value == "stages" and isinstance(stages, yaml.SequenceNode):
            return [stage.start_mark.line + 1 for stage in stages.value]
    return []
