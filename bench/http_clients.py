"""Clients that take little of the machine: bare connections without an HTTP library."""

import asyncio
import json
import re
import time
from bisect import bisect_left
from collections.abc import Mapping
from statistics import quantiles
from typing import NamedTuple

LENGTH = re.compile(rb"(?i)content-length: (\d+)")
EVENT = re.compile(rb'"seq":(\d+)[^@]*"@([\d.]+)@"')
SUBSCRIBE = b'{"type": "subscribe"}'
UPGRADE = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: Zmxhc2hlcyBvZiB3aXQhIQ==\r\n"
)
WITHIN_S = 60.0


class Heard(NamedTuple):
    """Events that clients got: are they complete and in order, and how late were they?"""

    is_complete: bool
    p99_ms: float


class Caller:
    """One connection that sends a request after the other."""

    def __init__(self, port: int, headers: Mapping[str, str]) -> None:
        self._port = port
        lines = [f"Host: 127.0.0.1:{port}", *(f"{name}: {it}" for name, it in headers.items())]
        self._head = "\r\n".join(lines)

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        lines = f"{method} {path} HTTP/1.1\r\n{self._head}\r\nContent-Type: application/json\r\n"
        self._writer.write(lines.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = LENGTH.search(head)
        assert head.startswith(b"HTTP/1.1 20"), head
        assert length, head
        return await self._reader.readexactly(int(length[1]))

    async def task(self, title: str) -> None:
        """Create, assign and cancel a task: three writes, like create, claim and complete."""
        made = await self.ask("POST", "/api/v1/tasks", json.dumps([{"title": title}]).encode())
        path = f"/api/v1/tasks/{json.loads(made)[0]['id']}"
        await self.ask("PATCH", path, b'{"assignee": "bench"}')
        await self.ask("POST", f"{path}/cancel", b"{}")

    def close(self) -> None:
        self._writer.close()


async def tasks_per_second(
    port: int, headers: Mapping[str, str], many: int, connections: int
) -> float:
    """How many tasks these connections together create, assign and cancel in a second."""
    callers = [Caller(port, headers) for _ in range(connections)]
    await asyncio.gather(*(caller.open() for caller in callers))
    left = iter(range(many))

    async def work(caller: Caller) -> None:
        for number in left:
            await caller.task(f"Bench {number}")

    begin = time.perf_counter()
    await asyncio.gather(*map(work, callers))
    took = time.perf_counter() - begin
    for caller in callers:
        caller.close()
    return many / took


class Listener(asyncio.Protocol):
    """A client of a stream; it keeps what came, and when."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.heard = 0
        self._got = bytearray()  # each piece has a mapping of its own in memory if it is kept
        self._ends: list[int] = []
        self._times: list[float] = []

    def data_received(self, data: bytes) -> None:
        self.began.set()
        self._times.append(time.time())
        self.heard += (self._got[-1:] + data).count(b'@"')
        self._got += data
        self._ends.append(len(self._got))

    def events(self) -> list[tuple[int, float]]:
        """The number of each event, and how late it came, in seconds."""
        return [
            (int(each[1]), self._times[bisect_left(self._ends, each.end())] - float(each[2]))
            for each in EVENT.finditer(self._got)
        ]


async def listening(
    port: int, headers: Mapping[str, str], many: int, *, sockets: bool
) -> list[Listener]:
    """This many clients, all connected: of the WebSocket, or of the server-sent events."""
    path, kind = (
        ("/ws", UPGRADE) if sockets else ("/api/v1/events", "Accept: text/event-stream\r\n")
    )
    lines = "".join(f"{name}: {it}\r\n" for name, it in headers.items())
    asked = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{kind}{lines}\r\n"
    loop, found = asyncio.get_running_loop(), []
    for _ in range(many):
        transport, listener = await loop.create_connection(Listener, "127.0.0.1", port)
        transport.write(asked.encode())
        found.append((transport, listener))
    for transport, listener in found:
        await asyncio.wait_for(listener.began.wait(), WITHIN_S)
        if sockets:  # a text frame with a mask of zeros
            transport.write(bytes((0x81, 0x80 | len(SUBSCRIBE), 0, 0, 0, 0)) + SUBSCRIBE)
    return [listener for _, listener in found]


async def heard(listeners: list[Listener], many: int) -> Heard:
    """Wait until all have heard this many events, then look at what came, and how late."""
    async with asyncio.timeout(WITHIN_S):
        while any(it.heard < many for it in listeners):  # noqa: ASYNC110  # thousands of events
            await asyncio.sleep(0.2)
    told = [listener.events() for listener in listeners]
    first = [seq for seq, _ in told[0]]
    is_complete = len(first) == many and all([seq for seq, _ in each] == first for each in told)
    late = [1000 * wait for each in told for _, wait in each]
    return Heard(is_complete and first == sorted(first), quantiles(late, n=100)[-1])
