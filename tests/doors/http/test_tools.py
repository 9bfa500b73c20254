"""The fleet's tools at the server's own address, for clients with a token."""

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, RunnerId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.fleet.tokens import token_of
from tests.doors.http.conftest import BOUND_S, Served

pytestmark = pytest.mark.slow

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def called(
    served: Served, token: str, tool: str, query: str = "", **given: object
) -> dict[str, object]:
    bearer = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=bearer, timeout=BOUND_S) as http,
        Client(streamable_http_client(f"{served.url}/mcp{query}", http_client=http)) as client,
    ):
        told = await client.call_tool(tool, given)
    assert not told.is_error, told
    assert isinstance(told.structured_content, dict)
    return told.structured_content


async def test_the_owner_commands_the_fleet_and_a_run_reports(served: Served, fleet: Fleet) -> None:
    await fleet.add([Draft(title="Paint")])
    backlog = await called(served, served.token, "search_backlog")
    assert backlog["counts"] == {"pending": 1}
    assert "agents" in await called(served, served.token, "team_status", "?toolsets=team")
    seat = Seat("agent-1", RunnerId("r-1"), "here", "scripted")
    (claim,) = await Dispatch(fleet).claim([seat], ClaimFilter())
    token = token_of(claim.run.id, fleet.home)
    assert await called(served, token, "report_progress", text="half way") == {"reported": True}
    (told,) = [event for event in await fleet.events() if event.kind == "run.progress"]
    assert (told.run, told.by) == (claim.run.id, f"run {claim.run.id}")


async def test_a_stranger_or_a_foreign_page_learns_nothing(served: Served) -> None:
    url = f"{served.url}/mcp"
    assert httpx2.post(url, json=PING).status_code == 401
    wrong = {"Authorization": "Bearer wrong"}
    assert httpx2.post(url, json=PING, headers=wrong).status_code == 401
    foreign = {**served.owner, "Origin": "http://evil.example"}
    assert httpx2.post(url, json=PING, headers=foreign).status_code == 403
    elsewhere = {**served.owner, "Host": "evil.example"}
    assert httpx2.post(url, json=PING, headers=elsewhere).status_code == 421
