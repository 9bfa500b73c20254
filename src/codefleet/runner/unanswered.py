"""Permission requests that nobody answers in time."""

from contextlib import suppress

from codefleet.domain.errors import FleetError
from codefleet.domain.permissions import NOBODY_ANSWERED
from codefleet.runner.context import Context


async def deny_unanswered(context: Context) -> None:
    """Deny permission requests that nobody answers in time."""
    waiting = [q for q in await context.dispatch.open_questions() if q.tool]
    for asked in waiting:
        with suppress(FleetError):  # answered just now, or in a repo that is not here
            repo = await context.repo((await context.fleet.get(asked.task)).repo)
            settings = context.settings(repo)
            if await context.dispatch.open_for(asked) >= settings.permission_s:
                await context.fleet.answer(asked.id, NOBODY_ANSWERED)
