"""Times as people type them: a date and time, or a duration from now."""

import re
from datetime import datetime, timedelta

import click

from codefleet.domain.errors import Invalid
from codefleet.doors.cli.call import look

UNITS = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
SPAN = re.compile(r"\+?\s*(\d+(?:\.\d+)?)\s*(s|min|m|h|d|w)")

LONGEST = timedelta(days=100_000)
"""`datetime` ends not much further away from now."""


def moment(text: str) -> datetime:
    """`2026-11-16 09:00` in local time, an ISO time with its zone, or `+2h`."""
    try:
        if text.strip().startswith("+"):
            ahead = span(text)
            return _now() + ahead
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError):
        raise Invalid(
            f"{text[:80]!r} is not a time", hint="use '2026-11-16 09:00', or +30m, +2h, +1d"
        ) from None


def _now() -> datetime:
    """The fleet's time, the same throughout one command."""
    known = click.get_current_context().meta
    if __name__ not in known:
        known[__name__] = look(lambda fleet: fleet.now())
    now: datetime = known[__name__]
    return now


def span(text: str) -> timedelta:
    """A duration such as `30d` or `12h`."""
    try:
        if found := SPAN.fullmatch(text.strip()):
            long = timedelta(**{UNITS[found[2]]: float(found[1])})
            if long <= LONGEST:
                return long
    except OverflowError:
        pass
    raise Invalid(f"{text[:80]!r} is not a duration", hint="use 90m, 12h, 30d or 8w")
