"""The log as a stream: complete, in order, from where a client stopped."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from codefleet.domain.model import Draft
from codefleet.doors.http.hub import Hub
from codefleet.doors.http.stream import LONGEST_QUEUE, Frame, Gap, Stream, Wanted
from codefleet.fleet import Fleet
from codefleet.runner.paths import Paths
from tests.doors.http.conftest import BOUND_S, Served, serving, until


async def events(response: httpx2.Response) -> AsyncIterator[tuple[str, str]]:
    """The kind and the data of each server-sent event."""
    kind = "message"
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, value
            kind = "message"


async def seqs(owner: httpx2.AsyncClient, many: int, **asked: str) -> list[int]:
    """The numbers of the first events of a stream."""
    found: list[int] = []
    headers = {"Accept": "text/event-stream", **asked}
    async with owner.stream("GET", "/events", headers=headers) as response:
        assert response.status_code == 200
        async for _, data in events(response):
            found.append(json.loads(data)["seq"])
            if len(found) == many:
                break
    return found


async def test_a_client_that_comes_back_misses_nothing_and_gets_nothing_twice(
    owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    await fleet.add([Draft(title=f"Part {number}") for number in range(4)])
    async with asyncio.timeout(BOUND_S):
        first = await seqs(owner, 3, **{"Last-Event-ID": "0"})
        await fleet.add([Draft(title="Late")])
        rest = await seqs(owner, 3, **{"Last-Event-ID": str(first[-1])})
    assert [*first, *rest] == [1, 2, 3, 4, 5, 6]


async def test_a_stream_can_be_narrowed_to_a_task_and_to_kinds(
    owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    one, two = await fleet.add([Draft(title="one"), Draft(title="two")])
    query = {"task": one.id[:6], "kinds": "task.edited", "after": "0"}
    headers = {"Accept": "text/event-stream"}
    async with (
        asyncio.timeout(BOUND_S),
        owner.stream("GET", "/events", params=query, headers=headers) as response,
    ):
        await fleet.edit(two.id, priority=5)
        await fleet.edit(one.id, priority=4)
        told = await anext(events(response))
    assert json.loads(told[1])["task"] == one.id


async def test_a_stream_can_be_narrowed_to_a_team(
    owner: httpx2.AsyncClient, served: Served, fleet: Fleet
) -> None:
    for name in ("ops", "web"):
        await fleet.create_team(name)
    await fleet.spawn("dup", "Look", team="ops")
    mine = await fleet.spawn("dup", "Look", team="web")
    query = {"team": "web", "kinds": "task.added", "after": "0"}
    headers = {"Accept": "text/event-stream"}
    async with (
        socket(served, **served.owner) as opened,
        owner.stream("GET", "/events", params=query, headers=headers) as response,
    ):
        said = {**query, "type": "subscribe", "kinds": ["task.added"], "after": 0}
        assert (await ask(opened, **said))["type"] == "subscribed"
        told = events(response)
        assert json.loads((await anext(told))[1])["task"] == mine.id
        assert json.loads(await opened.recv())["event"]["task"] == mine.id
        await fleet.spawn("late", "Look", team="ops")
        late = await fleet.spawn("late", "Look", team="web")
        assert json.loads((await anext(told))[1])["task"] == late.id
        assert json.loads(await opened.recv())["event"]["task"] == late.id
    page = await owner.get("/events", params=query)
    assert [each["task"] for each in page.json()] == [mine.id, late.id]
    assert (await owner.get("/events?team=nosuch", headers=headers)).status_code == 404


async def test_a_stream_of_what_does_not_exist_is_refused(owner: httpx2.AsyncClient) -> None:
    headers = {"Accept": "text/event-stream"}
    assert (await owner.get("/events?task=nosuch", headers=headers)).status_code == 404
    assert (await owner.get("/events?after=x", headers=headers)).status_code == 422
    unknown = await owner.get("/events?kind=x", headers=headers)
    assert (unknown.status_code, unknown.json()["detail"]) == (422, "unknown field `kind`")


async def test_a_server_that_stops_tells_its_streams_and_lets_them_end(
    owner: httpx2.AsyncClient, served: Served
) -> None:
    headers = {"Accept": "text/event-stream"}
    async with (
        asyncio.timeout(BOUND_S),
        owner.stream("GET", "/events?after=0", headers=headers) as response,
    ):
        told = events(response)
        await anext(told)
        served.process.terminate()
        assert [kind async for kind, _ in told][-1] == "drain"
    assert await asyncio.to_thread(served.process.wait, BOUND_S) == 0


async def test_a_client_that_does_not_keep_up_is_told_what_it_missed(fleet: Fleet) -> None:
    (task,) = await fleet.add([Draft(title="Greet")])
    (event,) = await fleet.events(task=task.id)
    stream = Stream(fleet, Wanted(), after=event.seq)
    parts = stream.parts()
    stream.wake()
    assert await anext(parts) == []  # a sign of life: it has read all there was
    for seq in range(event.seq + 1, event.seq + LONGEST_QUEUE + 11):
        stream.offer(Frame(event.evolve(seq=seq), b"", b""))
    gap, *rest = await anext(parts)
    assert gap == Gap(event.seq, event.seq + 10)
    assert [frame.event.seq for frame in rest if isinstance(frame, Frame)] == list(
        range(event.seq + 11, event.seq + LONGEST_QUEUE + 11)
    )


@asynccontextmanager
async def socket(served: Served, **headers: str) -> AsyncIterator[ClientConnection]:
    url = served.url.replace("http", "ws") + "/ws"
    async with asyncio.timeout(BOUND_S), connect(url, additional_headers=headers) as opened:
        yield opened


async def ask(opened: ClientConnection, **said: object) -> dict[str, object]:
    await opened.send(json.dumps(said))
    return dict(json.loads(await opened.recv()))


async def test_an_unexpected_error_in_the_log_is_recorded_and_ends_no_stream(
    home: Path, fleet: Fleet
) -> None:
    hub = Hub(fleet)
    await hub.start()
    stream = await hub.open(fleet, Wanted(kinds=["task.added"]), await fleet.last_seq())
    with sqlite3.connect(home / "fleet.db") as file:
        file.execute("INSERT INTO events (kind, body) VALUES ('odd', '{}')")
    await until(Paths(home).crash_log().exists)
    with sqlite3.connect(home / "fleet.db") as file:
        file.execute("DELETE FROM events WHERE kind = 'odd'")
    await fleet.add([Draft(title="Later")])
    async with asyncio.timeout(BOUND_S):
        ((told,),) = [parts async for parts in _first(stream)]
    assert isinstance(told, Frame)
    assert told.event.text == "Later"
    assert "DecodeError" in Paths(home).crash_log().read_text()
    await hub.close(stream)
    await hub.stop()


async def _first(stream: Stream) -> AsyncIterator[Sequence[Frame | Gap]]:
    """What a stream sends first."""
    async for parts in stream.parts():
        if parts:
            yield parts
            return


async def test_a_socket_gets_events_after_it_has_authenticated_and_subscribed(
    served: Served, fleet: Fleet
) -> None:
    (task,) = await fleet.add([Draft(title="Greet")])
    async with socket(served) as opened:
        assert await ask(opened, type="auth", token=served.token) == {"type": "authenticated"}
        assert await ask(opened, type="ping") == {"type": "pong"}
        assert (await ask(opened, type="subscribe", after=0))["type"] == "subscribed"
        seen = [json.loads(await opened.recv())["event"]["seq"] for _ in range(2)]
        await fleet.cancel(task.id)
        last = json.loads(await opened.recv())["event"]
    assert seen == [1, 2]
    assert (last["seq"], last["kind"]) == (3, "task.cancelled")


@pytest.mark.parametrize("said", [{"type": "auth", "token": "wrong"}, {"type": "subscribe"}, {}])
async def test_a_socket_without_a_token_gets_nothing_and_is_closed(
    served: Served, fleet: Fleet, said: dict[str, str]
) -> None:
    async with socket(served) as opened:
        assert (await ask(opened, **said))["type"] == "error"
        with pytest.raises(ConnectionClosed) as closed:
            await opened.recv()
    assert closed.value.rcvd
    assert closed.value.rcvd.code == 1008


async def test_a_socket_from_a_foreign_page_is_refused(served: Served) -> None:
    with pytest.raises(InvalidStatus):
        async with socket(served, Origin="http://evil.example"):
            pass


async def test_rubbish_on_a_socket_is_answered_with_an_error(served: Served) -> None:
    async with socket(served, **served.owner) as opened:
        for rubbish in ("{", "[]", '{"type": 7}', '{"type": "subscribe", "after": -1}'):
            await opened.send(rubbish)
            assert json.loads(await opened.recv())["type"] == "error"
        assert (await ask(opened, type="ping"))["type"] == "pong"


async def test_binary_messages_are_answered_with_an_error_and_no_traceback(
    home: Path, fleet: Fleet
) -> None:
    with serving(home) as server:
        async with socket(server) as stranger:
            await stranger.send(b"\x00")
            assert "must be text" in json.loads(await stranger.recv())["problem"]
            with pytest.raises(ConnectionClosed):
                await stranger.recv()
        async with socket(server, **server.owner) as opened:
            await opened.send(b"{}")
            assert "must be text" in json.loads(await opened.recv())["problem"]
            assert (await ask(opened, type="ping"))["type"] == "pong"
        server.process.terminate()
        assert server.process.stderr
        assert "Traceback" not in server.process.stderr.read()
