"""An HTTP client that does not complete its request is disconnected; others are not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.server import ServerState
from websockets.asyncio.client import connect

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.doors import network

BOUND_S = 60.0


class Watched(network.Impatient):
    """Tells when it would hang up on a client that had not sent its request."""

    lost_patience = asyncio.Event()

    def _hang_up(self) -> None:
        super()._hang_up()
        self.lost_patience.set()


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond late, with the type of the last part of the request."""
    part: Message = {"more_body": True}
    parts = network.bounded(receive)
    while part.get("more_body"):
        part = await parts()
    async with asyncio.timeout(BOUND_S):
        await Watched.lost_patience.wait()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": part["type"].encode()})


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[int]:
    config = uvicorn.Config(app, http=Watched, log_level="error", lifespan="off")
    config.load()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Watched(config, ServerState(), {}), "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def heard(port: int, *said: bytes, every: float = 0.0) -> bytes:
    """Everything received until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in said:
            writer.write(part)
            await asyncio.sleep(every)
            if reader.at_eof():
                break
        return await asyncio.wait_for(reader.read(), BOUND_S)
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "HEAD_S", 0.2)
    monkeypatch.setattr(network, "BODY_S", 0.2)
    monkeypatch.setattr(Watched, "lost_patience", asyncio.Event())


@pytest.mark.parametrize("said", [b"", b"POST /mcp HTTP/1.1\r\nHost: x\r\n"])
async def test_a_connection_without_a_whole_request_is_closed(said: bytes) -> None:
    async with serving(answer) as port:
        assert await heard(port, said) == b""


async def test_a_request_that_comes_in_drops_is_cut_off() -> None:
    async with serving(answer) as port:
        assert await heard(port, *[b"G"] * 12, every=0.05) == b""


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"
    async with serving(answer) as port:
        assert b"http.disconnect" in await heard(port, head)


async def test_an_answer_may_take_its_time() -> None:
    async with serving(answer) as port:
        said = await heard(port, b"GET /mcp HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert b"http.request" in said


async def test_an_open_socket_is_not_taken_for_a_request_that_does_not_come() -> None:
    async def echo(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while (said := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": said["text"]})

    async with serving(echo) as port, connect(f"ws://127.0.0.1:{port}") as socket:
        assert await heard(port) == b""  # a later connection has been closed
        await socket.send("Still there?")
        assert await asyncio.wait_for(socket.recv(), BOUND_S) == "Still there?"


def test_an_address_that_another_has_taken_is_refused_in_a_sentence() -> None:
    with network.listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(WorkspaceTrouble, match=f"cannot listen on 127.0.0.1:{port}"):
            network.listen("127.0.0.1", port)
