"""A plan: a workflow as its author wrote it, before it becomes tasks."""

import re
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, field

from codefleet.domain.model import Budget
from codefleet.domain.noun import Noun, Positive
from codefleet.domain.words import LandingMode

RETRY = re.compile(r"retry ([1-9]\d?)")
Prompt = Annotated[str, Meta(max_length=1_000_000)]


class StagePlan(Noun):
    """One stage as its author wrote it; `judges` names the stages from which it picks the best."""

    name: str
    prompt: Prompt = ""
    coder: str | None = None
    model: str | None = None
    fallback: str | None = None
    needs: tuple[str, ...] = ()
    inherit: bool = False
    judges: tuple[str, ...] = ()
    gate: str | None = None
    when: str | None = None
    on_failure: str = "fail"
    checks: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    budget: Budget | None = None
    timeout_s: Positive | None = None
    effort: str | None = None
    args: tuple[str, ...] = ()
    lands: LandingMode = field(name="landing", default=LandingMode.BRANCH)

    def __post_init__(self) -> None:
        if self.on_failure not in ("fail", "continue") and not RETRY.fullmatch(self.on_failure):
            raise ValueError("on_failure must be fail, continue or retry N")


class Plan(Noun):
    """A whole workflow as its author wrote it."""

    name: Annotated[str, Meta(min_length=1, max_length=200)] = "workflow"
    prompt: Prompt = ""
    base: str | None = None
    budget: Budget | None = None
    stages: Annotated[tuple[StagePlan, ...], Meta(min_length=1, max_length=1000)]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(stage.name for stage in self.stages)


def called(number: int, name: object, lines: Sequence[int]) -> str:
    """How a message names a stage: its line if that is known, its number from 1, its name."""
    it = f"stage {number + 1} ({str(name)[:40]})" if name else f"stage {number + 1}"
    return f"line {lines[number]}: {it}" if number < len(lines) else it
