"""What the agent of a run hears of what others do and say."""

from collections.abc import Set
from typing import NamedTuple

from codefleet.domain.events import OUTPUT
from codefleet.domain.model import Event, TaskId

TOLD_TO_ALL = frozenset({"blackboard.posted", "checkpoint.created"})
"""What everybody may read, unless it names whom it is for."""


class Listener(NamedTuple):
    """An agent: the tasks whose output it may read, and the handle that others know it by."""

    tasks: Set[TaskId]
    handle: str

    def hears(self, event: Event) -> bool:
        """Does it find this event in the log?"""
        return event.kind not in OUTPUT or event.task in self.tasks or self._is_told(event)

    def _is_told(self, event: Event) -> bool:
        sender, to = event.data.get("sender"), event.data.get("to")
        if sender is None:  # a human's message, which names a seat and no handle
            return False
        return self.handle in (sender, to) or (to is None and event.kind in TOLD_TO_ALL)
