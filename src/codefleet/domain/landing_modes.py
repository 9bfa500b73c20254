"""The landing modes: how finished work reaches the trunk, by the answers that the fleet needs.

A mode is neither the approval that work may need nor the lane, in which approved work waits until
it lands. The mode of a task or a stage is `lands`, that of a repo is the setting `landing`.

A mode is one entry here, its word in `words.LandingMode`, and what a run does with its finished
work in `runner/run/handover.py`. Which mode a task has is decided by `own_mode` here and, for tasks
that agents created, by `landing_mode_of` in `fleet/dispatch/landing.py`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from codefleet.domain.model import Task
from codefleet.domain.words import LandingMode


class Answers(NamedTuple):
    """What one mode says about work that its run has finished."""

    lands_by_itself: bool
    """May the lane take it without a human's approval?"""
    ends_on_trunk: bool
    """Is the task completed when the trunk has its work? If not, the branch is the result."""


MODES = {
    LandingMode.QUEUE: Answers(lands_by_itself=True, ends_on_trunk=True),
    LandingMode.REVIEW: Answers(lands_by_itself=False, ends_on_trunk=True),
    LandingMode.BRANCH: Answers(lands_by_itself=False, ends_on_trunk=False),
}
"""From the loosest to the strictest."""


def lands_by_itself(mode: LandingMode) -> bool:
    return MODES[mode].lands_by_itself


def ends_on_trunk(mode: LandingMode) -> bool:
    return MODES[mode].ends_on_trunk


def strictest(modes: Iterable[LandingMode]) -> LandingMode:
    """The mode that lets the least land without a human."""
    return max(modes, key=[*MODES].index)


def own_mode(task: Task, usual: LandingMode) -> LandingMode:
    """How a task by itself would land: by its stage, its own setting, or the repo's."""
    said = [task.stage.lands, task.lands] if task.stage else [task.lands or usual]
    return strictest(filter(None, said))
