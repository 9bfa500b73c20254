"""Our MCP server and the clients that others build on: the TypeScript SDK and the inspector."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.doors.mcp.conftest import end_runners
from tests.gitrepo import SampleRepo
from tests.programs.conftest import FIRST_TIME_S, at_hand
from tests.script import script

pytestmark = [pytest.mark.slow, pytest.mark.programs, pytest.mark.timeout(FIRST_TIME_S)]

SCRIPT = Path(__file__).with_name("client.mjs")
SERVER = (sys.executable, "-m", "codefleet", "mcp")


@pytest.fixture
async def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Path]:
    folder = tmp_path / "home"
    monkeypatch.setenv("FLEET_HOME", str(folder))
    monkeypatch.setenv("FLEET_IDLE_S", "0.2")
    monkeypatch.setenv("FLEET_DURABILITY", "normal")
    yield folder
    await end_runners(folder)


async def said(*argv: str) -> Any:
    """What a program prints as JSON."""
    done = await asyncio.to_thread(
        subprocess.run,
        argv,
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


async def test_the_client_of_the_typescript_sdk_starts_a_worker_waits_and_reads_what_came_of_it(
    home: Path, repo: SampleRepo
) -> None:
    sdk = at_hand("mcp-sdk")
    steps = script("write hello.txt hi")
    seen = await said("node", str(SCRIPT), str(sdk), sys.executable, str(repo.path), steps)
    assert len(seen["tools"]) == 37
    assert (seen["settled"], seen["status"], seen["refused"]) == (True, "succeeded", True)
    assert seen["progress"] > 0
    assert "+hi" in seen["diff"]
    assert seen["why"]["problem"] == "no task nobody"
    assert seen["prompts"] == ["plan_this", "review_what_landed", "what_needs_me"]


async def test_the_inspector_lists_the_tools_and_calls_one(home: Path, repo: SampleRepo) -> None:
    # Named as an argument: the inspector passes hardly any variables on to the server.
    server = (sys.executable, "-m", "codefleet", f"--home={home}", "mcp")
    inspector = (str(at_hand("mcp-inspector")), "--cli", *server)
    listed = await said(*inspector, "--method", "tools/list")
    assert {"create_worker", "create_workflow", "create_task"} <= {
        tool["name"] for tool in listed["tools"]
    }
    called = ("--method", "tools/call", "--tool-name", "create_task")
    tasks = json.dumps([{"title": "Greet", "prompt": script("write hello.txt hi")}])
    where = ("--tool-arg", f"repo_path={repo.path}")
    told = await said(*inspector, *called, "--tool-arg", f"tasks={tasks}", *where)
    assert [task["title"] for task in told["structuredContent"]["tasks"]] == ["Greet"]
