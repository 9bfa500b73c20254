"""A proxy in front of a real server that spoils some of its answers."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

Spoil = Callable[[bytes, bytes], bytes]
"""What the client gets instead, from its request and the answer; then the connection ends."""
LAST_CHUNK = b"\r\n0\r\n\r\n"


def dropping(begin: bytes, times: int = 1) -> Spoil:
    """Drop so many answers to requests that begin like this."""
    left = times

    def spoil(request: bytes, answer: bytes) -> bytes:
        nonlocal left
        if not request.startswith(begin) or not left:
            return answer
        left -= 1
        return b""

    return spoil


@asynccontextmanager
async def proxy(url: str, spoil: Spoil) -> AsyncIterator[str]:
    """The address of a proxy for the server at this one."""
    there = urlsplit(url)
    own = ""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, to_server = await asyncio.open_connection(there.hostname, there.port)
        while request := await _asked(reader):
            to_server.write(request.replace(own.encode(), there.netloc.encode(), 1))
            answer = await _whole(upstream)
            told = spoil(request, answer)
            writer.write(told)
            if told != answer:
                break
        for each in (writer, to_server):
            each.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    own = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield f"http://{own}"
    finally:
        server.close()


async def _asked(reader: asyncio.StreamReader) -> bytes:
    """One whole request, in however many pieces it comes; nothing at the end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""
    length = re.search(rb"content-length: (\d+)", head.lower())
    return head + (await reader.readexactly(int(length[1])) if length else b"")


async def _whole(upstream: asyncio.StreamReader) -> bytes:
    head = await upstream.readuntil(b"\r\n\r\n")
    if length := re.search(rb"content-length: (\d+)", head):
        return head + await upstream.readexactly(int(length[1]))
    return head + (b"" if b" 204 " in head else await upstream.readuntil(LAST_CHUNK))
