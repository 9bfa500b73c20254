"""`fleet mcp --http` bounds its clients as the server does."""

import pytest
from starlette.types import Receive, Scope, Send

from codefleet.doors import network
from codefleet.doors.mcp_server import Guarded
from tests.doors.test_network import heard, serving

TOKEN = b"t" * 64


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": (await receive())["body"]})


async def told(length: int, sent: bytes, token: bytes = TOKEN) -> bytes:
    """What the server answers to a request with a body of this length, of which this is sent."""
    head = b"POST /mcp HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %b\r\n"
    said = head % token + b"Content-Length: %d\r\n\r\n" % length + sent
    async with serving(Guarded(answer, TOKEN, ["x"])) as port:
        return await heard(port, said)


async def test_a_whole_request_is_answered() -> None:
    assert b"ping" in await told(4, b"ping")


async def test_a_body_that_does_not_come_is_refused_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(network, "BODY_S", 0.2)
    refused = await told(99, b"half")
    assert refused.startswith(b"HTTP/1.1 408")
    assert b"the body did not arrive in time" in refused


async def test_a_body_that_is_too_large_is_refused_before_it_is_read() -> None:
    refused = await told(1 << 30, b"")
    assert refused.startswith(b"HTTP/1.1 413")
    assert b"at most 16 MB" in refused


async def test_a_stranger_learns_nothing() -> None:
    assert (await told(1 << 30, b"", token=b"wrong")).startswith(b"HTTP/1.1 401")
