"""Costs: the bill by any criterion, and the warnings about limits."""

from collections.abc import Sequence
from datetime import datetime

from codefleet.domain import access
from codefleet.domain.access import Right
from codefleet.domain.budget import Judgement
from codefleet.domain.errors import Invalid
from codefleet.domain.events import event
from codefleet.domain.model import Event, Run
from codefleet.domain.views import Spent
from codefleet.fleet.verbs import Verbs

BY = ("day", "coder", "model", "repo", "task")
LATEST = 1000


class Costs(Verbs):
    async def cost(
        self, *, by: Sequence[str], since: datetime, until: datetime | None = None
    ) -> Sequence[Spent]:
        """What was spent: a row for each value of what is in `by`, and each source of the price."""
        access.refuse(self.core.actor, Right.READ_STATUS)
        if unknown := [name for name in by if name not in BY]:
            raise Invalid(f"cannot group costs by {unknown[0]}", hint=f"use {', '.join(BY)}")
        return await self.core.store.spent(since=since, until=until, by=[*by, "source"])


def unseen(model: str, tokens: int, now: datetime) -> Event:
    """The warning about tokens that no limit in money covers."""
    text = f"a limit in USD does not cover {tokens:,} tokens of {model or 'an unnamed model'}: "
    hint = f"give it a price, `fleet config set prices.{model} ...`"
    hint = hint if model else "name the model of your agents, or set a limit in tokens"
    return event("budget.warned", now, text + hint, limit="unpriced", model=model)


def warning(judged: Judgement, now: datetime, run: Run | None = None) -> Event:
    """The warning; its data identify the limit, and tell a raised one apart."""
    assert judged.limit
    allowed = judged.limit.budget.plain()
    return event("budget.warned", now, judged.text, run=run, limit=judged.limit.name, **allowed)
