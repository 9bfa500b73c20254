"""A server as clients start it, and cleanup of every runner that it started."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from codefleet.domain.model import Runner
from codefleet.runner.process.custody import Process
from codefleet.wiring import open_fleet
from tests.gitrepo import SampleRepo, make_repo
from tests.script import script

BOUND_S = 60.0


class Caller:
    """A client with short calls."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        told = await self.client.call_tool(tool, arguments)
        assert not told.is_error, told
        assert isinstance(told.structured_content, dict)
        return told.structured_content

    async def worker(self, repo: SampleRepo, *steps: str, **more: Any) -> str:
        """A worker that follows these steps; returns its id."""
        given = {"repo_path": str(repo.path), "task_name": "Greet", "prompt": script(*steps)}
        made = await self("create_worker", **{**given, **more})
        assert made["status"] == "pending"
        return str(made["worker_id"])

    async def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must refuse, in the core's words."""
        told = await self.client.call_tool(tool, arguments)
        assert told.is_error, told
        assert isinstance(told.structured_content, dict)
        assert set(told.structured_content) == {"code", "problem", "hint"}
        return told.structured_content


def server(*args: str, **env: str) -> StdioServerParameters:
    """How a client starts our server."""
    return StdioServerParameters(
        command=sys.executable, args=["-m", "codefleet", "mcp", *args], env={**os.environ, **env}
    )


@asynccontextmanager
async def connected(*args: str, **env: str) -> AsyncIterator[Caller]:
    """A client with a server of its own."""
    async with Client(stdio_client(server(*args, **env))) as client:
        yield Caller(client)


@pytest.fixture
async def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Path]:
    folder = tmp_path / "home"
    monkeypatch.setenv("FLEET_IDLE_S", "0.2")
    monkeypatch.setenv("FLEET_DURABILITY", "normal")
    monkeypatch.setenv("FLEET_GRACE_S", "1")
    yield folder
    if folder.exists():
        await end_runners(folder)


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    return make_repo(tmp_path / "shop", {"README.md": "A shop.\n"})


async def end_runners(home: Path) -> None:
    async with open_fleet(home, create=True) as fleet:
        for runner in await fleet.core.store.records(Runner):
            process = Process(runner.pid, int(runner.pid_started))
            process.send(signal.SIGTERM)
            await asyncio.wait_for(process.ended(), BOUND_S)
