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
"""Too many requests: ours, or everybody's, which overload the provider."""

USED_UP = re.compile(
    r"You.ve (?:hit|reached) your \b.{0,40}\blimit\b"
    r"|You have (?:exhausted|reached|hit) your\b"
    r"|You (?:have )?exceeded your current quota\b"
    r"|(?:Claude AI )?usage limit reached\b"
    r"|Quota exceeded\b"
    r"|The usage limit has been reached\b",
    re.IGNORECASE,
)
"""How providers' messages begin if a quota is used up, and it is not just a rate limit."""

GOOGLE = (
    (re.compile(r"The input token count .{0,40}exceeds the maximum"), Reason.CONTEXT_FULL),
    (re.compile(r"API key not valid"), Reason.AUTH),
    (re.compile(r"models/\S+ is not found\b"), Reason.CODER_MISSING),
    (re.compile(r"Requested entity was not found\b"), Reason.CODER_MISSING),
)
"""How errors of Google's models begin, for programs that pass on only the message."""

WRONG_CALL = re.compile(
    r"^(?:error: (?:unknown option|unexpected argument|invalid value) '|Unknown arguments?: ).*",
    re.MULTILINE,
)
"""How programs reject a flag that their version does not know."""


def of_status(status: int, text: str) -> Broke | Limited:
    """What an HTTP status that ended a run means. A server's own trouble is temporary."""
    if status in BE_PATIENT:
        return limited(text)
    if status >= 500:
        return Broke(text, Reason.CRASHED, passing=True)
    return Broke(text, REASONS.get(status, Reason.UNKNOWN))


def limited(text: str) -> Limited:
    """A refusal because of a limit; the provider's message shows if it is a usage limit."""
    return Limited(text, quota=bool(USED_UP.match(text)))


def of_the_call(stderr: str) -> Iterator[Signal]:
    """A program that refuses its own arguments will refuse them every time."""
    if found := WRONG_CALL.search(stderr):
        yield Broke(storable(found[0]).strip(), Reason.CODER_MISSING)


def last_words(stderr: str) -> str:
    """The end of a program's error output; pages of noise may precede it."""
    lines = [line.strip() for line in storable(stderr).splitlines() if line.strip()]
    return "\n".join(lines[-3:])
