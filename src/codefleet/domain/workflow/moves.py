"""What may be done with a workflow, as its stages stand."""

from collections.abc import Sequence
from enum import StrEnum

from codefleet.domain.access import Right
from codefleet.domain.model import Task
from codefleet.domain.words import State


class FlowMove(StrEnum):
    """What people may do with a whole workflow."""

    CANCEL = "cancel"
    RETRY = "retry"
    CLEAN_UP = "clean_up"


RIGHTS = {
    FlowMove.CANCEL: Right.CANCEL,
    FlowMove.RETRY: Right.RETRY_WORKFLOW,
    FlowMove.CLEAN_UP: Right.CLEAN_UP,
}


def can_stop(stage: Task) -> bool:
    """Can this stage be cancelled? Nobody can stop one that is landing."""
    return not stage.state.is_final and not stage.is_landing


def can_retry(stage: Task) -> bool:
    """Can this stage go back into the queue?"""
    return stage.state in (State.FAILED, State.CANCELLED)


def moves(stages: Sequence[Task]) -> tuple[FlowMove, ...]:
    """What would change something now."""
    fits = {
        FlowMove.CANCEL: any(map(can_stop, stages)),
        FlowMove.RETRY: any(map(can_retry, stages)),
        FlowMove.CLEAN_UP: all(stage.state.is_final for stage in stages),
    }
    return tuple(move for move, is_possible in fits.items() if is_possible)
