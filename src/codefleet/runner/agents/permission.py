"""Permission to use a tool, as humans see it: the question, their answers, and no answer."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import cast

from codefleet.domain.errors import FleetError
from codefleet.domain.model import Question, TaskId
from codefleet.domain.policy import ANSWERS, NOBODY_ANSWERED, Rule, Ruling
from codefleet.domain.signals import Asks
from codefleet.fleet import Fleet
from codefleet.ports import Coder
from codefleet.runner.desk import Desk


def unheeded(rules: Sequence[Rule], coder: Coder) -> str:
    """The warning if rules restrict a coder that cannot ask for permission; else empty."""
    if coder.abilities.talks or all(rule.then is Ruling.ALLOW for rule in rules):
        return ""
    return f"{coder.name} does not ask for permission: the rules of [[policy]] do not apply to it"


def question(tool: str, detail: str) -> Asks:
    """The request as it appears in the inbox."""
    return Asks(f"May it use {tool}?\n{detail}".strip(), ANSWERS, tool, detail)


async def permissions_of(fleet: Fleet, task: TaskId) -> Sequence[Question]:
    """The answered permission requests of this task, in the order of the answers."""
    answered = [q for q in await fleet.questions_of(task) if q.answered_at]
    return sorted((q for q in answered if q.tool), key=lambda q: cast(datetime, q.answered_at))


async def deny_unanswered(desk: Desk) -> None:
    """Deny permission requests that nobody answers in time."""
    waiting = [q for q in await desk.fleet.open_questions() if q.tool]
    for asked in waiting:
        with suppress(FleetError):  # answered just now, or in a repo that is not here
            repo = await desk.repo((await desk.fleet.get(asked.task)).repo)
            settings = desk.settings(repo)
            if await desk.fleet.open_for(asked) >= settings.permission_s:
                await desk.fleet.answer(asked.id, NOBODY_ANSWERED)
