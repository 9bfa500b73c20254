"""What goes wrong between an agent program and its provider, as signals."""

import re
from collections.abc import Iterator

from codefleet.coders.jsonl import text as storable
from codefleet.domain.signals import Broke, Limited, Signal
from codefleet.domain.words import Reason

REASONS = {
    400: Reason.UNKNOWN,
    401: Reason.AUTH,
    402: Reason.QUOTA,
    403: Reason.AUTH,
    404: Reason.CODER_MISSING,  # no such model, or no such service at that address
    408: Reason.CRASHED,
    413: Reason.CONTEXT_FULL,
}
BE_PATIENT = (429, 529)
"""Too many requests: of ours, or of everybody's, which overload the provider."""

WRONG_CALL = re.compile(
    r"^(?:error: (?:unknown option|unexpected argument|invalid value) '|Unknown arguments?: ).*",
    re.MULTILINE,
)
"""How programs complain about a flag that their version does not know."""


def of_status(status: int, text: str) -> Broke | Limited:
    """What an HTTP status that ended a run means. A server's own trouble passes."""
    if status in BE_PATIENT:
        return Limited(text)
    if status >= 500:
        return Broke(text, Reason.CRASHED, passing=True)
    return Broke(text, REASONS.get(status, Reason.UNKNOWN))


def of_the_call(stderr: str) -> Iterator[Signal]:
    """A program that refuses its own arguments will refuse them every time."""
    if found := WRONG_CALL.search(stderr):
        yield Broke(storable(found[0]).strip(), Reason.CODER_MISSING)


def last_words(stderr: str) -> str:
    """The end of what a program complained about; before it may stand pages of noise."""
    lines = [line.strip() for line in storable(stderr).splitlines() if line.strip()]
    return "\n".join(lines[-3:])
