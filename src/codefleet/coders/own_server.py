"""The run's own MCP server, as agent programs are configured for it."""

import json
from collections.abc import Sequence

NAME = "fleet"
STARTS_WITHIN_S = 60
ANSWERS_WITHIN_S = 24 * 3600
"""A human may take long to answer; the server itself gives up much sooner."""


def as_json(tools: Sequence[str]) -> str:
    """The server in the format that many programs share; empty if there is none."""
    if not tools:
        return ""
    server = {"type": "stdio", "command": tools[0], "args": list(tools[1:])}
    return json.dumps({"mcpServers": {NAME: server}})
