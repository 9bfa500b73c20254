"""Two servers on two machines' homes, one PostgreSQL: clients move from one to the other."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from codefleet.domain.words import Role
from codefleet.fleet import Fleet
from codefleet.fleet.team_tokens import Issued
from codefleet.ports import TaskQuery
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests import postgres
from tests.doors.http.conftest import API, BOUND_S, Served, serving
from tests.gitrepo import make_repo
from tests.store.conftest import needs_postgres, postgres_server

pytestmark = [needs_postgres, pytest.mark.slow]
__all__ = ["postgres_server"]

EACH = 60
"""How many tasks are added through each server."""
KILLED_AFTER = 20
LAST = "The last"
STAY = 7
"""After how many events a reader moves on, though nothing is wrong."""
WITHIN_S = 90.0


class Servers(NamedTuple):
    """Both servers, the fleet beside them, and a lead whose token the first machine signed."""

    ada: Served
    bob: Served
    fleet: Fleet
    lead: Issued

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.lead.text}"}


Stream = Callable[[str, Servers, int], AsyncIterator[dict[str, Any]]]


@pytest.fixture
async def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Servers]:
    monkeypatch.setenv("FLEET_STORE", postgres.shared().fresh())
    shop = make_repo(tmp_path / "shop", {"README.md": "A shop.\n"})
    async with open_fleet(tmp_path / "ada", create=True) as fleet:
        await register(fleet, shop.path)
        await fleet.create_team("web")
        lead = await fleet.create_token("web", "ann", Role.TEAM_LEAD)
        with served(tmp_path / "ada") as ada, served(tmp_path / "bob") as bob:
            yield Servers(ada, bob, fleet, lead)


@contextmanager
def served(home: Path) -> Iterator[Served]:
    """A server on the machine with the name of this home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLEET_HOST", home.name)
        with serving(home) as made:
            yield made


async def add(servers: Servers, through: Served, titles: list[str]) -> None:
    """Add tasks through one server; what gets no answer is asked again at the other."""
    places = [through.url, servers.bob.url]
    async with httpx2.AsyncClient(headers=servers.headers, timeout=BOUND_S) as client:
        while titles:
            key = {"Idempotency-Key": titles[0]}
            url, drafts = f"{places[0]}{API}/tasks", [{"title": titles[0]}]
            try:
                answer = await client.post(url, json=drafts, headers=key)
            except httpx2.TransportError:
                places.pop(0)
                continue
            assert answer.status_code == 201, answer.text
            titles.pop(0)


async def sse(url: str, servers: Servers, after: int) -> AsyncIterator[dict[str, Any]]:
    """The events that a server sends, until it ends the stream or dies."""
    asked = {**servers.headers, "Accept": "text/event-stream", "Last-Event-ID": str(after)}
    try:
        async with (
            httpx2.AsyncClient(headers=asked, timeout=BOUND_S) as client,
            client.stream("GET", f"{url}{API}/events") as response,
        ):
            assert response.status_code == 200
            async for line in response.aiter_lines():
                assert line != "event: gap"
                if line.startswith('data: {"'):
                    yield json.loads(line[6:])
    except httpx2.TransportError:
        return


async def websocket(url: str, servers: Servers, after: int) -> AsyncIterator[dict[str, Any]]:
    """The same over a WebSocket."""
    address = url.replace("http", "ws") + "/ws"
    try:
        async with connect(address, additional_headers=servers.headers) as opened:
            await opened.send(json.dumps({"type": "subscribe", "after": after}))
            async for text in opened:
                said = json.loads(text)
                assert said["type"] in ("subscribed", "event"), said
                if said["type"] == "event":
                    yield said["event"]
    except (ConnectionClosed, InvalidHandshake, OSError):
        return


async def wander(servers: Servers, stream: Stream) -> list[int]:
    """Read at one server, then at the other, and so on; only the position goes along."""
    seen = [0]
    for url in cycle((servers.ada.url, servers.bob.url)):
        async with aclosing(stream(url, servers, seen[-1])) as events:  # type: ignore[type-var]
            stay = STAY
            async for event in events:
                seen.append(event["seq"])
                if event["text"] == LAST:
                    return seen[1:]
                stay -= 1
                if not stay:
                    break
    raise AssertionError("a cycle has no end")


async def test_clients_move_between_servers_without_gap_or_repeat_while_one_is_killed(
    servers: Servers,
) -> None:
    ours, theirs = ([f"{who} {n}" for n in range(EACH)] for who in ("ada", "bob"))
    async with asyncio.timeout(WITHIN_S):
        readers = [asyncio.create_task(wander(servers, each)) for each in (sse, websocket) * 3]
        writers = [
            asyncio.create_task(add(servers, servers.ada, ours)),
            asyncio.create_task(add(servers, servers.bob, theirs)),
        ]
        while len(ours) > EACH - KILLED_AFTER:
            await servers.fleet.changed(await servers.fleet.last_seq(), within=1.0)
        servers.ada.process.kill()
        await asyncio.gather(*writers)
        await add(servers, servers.bob, [LAST])
        seen = await asyncio.gather(*readers)
    member = await servers.fleet.with_token(servers.lead.text)
    log = [event.seq for event in await member.events()]
    assert seen == [log] * len(seen)
    titles = [task.title for task in await servers.fleet.list(TaskQuery(limit=1000))]
    wanted = [f"{who} {n}" for n in range(EACH) for who in ("ada", "bob")]
    assert sorted(titles) == sorted([*wanted, LAST])


async def test_a_token_of_one_server_is_valid_at_the_other_until_one_revokes_it(
    servers: Servers,
) -> None:
    begin = (await servers.fleet.last_seq()) - 1
    async with asyncio.timeout(WITHIN_S):
        streams = [each(servers.bob.url, servers, begin) for each in (sse, websocket)]
        for each in streams:
            await anext(each)
        async with httpx2.AsyncClient(timeout=BOUND_S) as client:
            url = f"{servers.ada.url}{API}/tokens/{servers.lead.token.id}"
            assert (await client.delete(url, headers=servers.ada.owner)).status_code == 200
            for each in streams:
                assert {event["kind"] async for event in each} <= {"token.revoked"}
            for server in (servers.ada, servers.bob):
                again = await client.get(f"{server.url}{API}/tasks", headers=servers.headers)
                assert again.status_code == 401
