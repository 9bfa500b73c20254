"""What an agent's error response means. Structured values first, message text last.

Agents report a provider's trouble as JSON-RPC errors, each in its own way: an HTTP status as the
code (Gemini CLI), a kind (Claude), the name of an error (opencode), or a response body.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from codefleet.coders import trouble
from codefleet.coders.jsonl import Fields, parsed, text
from codefleet.domain.signals import Broke, Limited
from codefleet.domain.words import Reason

Line = dict[str, Any]

AUTH_REQUIRED = -32000
ANYTHING = 500
"""Gemini CLI's code for anything without a status: it may or may not be temporary."""
KINDS = {
    "authentication_failed": Reason.AUTH,
    "oauth_org_not_allowed": Reason.AUTH,
    "billing_error": Reason.QUOTA,
    "rate_limit": Reason.RATE_LIMIT,
    "overloaded": Reason.RATE_LIMIT,
    "overloaded_error": Reason.RATE_LIMIT,
    "server_error": Reason.CRASHED,
    "model_not_found": Reason.CODER_MISSING,
    "ProviderAuthError": Reason.AUTH,
    "ProviderModelNotFoundError": Reason.CODER_MISSING,
    "ContextOverflowError": Reason.CONTEXT_FULL,
    "context_length_exceeded": Reason.CONTEXT_FULL,
    "insufficient_quota": Reason.QUOTA,
    "invalid_api_key": Reason.AUTH,
}
WORDS = (
    *trouble.GOOGLE,
    (re.compile(r"prompt is too long: \d+ tokens"), Reason.CONTEXT_FULL),
    (re.compile(r"(?:API Error: )?(?:Prompt|Input) is too long\b"), Reason.CONTEXT_FULL),
    (re.compile(r"Your input exceeds the context window"), Reason.CONTEXT_FULL),
    (re.compile(r"You have exhausted your daily quota"), Reason.QUOTA),
)
"""Providers' messages, by how they begin."""


def line(code: object, message: str, data: object) -> Line:
    """The line for one error that ended a turn."""
    found = meaning(code, message, data)
    if isinstance(found, Limited):
        limit = {"type": "limit", "text": found.text}
        return {**limit, "quota": True} if found.quota else limit
    broke = {"type": "broke", "text": found.text, "reason": str(found.reason)}
    return {**broke, "passing": True} if found.passing else broke


def meaning(code: object, message: str, data: object) -> Broke | Limited:
    """What the error means to the fleet."""
    said, answer = _opened(text(message) or "the agent answered with an error")
    if code == AUTH_REQUIRED:
        return Broke(said, Reason.AUTH)
    tables = [*_tables(data), *_tables(answer)]
    reason = next((KINDS[kind] for kind in _kinds(tables) if kind in KINDS), None)
    reason = reason or next((reason for sentence, reason in WORDS if sentence.match(said)), None)
    if reason is Reason.RATE_LIMIT:
        return trouble.limited(said)
    if reason:
        return Broke(said, reason)
    if status := _status(_numbers(tables)):
        return trouble.of_status(status, said)
    if code == ANYTHING:
        return Broke(said, Reason.CRASHED)
    status = _status([code])
    return trouble.of_status(status, said) if status else Broke(said)


def _status(numbers: Iterable[object]) -> int | None:
    return next((n for n in numbers if isinstance(n, int) and 400 <= n < 600), None)


def _opened(message: str) -> tuple[str, Fields]:
    """The text of a message, and the provider's response if the message is one, as JSON."""
    message = message.removeprefix("Internal error: ")
    answer = parsed(message)
    match answer:
        case {"error": {"message": str(words)}} if words:
            return text(words), answer
    return message, answer


def _kinds(tables: Sequence[Fields]) -> Iterator[str]:
    for fields in tables:
        for name in ("errorKind", "errorName", "code", "type"):
            if isinstance(found := fields.get(name), str):
                yield found


def _numbers(tables: Sequence[Fields]) -> Iterator[object]:
    for fields in tables:
        yield from (fields.get(name) for name in ("statusCode", "status", "code"))


def _tables(data: object) -> Iterator[Fields]:
    """The data itself, and the provider's response if it contains one."""
    if isinstance(data, dict):
        yield data
        if isinstance(inner := data.get("error"), dict):
            yield inner
