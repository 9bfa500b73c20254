"""Which stages of a workflow a failed one takes with it, and which return when it is retried."""

from collections.abc import Sequence

from codefleet.domain import graph
from codefleet.domain.model import Task
from codefleet.domain.words import State

BAD = (State.FAILED, State.CANCELLED)


def note(bad: Task) -> str:
    """The note of the stages that `bad` takes with it."""
    return _note(bad, bad.state)


def doomed(bad: Task, stages: Sequence[Task]) -> Sequence[Task]:
    """The waiting stages that can never start because they need `bad`, directly or not."""
    below = set(graph.held_up_by(bad.id, {each.id: each.needs for each in stages}))
    return [each for each in stages if each.id in below and each.state is State.PENDING]


def revived(again: Task, stages: Sequence[Task]) -> Sequence[Task]:
    """The stages that were taken along and can start after all, now that `again` is retried.

    That excludes stages that a human cancelled, and those that need another bad one.
    """
    known = {str(each.id): each for each in stages}
    needs = {name: [need for need in each.needs if need in known] for name, each in known.items()}
    below = set(graph.held_up_by(again.id, needs))
    hopeful = {name for name, each in known.items() if each.state not in BAD} | {str(again.id)}
    found = []
    for name in graph.order(needs):
        each = known[name]
        was_taken = each.cancelled_by is not None or _was_taken_by_note(each, stages)
        if name in below and was_taken and hopeful.issuperset(needs[name]):
            hopeful.add(name)
            found.append(each)
    return found


def _was_taken_by_note(stage: Task, stages: Sequence[Task]) -> bool:
    """The same for tasks that were cancelled before the fleet recorded by what."""
    reasons = (_note(each, state) for each in stages for state in BAD)
    return stage.state is State.CANCELLED and stage.note in reasons


def _note(stage: Task, state: State) -> str:
    ended = "failed" if state is State.FAILED else "was cancelled"
    return f"it needs {stage.stage.name if stage.stage else stage.title}, which {ended}"
