"""What a fleet at a distance cannot do, and how it says so."""

from collections.abc import Awaitable, Callable
from typing import Any

from codefleet.domain.errors import Refused

ONLY_THERE = {
    "with_token": "check a token",
    **dict.fromkeys(("sign_in_code", "with_code"), "sign a browser in"),
    **dict.fromkeys(("session", "with_session"), "open a session"),
    "load": "import a fleet",
    "forget": "reset a fleet",
    "rotate_keys": "rotate keys",
    "forget_receipts": "remove receipts",
    **dict.fromkeys(("message", "read_post"), "read a single message or post"),
    **dict.fromkeys(("invite_again", "token_again"), "tell a secret again"),
    "join": "join a team; send POST /auth instead",
}
"""Verbs of a fleet that no server offers, in words."""


def refused(what: str) -> Callable[..., Awaitable[Any]]:
    """A verb that refuses."""

    async def verb(self: object, *args: Any, **named: Any) -> Any:
        raise only_there(what)

    return verb


def only_there(what: str) -> Refused:
    """The error for what only the machine of the fleet can do."""
    return Refused(
        f"a fleet at a distance cannot {what}", hint="do it on the machine where the fleet is"
    )
