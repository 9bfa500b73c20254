"""The run's own MCP server, as agent programs are configured for it."""

import json
from collections.abc import Sequence

from codefleet.coder import Endpoint

NAME = "fleet"
FILE = "mcp.json"
URL, TOKEN = "FLEET_TOOLS_URL", "FLEET_RUN_TOKEN"
"""The variables with the server's address and the run's token, for programs that read them."""
STARTS_WITHIN_S = 60
ANSWERS_WITHIN_S = 24 * 3600
"""A human may take long to answer; the server itself gives up much sooner."""


def as_json(tools: Sequence[str]) -> str:
    """The server in the format that many programs share; empty if there is none."""
    if not tools:
        return ""
    return _servers({"type": "stdio", "command": tools[0], "args": list(tools[1:])})


def over_http(endpoint: Endpoint) -> str:
    """The same for a server that is reached over HTTP. It contains the token."""
    return _servers({"type": "http", "url": endpoint.url, "headers": headers(endpoint)})


def headers(endpoint: Endpoint) -> dict[str, str]:
    """What every request to the server must carry."""
    return {"Authorization": f"Bearer {endpoint.token}"}


def token_variable(endpoint: Endpoint | None) -> dict[str, str]:
    """The variable with the token; none without an endpoint."""
    return {TOKEN: endpoint.token} if endpoint else {}


def _servers(own: dict[str, object]) -> str:
    return json.dumps({"mcpServers": {NAME: own}})
