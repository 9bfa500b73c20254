"""The fleet's time, for times that users type relative to now."""

from datetime import datetime

import click

from codefleet.domain import moment as domain
from codefleet.doors.cli.call import look


def moment(text: str) -> datetime:
    """`2026-11-16 09:00` in local time, an ISO time with its zone, or `+2h`."""
    return domain.moment(text, now())


def now() -> datetime:
    """The fleet's time, the same throughout one command."""
    known = click.get_current_context().meta
    if __name__ not in known:
        known[__name__] = look(lambda fleet: fleet.now())
    found: datetime = known[__name__]
    return found
