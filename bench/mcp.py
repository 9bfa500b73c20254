"""How long a client of the MCP server waits, compared with a bare server with one empty tool."""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from statistics import median

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from bench.row import Row

BARE = """\
from mcp.server.mcpserver import MCPServer
server = MCPServer("bare", log_level="ERROR")
@server.tool()
async def nothing() -> dict[str, int]:
    return {}
server.run()
"""


def measure(quick: bool) -> list[Row]:
    """Start and call, alternating."""
    return asyncio.run(_measure(3 if quick else 10, 100 if quick else 500))


async def _measure(rounds: int, calls: int) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as home:
        env = {
            **os.environ,
            "FLEET_HOME": home,
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": f"{home}/bytecode",
        }
        ours = _server(env, "-m", "codefleet", "mcp")
        raw = _server(env, "-c", BARE)
        starts = [(await _started(ours), await _started(raw)) for _ in range(1 + rounds)][1:]
        ours_call = await _called(ours, "list_workers", calls)
        raw_call = await _called(raw, "nothing", calls)
    first, second = (median(column) for column in zip(*starts, strict=True))
    return [
        Row("MCP server from cold to its first answer", first, second, "ms", 1.5),
        Row("MCP call and answer, an empty fleet", ours_call, raw_call, "ms", 2),
    ]


def _server(env: Mapping[str, str], *args: str) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=list(args), env=dict(env))


async def _started(server: StdioServerParameters) -> float:
    """Milliseconds until the tools are listed."""
    began = time.perf_counter()
    async with Client(stdio_client(server)) as client:
        await client.list_tools()
        return (time.perf_counter() - began) * 1000


async def _called(server: StdioServerParameters, tool: str, times: int) -> float:
    taken = []
    async with Client(stdio_client(server)) as client:
        for _ in range(times):
            began = time.perf_counter()
            told = await client.call_tool(tool, {})
            taken.append((time.perf_counter() - began) * 1000)
            assert not told.is_error
    return median(taken)
