"""The server beside a bare handler over the same store, a FastAPI floor, and a bare broadcast."""

import asyncio
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil

from bench import http_clients
from bench.row import Row
from codefleet.doors.network import listen
from codefleet.wiring import open_fleet

FILES = 8192
ROUNDS = 5
CONNECTIONS = 8
WITHIN_S = 60.0
LATE_GOAL_MS = 250.0
MEMORY_GOAL_MB = 150.0


class Server(NamedTuple):
    """A server that answers, and how long that took."""

    port: int
    headers: Mapping[str, str]
    home: Path
    pid: int
    ready_ms: float

    @property
    def megabytes(self) -> float:
        return float(psutil.Process(self.pid).memory_info().rss) / 1e6


class Crowd(NamedTuple):
    """What a server did for clients that listen."""

    heard: http_clients.Heard
    megabytes: float


def measure(quick: bool) -> Iterator[Row]:
    """Requests, start, memory and streams."""
    _raise_limits()
    yield from _starts(2 if quick else ROUNDS)
    yield from _requests(100 if quick else 1000, 1 if quick else 3)
    crowds = ((50, 20, 2.0), (10, 200, 2.0)) if quick else ((1000, 20, 10.0), (10, 1000, 10.0))
    for sockets in (False, True):
        for clients, pace, seconds in crowds:
            yield from _streams(clients, pace, seconds, sockets=sockets)


def _starts(rounds: int) -> Iterator[Row]:
    ours: list[tuple[float, float]] = []
    raw: list[tuple[float, float]] = []
    for _ in range(rounds + 1):  # the first one compiles
        for kind, found in (("ours", ours), ("framework", raw)):
            with serving(kind) as server:
                found.append((server.ready_ms, server.megabytes))
    our, their = ([median(column) for column in zip(*it[1:], strict=True)] for it in (ours, raw))
    yield Row("server ready, beside the bare framework", our[0], their[0], "ms", 1.5)
    yield Row("memory of an idle server, beside the same", our[1], their[1], "MB", None)


def _requests(many: int, rounds: int) -> Iterator[Row]:
    """Microseconds for creating, assigning and cancelling a task; lower is better."""
    kinds = ["ours", "store", *(["fastapi"] if find_spec("fastapi") else [])]
    took: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind in kinds:
            with serving(kind) as server:
                rate = asyncio.run(
                    http_clients.tasks_per_second(server.port, server.headers, many, CONNECTIONS)
                )
            took[kind].append(1e6 / rate)
    ours, bare = median(took["ours"]), median(took["store"])
    yield Row("create + assign + cancel, beside a bare handler", ours, bare, "us", None)
    if "fastapi" in took:
        floor = median(took["fastapi"])
        yield Row("the same, beside FastAPI and SQLite", ours, floor, "us", 1.0)
    else:
        print("FastAPI: not installed; see bench/requirements.txt")


def _streams(clients: int, pace: int, seconds: float, *, sockets: bool) -> Iterator[Row]:
    what = f"{clients:,} {'sockets' if sockets else 'clients'}, {pace:,} events a second"
    with serving("ours") as server:
        ours = asyncio.run(_crowd(server, clients, pace, seconds, sockets=sockets))
    with serving("store") as server:
        bare = asyncio.run(_crowd(server, clients, pace, seconds, sockets=sockets))
    complete = float(ours.heard.is_complete)
    yield Row(f"{what}: complete and in order", complete, 1.0, "", 1.0)
    yield Row(f"{what}: p99", ours.heard.p99_ms, bare.heard.p99_ms, "ms", 1.5)
    yield Row(f"{what}: p99 of 250 ms", ours.heard.p99_ms, LATE_GOAL_MS, "ms", 1.0)
    yield Row(f"{what}: memory of 150 MB", ours.megabytes, MEMORY_GOAL_MB, "MB", 1.0)
    yield Row(f"{what}: memory", ours.megabytes, bare.megabytes, "MB", 1.5)


async def _crowd(
    server: Server, clients: int, pace: int, seconds: float, *, sockets: bool
) -> Crowd:
    listeners = await http_clients.listening(server.port, server.headers, clients, sockets=sockets)
    argv = [sys.executable, "-m", "bench.http_store", str(server.home), str(pace), str(seconds)]
    writing = subprocess.Popen(argv)  # noqa: ASYNC220  # it takes a moment, and nothing is measured yet
    found = await http_clients.heard(listeners, int(pace * seconds))
    await asyncio.to_thread(writing.wait, WITHIN_S)
    return Crowd(found, server.megabytes)


def _make(home: Path) -> None:
    async def make() -> None:
        async with open_fleet(home, create=True) as fleet:
            await fleet.register("/bench", "main", None)

    asyncio.run(make())


@contextmanager
def serving(kind: str, fill: Callable[[Path], None] = _make) -> Iterator[Server]:
    """A server of this kind, of a home that was filled before."""
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        home = Path(folder) / "home"
        fill(home)
        with listen("127.0.0.1", 0) as free:
            port = free.getsockname()[1]
        begin = time.perf_counter()
        process = subprocess.Popen(_argv(kind, port, home), stderr=subprocess.PIPE)
        try:
            _await_answer(port)
            ready = 1000 * (time.perf_counter() - begin)
            yield Server(port, _headers(kind, home), home, process.pid, ready)
        finally:
            process.kill()  # the bare ones would wait for their streams
            process.communicate(timeout=WITHIN_S)


def _argv(kind: str, port: int, home: Path) -> list[str]:
    if kind == "ours":
        own = ("-m", "codefleet", "--home", str(home), "serve", f"--port={port}")
        return [sys.executable, *own]
    return [sys.executable, "-m", "bench.http_bare", kind, str(port), str(home)]


def _headers(kind: str, home: Path) -> Mapping[str, str]:
    if kind != "ours":
        return {}
    return {"Authorization": f"Bearer {(home / 'keys' / 'owner.token').read_text()}"}


def _await_answer(port: int) -> None:
    until = time.monotonic() + WITHIN_S
    while time.monotonic() < until:
        connection = HTTPConnection("127.0.0.1", port, timeout=WITHIN_S)
        try:
            connection.request("GET", "/health")
            assert re.match("200", str(connection.getresponse().status))
            return
        except ConnectionError:
            time.sleep(0.005)
        finally:
            connection.close()
    raise TimeoutError("the server does not answer")


def _raise_limits() -> None:
    """Both ends of a thousand connections need files."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, most), most))
