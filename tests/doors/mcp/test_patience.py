"""An HTTP client that does not complete its request is disconnected; others are not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.server import ServerState

from codefleet.doors.mcp import patience

BOUND_S = 20.0


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond late, with the type of the last part of the request."""
    part: Message = {"more_body": True}
    parts = patience.bounded(receive)
    while part.get("more_body"):
        part = await parts()
    await asyncio.sleep(2 * patience.HEAD_S)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": part["type"].encode()})


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[int]:
    config = uvicorn.Config(app, http=patience.Impatient, log_level="error", lifespan="off")
    config.load()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: patience.Impatient(config, ServerState(), {}), "127.0.0.1", 0
    )
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
    monkeypatch.setattr(patience, "HEAD_S", 0.2)
    monkeypatch.setattr(patience, "BODY_S", 0.2)


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
