"""What is wanted of an agent besides its work; each is a flag of the bridge."""

from collections.abc import Sequence
from typing import NamedTuple


class Wish(NamedTuple):
    """What the user wants; nothing means that the agent's own choice is fine.

    `judged` are globs of the tools that the fleet wants to be asked about. Others are free.
    `server` is the call of an MCP server whose tools the agent shall have.
    """

    mode: str | None = None
    model: str | None = None
    auth: str | None = None
    resume: str | None = None
    judged: Sequence[str] = ()
    server: Sequence[str] = ()
