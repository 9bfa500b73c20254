"""Permission to use a tool, as humans see it: the question, their answers, and no answer."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from codefleet.coder import Coder
from codefleet.domain.model import Question, TaskId
from codefleet.domain.permissions import ANSWERS, Rule, Ruling
from codefleet.domain.signals import Asks
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch


def unenforced(rules: Sequence[Rule], coder: Coder) -> str:
    """The warning if rules restrict a coder that cannot ask for permission; else empty."""
    if coder.abilities.talks or all(rule.then is Ruling.ALLOW for rule in rules):
        return ""
    return f"{coder.name} does not ask for permission: the rules of [[policy]] do not apply to it"


def question(tool: str, detail: str) -> Asks:
    """The request as it appears in the inbox."""
    return Asks(f"May it use {tool}?\n{detail}".strip(), ANSWERS, tool, detail)


async def permissions_of(fleet: Fleet, task: TaskId) -> Sequence[Question]:
    """The answered permission requests of this task, in the order of the answers."""
    answered = [q for q in await Dispatch(fleet).questions_of(task) if q.answered_at]
    return sorted((q for q in answered if q.tool), key=lambda q: cast(datetime, q.answered_at))
