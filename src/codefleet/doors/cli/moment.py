"""Moments as people type them: a date and time, or a span from now."""

import re
from datetime import UTC, datetime, timedelta

from codefleet.domain.errors import Invalid

UNITS = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
SPAN = re.compile(r"\+\s*(\d+(?:\.\d+)?)\s*(s|min|m|h|d|w)")


def moment(text: str) -> datetime:
    """`2026-11-16 09:00` by the clock on the wall, an ISO time with its zone, or `+2h`."""
    try:
        if span := SPAN.fullmatch(text.strip()):
            return datetime.now(UTC) + timedelta(**{UNITS[span[2]]: float(span[1])})
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError):
        raise Invalid(
            f"{text[:80]!r} is not a moment", hint="say '2026-11-16 09:00', or +30m, +2h, +1d"
        ) from None
