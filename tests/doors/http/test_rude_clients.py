"""Clients that do not read, do not finish, or send too much: nobody else notices."""

import asyncio
import json
import re
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import httpx2
import pytest

from codefleet.domain.events import event
from codefleet.doors.http.socket import AUTHENTICATE_S
from codefleet.doors.network import BODY_S, HEAD_S
from codefleet.fleet import Fleet
from codefleet.ports import Write
from tests.doors.http.conftest import BOUND_S, Served
from tests.doors.http.test_streams import ask, events
from tests.doors.http.test_streams import socket as open_socket

BATCHES, EACH = 16, 200
LONG = "x" * 8000
"""So long that what the system buffers for a client is soon full."""
CRAWLERS = 20
LATE_S = 10.0
CLOSING_S = 10.0
"""How long a client has to agree that its socket is closed."""

UPGRADE = (
    *("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)


class Form(NamedTuple):
    """How events look on the wire: the last one, the number of each, and the begin of a gap."""

    last: bytes
    number: bytes
    gap: bytes


IN_A_STREAM = Form(b"id: %d\n", rb"id: (\d+)\ndata: ", rb"event: gap\ndata: {")
IN_A_SOCKET = Form(b'"seq":%d,', rb'"seq":(\d+),', rb'{"type":"gap",')

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def address(served: Served) -> tuple[str, int]:
    url = httpx2.URL(served.url)
    assert url.port
    return url.host, url.port


@asynccontextmanager
async def connected(served: Served, sent: bytes) -> AsyncIterator[Connection]:
    """A connection on which this was sent."""
    reader, writer = await asyncio.open_connection(*address(served))
    writer.write(sent)
    await writer.drain()
    yield reader, writer
    writer.close()


def head(served: Served, method: str, path: str, *more: str) -> bytes:
    host, port = address(served)
    lines = (
        *(f"{method} {path} HTTP/1.1", f"Host: {host}:{port}"),
        *(f"Authorization: Bearer {served.token}", *more),
    )
    return "\r\n".join((*lines, "", "")).encode()


async def happen(fleet: Fleet, many: int) -> None:
    now = await fleet.now()
    told = [event("fleet.resumed", now, LONG) for _ in range(many)]
    await fleet.core.store.write(Write(events=told))


@pytest.mark.slow
async def test_a_client_that_does_not_read_slows_nobody_and_is_told_what_it_missed(
    served: Served, owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    begin = await fleet.last_seq()
    lazy = socket.create_connection(address(served))
    stream = ("Accept: text/event-stream", f"Last-Event-ID: {begin}", "Connection: close")
    lazy.sendall(head(served, "GET", "/api/v1/events", *stream))
    asked = {"Accept": "text/event-stream", "Last-Event-ID": str(begin)}
    async with owner.stream("GET", "/events", headers=asked) as response:
        told = events(response)
        seen: list[int] = []
        for _ in range(BATCHES):
            await happen(fleet, EACH)
            async with asyncio.timeout(BOUND_S):
                some = [await anext(told) for _ in range(EACH)]
            assert {kind for kind, _ in some} == {"message"}
            seen += [json.loads(data)["seq"] for _, data in some]
    end = begin + BATCHES * EACH
    assert seen == [*range(begin + 1, end + 1)]
    got, gaps = await asyncio.to_thread(_read_late, lazy, end)
    _assert_complete(got, gaps, seen)


@pytest.mark.slow
async def test_a_socket_that_does_not_read_slows_nobody_and_is_told_what_it_missed(
    served: Served, fleet: Fleet
) -> None:
    begin = await fleet.last_seq()
    lazy = socket.create_connection(address(served))
    lazy.sendall(head(served, "GET", "/ws", *UPGRADE))
    assert b"101 Switching" in lazy.recv(1 << 12)
    lazy.sendall(_frame({"type": "subscribe", "after": begin}))
    async with open_socket(served, **served.owner) as opened:
        await ask(opened, type="subscribe", after=begin)
        seen: list[int] = []
        for _ in range(BATCHES):
            await happen(fleet, EACH)
            some = [json.loads(await opened.recv()) for _ in range(EACH)]
            assert {each["type"] for each in some} == {"event"}
            seen += [each["event"]["seq"] for each in some]
    got, gaps = await asyncio.to_thread(_read_late, lazy, begin + BATCHES * EACH, IN_A_SOCKET)
    _assert_complete(got, gaps, seen)


def _frame(said: object) -> bytes:
    """A message as a client sends it, with a mask that changes nothing."""
    text = json.dumps(said).encode()
    return bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text


def _assert_complete(got: list[int], gaps: list[tuple[int, int]], seen: list[int]) -> None:
    """What a slow client got, and what it was told that it missed, is what others saw."""
    assert gaps, "the client was not slow enough"
    missed = [seq for after, until in gaps for seq in range(after + 1, until + 1)]
    assert sorted([*got, *missed]) == seen
    assert got == sorted(got)


def _read_late(
    lazy: socket.socket, end: int, form: Form | None = None
) -> tuple[list[int], list[tuple[int, int]]]:
    """Read all at last: the numbers of the events, and the gaps."""
    form = form or IN_A_STREAM
    text, last = bytearray(), form.last % end
    lazy.settimeout(BOUND_S)
    with lazy:
        while last not in text[-20_000:]:
            some = lazy.recv(1 << 16)
            assert some, "the server closed the connection"
            text += some
    gaps = re.findall(form.gap + rb'"after":(\d+),"until":(\d+)}', text)
    numbers = re.findall(form.number, text)
    return [*map(int, numbers)], [(int(after), int(until)) for after, until in gaps]


@pytest.mark.slow
async def test_connections_that_send_nothing_or_crawl_are_closed_and_hold_up_nobody(
    served: Served, owner: httpx2.AsyncClient
) -> None:
    half = b"POST /api/v1/tasks HTTP/1.1\r\nHost:"
    whole = head(
        *(served, "POST", "/api/v1/tasks"),
        *("Content-Type: application/json", "Content-Length: 100000"),
    )
    tool = head(served, "POST", "/mcp", "Content-Type: application/json", "Content-Length: 99")
    silent = head(served._replace(token=""), "GET", "/ws", *UPGRADE).replace(b"Authorization", b"X")
    async with asyncio.TaskGroup() as group:
        group.create_task(_assert_closed(served, tool, BODY_S, dribble=b" "))
        group.create_task(_assert_closed(served, silent, AUTHENTICATE_S + CLOSING_S))
        for _ in range(CRAWLERS):
            group.create_task(_assert_closed(served, b"", HEAD_S))
            group.create_task(_assert_closed(served, half, HEAD_S))
            group.create_task(_assert_closed(served, whole, BODY_S, dribble=b" "))
        for _ in range(20):
            began = time.monotonic()
            assert (await owner.get("/status")).status_code == 200
            assert time.monotonic() - began < LATE_S
    assert (await owner.get("/tasks")).json()["tasks"] == []


async def _assert_closed(
    served: Served, sent: bytes, within: float, *, dribble: bytes = b""
) -> None:
    """The server closes this connection in time, even if now and then a byte arrives."""
    async with asyncio.timeout(within + LATE_S), connected(served, sent) as (reader, writer):
        while True:
            try:
                async with asyncio.timeout(0.5):
                    if not await reader.read(65536):
                        return
            except TimeoutError:
                writer.write(dribble)
            except ConnectionError:
                return


async def test_a_megabyte_of_headers_is_refused(served: Served, owner: httpx2.AsyncClient) -> None:
    large = head(served, "GET", "/api/v1/status", *(f"X-{n}: {'y' * 1000}" for n in range(1000)))
    async with asyncio.timeout(BOUND_S), connected(served, b"") as (reader, writer):
        writer.write(large)
        try:
            answer = await reader.read(65536)
        except ConnectionError:  # it closed the connection before we had sent all
            answer = b""
        assert not answer or answer.startswith(b"HTTP/1.1 400")
    assert (await owner.get("/status")).status_code == 200


@pytest.mark.parametrize("deep", [500, 900, 5000])
async def test_deeply_nested_json_is_refused_in_words(
    served: Served, owner: httpx2.AsyncClient, fleet: Fleet, deep: int
) -> None:
    swarm = await fleet.create_swarm("hive")
    inside = '{"a":' * deep + "1" + "}" * deep
    asked = {
        "/api/v1/handoffs": f'{{"to":"bob","context":{inside}}}',
        f"/api/v1/swarms/{swarm.id}/posts": f'{{"type":"status","payload":{inside}}}',
        "/handoffs": f'{{"toHandle":"bob","context":{inside}}}',
    }
    for path, body in asked.items():
        headers = {"Content-Type": "application/json"}
        refused = await owner.post(served.url + path, content=body, headers=headers)
        assert refused.status_code == 422, (path, refused.text)
