"""The server over HTTP: only with the token, only under its own host name."""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.doors.mcp.conftest import BOUND_S

pytestmark = pytest.mark.slow


class Served(NamedTuple):
    url: str
    token: str


def started() -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "codefleet", "mcp", "--http"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
async def served(home: Path) -> AsyncIterator[Served]:
    process = started()
    assert process.stderr
    said = await asyncio.wait_for(asyncio.to_thread(process.stderr.readline), BOUND_S)
    found = re.search(r"(http://127\.0\.0\.1:\d+/mcp); the token is in (.*)", said)
    assert found, said
    yield Served(found[1], Path(found[2]).read_text())
    process.terminate()
    out, _ = await asyncio.to_thread(process.communicate)
    assert out == ""


def called(served: Served, **headers: str) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    return httpx2.post(served.url, json=body, headers={**accept, **headers})


async def test_a_client_with_the_token_is_served(served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(served.url, http_client=http)) as client,
    ):
        told = await client.call_tool("list_workers", {})
    assert told.structured_content
    assert told.structured_content["count"] == 0


async def test_others_are_refused(served: Served) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": served.token}):
        refused = await asyncio.to_thread(called, served, **headers)
        assert refused.status_code == 401
        assert refused.json()["detail"] == "this needs a valid token"


async def test_a_web_page_cannot_reach_us_even_with_the_token(served: Served) -> None:
    leave = {"Authorization": f"Bearer {served.token}"}
    elsewhere = await asyncio.to_thread(called, served, Host="evil.example", **leave)
    assert elsewhere.status_code == 421
    page = await asyncio.to_thread(called, served, Origin="http://evil.example", **leave)
    assert page.status_code == 403


async def test_the_token_is_for_the_owner_only(served: Served, home: Path) -> None:
    assert (home / "keys" / "owner.token").stat().st_mode & 0o777 == 0o600
