"""What the actor may do, at all and with a task: pages and menus ask, and know no rules."""

from collections.abc import Iterable, Sequence

from codefleet.domain import access, lifecycle
from codefleet.domain.access import Right
from codefleet.domain.errors import FleetError
from codefleet.domain.model import Task
from codefleet.domain.views import Move
from codefleet.fleet import questions
from codefleet.fleet.core import may
from codefleet.fleet.verbs import Verbs

RIGHTS = {"comment": Right.REJECT}
"""The rights whose name is not that of what they permit."""


class Moves(Verbs):
    async def rights(self) -> Sequence[Right]:
        """What the actor may do, if the state of things allows it."""
        return [right for right in Right if _has(self.core.actor, right)]

    async def moves(self, ref: str) -> Sequence[Move]:
        """What the actor may do with a task now, and the state that it would be in then."""
        task = await self.core.get(ref)
        return [
            move
            for move in await self._possible(task)
            if await may(self.core, RIGHTS.get(move.verb) or Right[move.verb.upper()], task)
        ]

    async def _possible(self, task: Task) -> Iterable[Move]:
        """What anybody could do with it now."""
        found = {verb: lifecycle.MOVES[verb][task.state] for verb in lifecycle.allowed(task)}
        if await questions.are_open(self.core.store, task.id):
            found.setdefault(lifecycle.Verb.ANSWER, task.state)
        still = [word for word, fits in lifecycle.WITHOUT_A_MOVE.items() if fits(task)]
        return [
            *(Move(verb=verb, to=state) for verb, state in found.items()),
            *(Move(verb=word, to=task.state) for word in still),
        ]


def _has(actor: access.Actor, right: Right) -> bool:
    try:
        access.refuse(actor, right)
    except FleetError:
        return False
    return True
