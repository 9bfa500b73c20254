"""What is wanted of an agent besides its work; each field is a flag of the bridge."""

from collections.abc import Sequence
from typing import NamedTuple


class Wish(NamedTuple):
    """What the user wants; None leaves the choice to the agent.

    `judged` are globs of the tools that the fleet wants to be asked about. Others are allowed.
    `server` is the command of an MCP server whose tools the agent gets. If the agent can reach one
    over HTTP, it gets the `endpoint` instead, with the `token`, which is not a flag.
    """

    mode: str | None = None
    model: str | None = None
    auth: str | None = None
    resume: str | None = None
    judged: Sequence[str] = ()
    server: Sequence[str] = ()
    endpoint: str | None = None
    token: str = ""
