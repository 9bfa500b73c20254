"""An agent program as far as its tools go: it takes them like Claude Code, uses one, and waits.

    python -I -S tool_user.py --mcp-config=FILE_OR_JSON ...

With a server over HTTP it sends requests, with any other it starts the server and talks to it.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
CALLS: tuple[dict[str, Any], ...] = (
    {"id": 1, "method": "initialize", "params": HELLO},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
    {
        "id": 3,
        "method": "tools/call",
        "params": {"name": "report_progress", "arguments": {"text": "ready"}},
    },
)


def over_http(server: dict[str, Any]) -> None:
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    for call in CALLS:
        body = json.dumps({"jsonrpc": "2.0", **call}).encode()
        asked = urllib.request.Request(server["url"], body, {**accept, **server["headers"]})
        with urllib.request.urlopen(asked) as answer:
            answer.read()


def over_stdio(server: dict[str, Any]) -> None:
    """The server stays alive as long as we do."""
    own = subprocess.Popen(
        [server["command"], *server["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert own.stdin
    assert own.stdout
    for call in CALLS:
        own.stdin.write(json.dumps({"jsonrpc": "2.0", **call}).encode() + b"\n")
        own.stdin.flush()
        if "id" in call:
            own.stdout.readline()


def main() -> None:
    (given,) = (word for word in sys.argv if word.startswith("--mcp-config="))
    config = given.partition("=")[2]
    if not config.startswith("{"):
        config = Path(config).read_text()
    server = json.loads(config)["mcpServers"]["fleet"]
    print('{"type": "system", "subtype": "init", "session_id": "s1"}', flush=True)
    (over_http if server["type"] == "http" else over_stdio)(server)
    while not Path(os.environ["BENCH_END"]).exists():
        time.sleep(0.2)


main()
