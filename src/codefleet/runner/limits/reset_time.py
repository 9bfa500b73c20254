"""When a limit resets, parsed from a program's message.

Programs print that moment for people: "try again at 8:32 PM", "resets Nov 17, 3am (UTC)",
"try again in 3 days 4 hours", "will reset after 5h3m12s". A time without a zone is local time.
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

LONGEST = timedelta(days=366)
JUST_NOW = timedelta(minutes=10)
"""A time of day that passed no longer ago than this is today's: programs round to the minute."""

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
AMOUNT = r"\d{1,6}(?:\.\d+)? ?(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b"
AMOUNTS = rf"{AMOUNT}(?:,? ?(?:and )?{AMOUNT})*"
JOINED = r"(?:\d{1,6}(?:\.\d+)?[dhms])+\b"
DURATION = re.compile(rf"\b(?:in|after) ({JOINED}|{AMOUNTS})", re.IGNORECASE)
PART = re.compile(r"(\d+(?:\.\d+)?) ?([dhms])", re.IGNORECASE)

MOMENT = re.compile(
    r"\b(?:at|resets?(?: at| on)?|until)\s+"
    r"(?:(?P<month>[A-Z][a-z]{2})[a-z]*\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?,?"
    r"(?: (?P<year>\d{4}),?)?(?: at)? )?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>[AaPp])\.?[Mm]\b\.?"
    r"(?: ?\((?P<zone>[A-Za-z0-9_+/-]{1,40})\))?"
)
ISO = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)")


def reset_time(words: str, said_at: datetime) -> datetime | None:
    """The moment named in a message printed at `said_at`; None if it names none."""
    found = _iso(words) or _moment(words, said_at) or _duration(words, said_at)
    return min(found, said_at + LONGEST).astimezone(UTC) if found else None


def _iso(words: str) -> datetime | None:
    found = ISO.search(words)
    try:
        return datetime.fromisoformat(found[0]) if found else None
    except ValueError:
        return None


def _duration(words: str, said_at: datetime) -> datetime | None:
    found = DURATION.search(words)
    if not found:
        return None
    parts = {UNITS[unit.lower()]: float(number) for number, unit in PART.findall(found[1])}
    length = timedelta(**parts)
    return said_at + min(length, LONGEST)


def _moment(words: str, said_at: datetime) -> datetime | None:
    for found in MOMENT.finditer(words):
        try:
            return _next(found, said_at.astimezone(_zone(found["zone"])))
        except (ValueError, OverflowError):
            continue  # such as the 77th, or a quarter to 13 PM
    return None


def _zone(name: str | None) -> tzinfo | None:
    """The zone with this name; None, for local time, if there is none."""
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, KeyError):
        return None


def _next(found: re.Match[str], said_at: datetime) -> datetime:
    """The next time that a clock in that zone shows this: on the given date, today or tomorrow."""
    hour = _hour(int(found["hour"]), found["half"])
    clock = said_at.replace(tzinfo=None, minute=0, second=0, microsecond=0)
    clock = clock.replace(hour=hour, minute=int(found["minute"] or 0))
    if found["month"]:
        clock = _on_its_day(found, clock)
    elif clock < said_at.replace(tzinfo=None) - JUST_NOW:
        clock += timedelta(days=1)
    zone = said_at.tzinfo if found["zone"] else None
    return clock.replace(tzinfo=zone).astimezone(UTC)  # without a zone it is local time


def _hour(hour: int, half: str) -> int:
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    return hour % 12 + (12 if half in "Pp" else 0)


def _on_its_day(found: re.Match[str], clock: datetime) -> datetime:
    """The clock time on the given date; without a year, the next such date."""
    year = int(found["year"] or clock.year)
    month = MONTHS.index(found["month"]) + 1
    day = clock.replace(year=year, month=month, day=int(found["day"]))
    is_over = not found["year"] and clock - day > timedelta(days=180)
    return day.replace(year=year + 1) if is_over else day
