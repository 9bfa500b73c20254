"""Times as people type them: a date and time, or a duration from now."""

import re
from datetime import datetime, timedelta

from codefleet.domain.errors import Invalid

UNITS = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
SPAN = re.compile(r"\+?\s*(\d+(?:\.\d+)?)\s*(s|min|m|h|d|w)")

LONGEST = timedelta(days=100_000)
"""`datetime` ends not much further away from now."""


def moment(text: str, now: datetime) -> datetime:
    """`2026-11-16 09:00` in local time, an ISO time with its zone, `+2h` or `-7d`."""
    try:
        if text.strip().startswith("+"):
            return now + span(text)
        if text.strip().startswith("-"):
            return now - span(text.strip()[1:])
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError):
        raise Invalid(
            f"{text[:80]!r} is not a time", hint="use '2026-11-16 09:00', or +30m, +2h, +1d"
        ) from None


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
