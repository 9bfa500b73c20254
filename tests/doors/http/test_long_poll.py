"""Those who wait for news do not wait when the server stops, or once their token is revoked."""

import asyncio
import json
from time import monotonic

import httpx2

from codefleet.domain.model import Draft
from codefleet.domain.words import Role
from codefleet.doors.http.serve import DRAIN_S
from codefleet.fleet import Fleet
from tests.doors.http.conftest import API, BOUND_S, Served
from tests.doors.http.test_rude_clients import connected, head


async def test_a_server_that_stops_answers_those_who_wait_for_news(
    owner: httpx2.AsyncClient, served: Served, fleet: Fleet
) -> None:
    (task,) = await fleet.add([Draft(title="Greet")])
    path = f"/api/v1/events/changed?after={await fleet.last_seq()}&within=50"
    async with (
        asyncio.timeout(BOUND_S),
        connected(served, head(served, "GET", path)) as (reader, _),
        owner.stream("GET", f"/tasks/watch?refs={task.id}&within=50") as watching,
    ):
        lines = watching.aiter_lines()
        assert json.loads(await anext(lines))["settled"] is False
        served.process.terminate()
        began = monotonic()
        answer = await reader.read()
        assert [json.loads(line)["settled"] async for line in lines] == []
    assert (answer.split(b"\r\n")[0], answer[-5:]) == (b"HTTP/1.1 200 OK", b"false")
    assert await asyncio.to_thread(served.process.wait, BOUND_S) == 0
    assert monotonic() - began < DRAIN_S
    assert served.process.stderr
    assert "Traceback" not in served.process.stderr.read()


async def test_those_whose_token_is_revoked_wait_no_longer(served: Served, fleet: Fleet) -> None:
    await fleet.create_team("web")
    ann = await fleet.create_token("web", "ann", Role.TEAM_LEAD)
    (task,) = await fleet.add([Draft(title="Greet", team="web")])
    never = f"/events/changed?after={await fleet.last_seq() + 1000}&within=60"
    headers = {"Authorization": f"Bearer {ann.text}"}
    async with httpx2.AsyncClient(
        base_url=served.url + API, headers=headers, timeout=BOUND_S
    ) as client:
        polling = asyncio.create_task(client.get(never))
        async with client.stream("GET", f"/tasks/watch?refs={task.id}&within=60") as watching:
            lines = watching.aiter_lines()
            assert json.loads(await anext(lines))["settled"] is False
            await fleet.revoke_token(ann.token.id)
            assert [line async for line in lines] == []
        answer = await polling
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
