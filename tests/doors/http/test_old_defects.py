"""What team servers have been broken by before: each is tried here, at every way in."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from websockets.exceptions import ConnectionClosed

from codefleet.api.table import OPERATIONS
from codefleet.domain.errors import Unauthenticated
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, RunnerId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import Role
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.fleet.team_tokens import Issued
from codefleet.fleet.tokens import token_of
from codefleet.ports import TaskQuery
from tests.doors.http.conftest import API, BOUND_S, Served, serving
from tests.doors.http.role_cells import CELLS
from tests.doors.http.test_role_matrix import Member, names_of, sent
from tests.doors.http.test_rude_clients import connected
from tests.doors.http.test_streams import ask, events, socket
from tests.gitrepo import SampleRepo
from tests.script import script
from tests.stories.teams import fill

EVIL = "http://evil.example"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
WAYS_IN = ("/health", "/openapi.json", "/metrics", f"{API}/status", f"{API}/events", "/mcp")
MB = 1024 * 1024


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
async def ann(fleet: Fleet) -> Issued:
    await fleet.create_team("web")
    return await fleet.create_token("web", "ann", Role.TEAM_LEAD)


async def upgrade(served: Served, **headers: str) -> bytes:
    """The first line of the answer to whoever asks for a WebSocket with these headers."""
    key = base64.b64encode(os.urandom(16)).decode()
    usual = {
        "Host": served.url.removeprefix("http://"),
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
    }
    lines = [f"{name}: {value}" for name, value in {**usual, **served.owner, **headers}.items()]
    asked = "\r\n".join(("GET /ws HTTP/1.1", *lines, "", "")).encode()
    async with asyncio.timeout(BOUND_S), connected(served, asked) as (reader, _):
        return (await reader.readline()).strip()


async def test_nobody_gets_a_role_without_a_secret(fleet: Fleet, ann: Issued) -> None:
    _, secret = await fleet.invite("web", Role.WORKER)
    for wrong in ("", "wrong", secret[:-1], secret.upper(), ann.token.id):
        with pytest.raises(Unauthenticated):
            await fleet.join("web", "eve", wrong)
    assert (await fleet.join("web", "eve", secret)).token.role == Role.WORKER


async def test_no_way_in_answers_a_stranger_but_that_it_is_alive(served: Served) -> None:
    async with httpx2.AsyncClient(base_url=served.url, timeout=BOUND_S) as stranger:
        told = {path: (await stranger.get(path)).status_code for path in WAYS_IN}
        stream = await stranger.get(f"{API}/events", headers={"Accept": "text/event-stream"})
        asked = await stranger.post("/mcp", json=PING)
    open_to_all = {path for path, status in told.items() if status != 401}
    assert open_to_all == {"/health", "/openapi.json"}
    assert (stream.status_code, asked.status_code) == (401, 401)


async def test_a_strangers_socket_hears_nothing_of_what_happens(
    served: Served, fleet: Fleet
) -> None:
    async with socket(served) as opened:
        await fleet.add([Draft(title="Secret")])
        await opened.send(json.dumps({"type": "subscribe", "after": 0}))
        heard = [str(text) async for text in _until_closed(opened)]
    assert ["Secret" in text for text in heard] == [False]
    assert json.loads(heard[0])["code"] == "unauthenticated"


async def _until_closed(opened: object) -> AsyncIterator[str]:
    try:
        async for text in opened:  # type: ignore[attr-defined]
            yield text
    except ConnectionClosed:
        return


async def test_a_foreign_page_or_name_is_refused_at_every_way_in(served: Served) -> None:
    own = served.url.removeprefix("http://")
    foreign = (
        *(({"Host": host}, 421) for host in ("evil.example", f"evil.example@{own}", "")),
        *(({"Origin": origin}, 403) for origin in (EVIL, "null", f"{served.url}.evil.example")),
    )
    for headers, status in foreign:
        assert await upgrade(served, **headers) == b"HTTP/1.1 403 Forbidden", headers
        async with httpx2.AsyncClient(base_url=served.url, headers=served.owner) as client:
            for path in WAYS_IN:
                assert (await client.get(path, headers=headers)).status_code == status, path
            asked = await client.post("/mcp", json=PING, headers=headers)
        assert asked.status_code == status
    assert await upgrade(served) == b"HTTP/1.1 101 Switching Protocols"
    assert await upgrade(served, Origin=served.url) == b"HTTP/1.1 101 Switching Protocols"


FORMS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "")


@pytest.mark.parametrize("kind", FORMS)
async def test_what_a_form_of_a_web_page_can_send_changes_nothing(
    served: Served, fleet: Fleet, kind: str
) -> None:
    call = {"name": "create_task", "arguments": {"tasks": [{"title": "Evil"}]}}
    tool = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": kind}
    async with httpx2.AsyncClient(base_url=served.url, timeout=BOUND_S) as client:
        for headers in ({}, served.owner):
            told = {**headers, **accept}
            draft = await client.post(f"{API}/tasks", content=b'[{"title":"Evil"}]', headers=told)
            called = await client.post("/mcp", content=json.dumps(tool), headers=told)
            assert draft.status_code == (415 if headers else 401)
            assert called.status_code in ((400, 415) if headers else (401,))
    assert await fleet.list(TaskQuery()) == []


async def test_no_answer_lets_a_foreign_page_read_it(served: Served) -> None:
    preflight = {"Origin": EVIL, "Access-Control-Request-Method": "POST"}
    async with httpx2.AsyncClient(base_url=served.url, headers=served.owner) as client:
        answers = [
            await client.request(method, path, headers=more)
            for path in WAYS_IN
            for method, more in (("OPTIONS", preflight), ("OPTIONS", {}), ("GET", {}))
        ]
    shared = [name for each in answers for name in each.headers if "access-control" in name]
    assert shared == []
    assert {each.status_code for each in answers if each.request.method == "OPTIONS"} <= {403, 405}


async def test_nothing_of_another_team_is_read_or_changed_over_http(
    served: Served, fleet: Fleet
) -> None:
    work = await fill(fleet, "web")
    await fill(fleet, "ops")
    eve = Member(
        Role.TEAM_LEAD,
        (await fleet.create_token("ops", "eve", Role.TEAM_LEAD)).text,
        {**names_of(work), "team": "web", "folder": "/srv", "worker": "scout-web"},
    )
    before = [event.seq for event in await fleet.events() if event.data.get("team") == "web"]
    with httpx2.Client(base_url=served.url + API, headers=eve.headers, timeout=BOUND_S) as client:
        for operation in OPERATIONS:
            cell = CELLS[operation.name]
            answer = sent(client, operation, eve.filled(dict(cell.said)))
            assert "of web" not in answer.text, operation.name
            if any(name in operation.in_path for name in ("ref", "task", "team", "swarm")):
                assert answer.status_code in (403, 404), operation.name
    after = [event.seq for event in await fleet.events() if event.data.get("team") == "web"]
    assert after == before


async def test_a_socket_cannot_follow_a_task_of_another_team(served: Served, fleet: Fleet) -> None:
    work = await fill(fleet, "web")
    await fleet.create_team("ops")
    eve = await fleet.create_token("ops", "eve", Role.TEAM_LEAD)
    async with socket(served, **bearer(eve.text)) as opened:
        told = await ask(opened, type="subscribe", task=work.running.id, after=0)
    assert (told["type"], told["code"]) == ("error", "not_found")


async def test_a_worker_cannot_stop_the_fleet(served: Served, fleet: Fleet, ann: Issued) -> None:
    bob = await fleet.create_token("web", "bob", Role.WORKER)
    stops = [*(("POST", path) for path in ("/pause", "/gc", "/events/archive", "/rests/x/wake"))]
    stops += [("DELETE", "/teams/web"), ("DELETE", f"/tokens/{ann.token.id}")]
    with httpx2.Client(base_url=served.url + API, headers=bearer(bob.text)) as client:
        for method, path in stops:
            said = {"older_than": "1d"} if path == "/events/archive" else {}
            assert client.request(method, path, json=said).status_code == 403, path
    assert not (await fleet.status()).paused


async def test_bodies_and_messages_have_a_limit_at_every_way_in(
    served: Served, fleet: Fleet
) -> None:
    large = b'{"x": "' + b"y" * (17 * MB) + b'"}'
    headers = {**served.owner, "Content-Type": "application/json"}
    async with httpx2.AsyncClient(base_url=served.url, headers=headers, timeout=BOUND_S) as client:
        for path in (f"{API}/tasks", "/mcp"):
            assert (await client.post(path, content=large)).status_code == 413, path
        long_path = await client.get(f"{API}/tasks/{'x' * 60_000}")
        assert long_path.status_code in (400, 404, 414)
    async with socket(served, **served.owner) as opened:
        assert (await ask(opened, type="x" * 70_000))["type"] == "error"
        with pytest.raises(ConnectionClosed) as closed:
            await ask(opened, type="x" * (2 * MB))
    assert closed.value.rcvd
    assert closed.value.rcvd.code == 1009


@pytest.mark.parametrize("is_subscribed", [True, False])
async def test_a_socket_is_closed_when_its_token_is_revoked(
    served: Served, fleet: Fleet, ann: Issued, is_subscribed: bool
) -> None:
    async with socket(served, **bearer(ann.text)) as opened:
        if is_subscribed:
            await ask(opened, type="subscribe", after=await fleet.last_seq())
        else:
            assert (await ask(opened, type="ping"))["type"] == "pong"
        await fleet.revoke_token(ann.token.id)
        heard = [json.loads(text) async for text in _until_closed(opened)]
        assert opened.close_code == 1008
    assert [each["event"]["kind"] for each in heard] in ([], ["token.revoked"])


async def test_a_socket_whose_token_is_revoked_subscribes_to_nothing(
    served: Served, fleet: Fleet, ann: Issued
) -> None:
    async with socket(served, **bearer(ann.text)) as opened:
        assert (await ask(opened, type="ping"))["type"] == "pong"
        await fleet.revoke_token(ann.token.id)
        await opened.send(json.dumps({"type": "subscribe", "after": 0}))
        heard = [json.loads(text)["type"] async for text in _until_closed(opened)]
    assert heard in ([], ["error"])


async def test_a_stream_is_closed_when_its_token_is_revoked(
    served: Served, fleet: Fleet, ann: Issued
) -> None:
    asked = {**bearer(ann.text), "Accept": "text/event-stream", "Last-Event-ID": "0"}
    async with (
        asyncio.timeout(BOUND_S),
        httpx2.AsyncClient(headers=asked, timeout=BOUND_S) as client,
        client.stream("GET", f"{served.url}{API}/events") as response,
    ):
        told = events(response)
        await anext(told)
        await fleet.revoke_token(ann.token.id)
        kinds = [kind async for kind, _ in told]
    assert "drain" not in kinds, "it was told to come back"


async def test_a_socket_of_an_agent_is_closed_when_its_run_ends(
    served: Served, fleet: Fleet
) -> None:
    (task,) = await fleet.add([Draft(title="Paint")])
    seat = Seat("agent-1", RunnerId("r-1"), "here", "scripted")
    (claim,) = await Dispatch(fleet).claim([seat], ClaimFilter())
    async with socket(served, **bearer(token_of(claim.run.id, fleet.home))) as opened:
        assert (await ask(opened, type="ping"))["type"] == "pong"
        await Dispatch(fleet).release(claim.run, "over")
        assert [text async for text in _until_closed(opened)] == []
        assert opened.close_code == 1008
    assert task.id == claim.task.id


@pytest.mark.slow
async def test_shell_text_in_anything_that_can_be_said_is_only_text(
    home: Path, fleet: Fleet, ann: Issued, repo: SampleRepo, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    evil = f"$(touch {trap}) `touch {trap}`; touch {trap} '\" && touch {trap} | --upload-pack=x"
    bob = await fleet.create_token("web", "bob", Role.WORKER)
    prompt = script("write found.txt it", "say wrote", "wait until go")
    work = {
        "handle": "scout",
        "prompt": f"{evil}\n\n{prompt}",
        "title": evil[:200],
        "coder": "scripted",
    }
    with serving(home, "--agents=1") as server:
        async with httpx2.AsyncClient(base_url=server.url + API, timeout=BOUND_S) as client:
            lead, worker = bearer(ann.text), bearer(bob.text)
            spawned = await client.post("/workers", json=work, headers=lead)
            assert spawned.status_code == 201, spawned.text
            task = spawned.json()["id"]
            async with asyncio.timeout(BOUND_S):
                while not await fleet.events(task=task, kinds=["run.said"]):
                    await fleet.changed(await fleet.last_seq(), within=1)
            said = {"message": evil, "handle": "scout"}
            done = await client.post("/worktrees/commit", json=said, headers=worker)
            assert done.status_code == 200, done.text
            for path, body in (
                ("/mail", {"to": "scout", "text": evil}),
                (f"/tasks/{task}/messages", {"text": evil}),
            ):
                assert (await client.post(path, json=body, headers=worker)).status_code == 201
            for wrong in ({"handle": evil}, {"base": evil}, {"coder": evil}, {"repo": evil}):
                refused = await client.post("/workers", json={**work, **wrong}, headers=lead)
                assert refused.status_code in (404, 409, 422), refused.text
            (run,) = await fleet.runs_of(task)
            assert repo.git("log", "-1", "--format=%B", done.json()["commit"]).strip() == evil
            (Path(str(run.worktree)) / "go").touch()
            async with asyncio.timeout(BOUND_S):
                while not (await fleet.get(task)).state.is_final:
                    await fleet.changed(await fleet.last_seq(), within=1)
    assert not trap.exists()
