"""What the payloads share: moments in milliseconds, and the answer that something was done."""

from datetime import datetime

from codefleet.domain.noun import Noun


class Success(Noun, rename="camel"):
    """It was done."""

    success: bool = True
    handle: str


class Settled(Noun, rename="camel"):
    """It was done to what has this id."""

    success: bool = True
    id: str


def milliseconds(moment: datetime) -> int:
    """A moment as JavaScript counts it."""
    return int(moment.timestamp() * 1000)


def maybe_milliseconds(moment: datetime | None) -> int | None:
    return milliseconds(moment) if moment else None
