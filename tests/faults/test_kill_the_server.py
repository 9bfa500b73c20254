"""kill -9 of the server in the middle of requests and streams: what it acknowledged is there, what
is repeated is done once, streams go on where they were, and agents do not notice."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import httpx2
import psutil
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from codefleet.domain.model import Draft, TaskId
from codefleet.domain.words import State
from codefleet.doors.network import listen
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from tests.faults.conftest import agents_alive, kill_agents, until
from tests.script import script

WRITERS = 200
WRITES_EACH = 2
STREAMS = 25
"""Of each kind: server-sent events, and WebSockets."""
KILL_AFTER = (40, 150, 300)
"""How many writes are acknowledged when the server is killed."""
WITHIN_S = 120.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


class KilledServer:
    """A server of one home at one port, which is killed and started again."""

    def __init__(self, home: Path) -> None:
        with listen("127.0.0.1", 0) as free:
            self._port = free.getsockname()[1]
        self._home = home
        self.host = f"127.0.0.1:{self._port}"
        self.process: subprocess.Popen[str] | None = None

    @property
    def owner(self) -> dict[str, str]:
        token = (self._home / "keys" / "owner.token").read_text()
        return {"Authorization": f"Bearer {token}"}

    async def start(self) -> None:
        self.process = self._launched()
        assert self.process.stderr
        said = await asyncio.to_thread(self.process.stderr.readline)
        assert "serving at" in said, said

    def _launched(self) -> "subprocess.Popen[str]":
        argv = [sys.executable, "-m", "codefleet", "--home", str(self._home), "serve"]
        return subprocess.Popen(
            [*argv, f"--port={self._port}", "--agents=2"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    async def kill(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(self.process.wait, WITHIN_S)
        assert self.process.stderr
        self.process.stderr.close()


@pytest.fixture
async def server(home: Path, fleet: Fleet) -> AsyncIterator[KilledServer]:
    server = KilledServer(home)
    await server.start()
    yield server
    await server.kill()
    kill_agents(home)


class Writers:
    """Clients that each add tasks, and repeat a request until it is acknowledged."""

    def __init__(self, server: KilledServer) -> None:
        self._server = server
        self._client = httpx2.AsyncClient(
            base_url=f"http://{server.host}/api/v1",
            headers=server.owner,
            timeout=WITHIN_S,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        )
        self.made: dict[str, str] = {}
        self.repeated = 0

    async def write_all(self) -> None:
        async with self._client, asyncio.TaskGroup() as group:
            for number in range(WRITERS):
                group.create_task(self._write(number))

    async def _write(self, number: int) -> None:
        for turn in range(WRITES_EACH):
            key = f"{number}-{turn}"
            self.made[key] = await self.acknowledged(self._client, key)

    async def acknowledged(self, client: httpx2.AsyncClient, key: str) -> str:
        """The id of the task that this request made."""
        draft = {"title": f"Write {key}", "assignee": "nobody-yet"}
        while True:
            try:
                answer = await client.post("/tasks", json=[draft], headers={"Idempotency-Key": key})
            except httpx2.TransportError:
                self.repeated += 1
                await asyncio.sleep(0.05)
                continue
            assert answer.status_code == 201, answer.text
            return str(answer.json()[0]["id"])


class Reader:
    """A client that follows the log, and comes back with the number of the last event it got."""

    def __init__(self, server: KilledServer) -> None:
        self._server = server
        self.seen: list[int] = []
        self.gaps = self.connections = 0

    @property
    def last(self) -> int:
        return self.seen[-1] if self.seen else 0

    async def read(self) -> None:
        while True:
            with suppress(httpx2.TransportError, OSError, ConnectionClosed, InvalidHandshake):
                self.connections += 1
                await self.follow()
            await asyncio.sleep(0.05)

    async def follow(self) -> None:
        raise NotImplementedError


class SseReader(Reader):
    async def follow(self) -> None:
        headers = {
            **self._server.owner,
            "Accept": "text/event-stream",
            "Last-Event-ID": str(self.last),
        }
        url = f"http://{self._server.host}/api/v1/events"
        async with (
            httpx2.AsyncClient(timeout=WITHIN_S) as client,
            client.stream("GET", url, headers=headers) as answer,
        ):
            async for line in answer.aiter_lines():
                self.gaps += line == "event: gap"
                if line.startswith("data: {"):
                    self.seen.append(json.loads(line.removeprefix("data: "))["seq"])


class SocketReader(Reader):
    async def follow(self) -> None:
        url = f"ws://{self._server.host}/ws"
        async with connect(url, additional_headers=self._server.owner) as socket:
            await socket.send(json.dumps({"type": "subscribe", "after": self.last}))
            async for text in socket:
                told = json.loads(text)
                self.gaps += told["type"] == "gap"
                if told["type"] == "event":
                    self.seen.append(told["event"]["seq"])


async def test_kills_of_the_server_lose_nothing_and_repeat_nothing(
    fleet: Fleet, home: Path, server: KilledServer, tmp_path: Path
) -> None:
    at_work, agents = await _agent_at_work(fleet, home, tmp_path / "go")
    writers = Writers(server)
    readers = [kind(server) for kind in (SseReader, SocketReader) for _ in range(STREAMS)]
    following = [asyncio.create_task(reader.read()) for reader in readers]
    writing = asyncio.create_task(writers.write_all())
    for goal in KILL_AFTER:

        async def has_acknowledged(goal: int = goal) -> bool:
            return len(writers.made) >= goal or writing.done()

        await until(has_acknowledged, WITHIN_S)
        assert not writing.done(), "all was written before the last kill"
        await server.kill()
        await server.start()
    async with asyncio.timeout(WITHIN_S):
        await writing

    await _assert_done_once(fleet, server, writers, beside=1)
    assert agents == _agents(home)  # the same processes as before the first kill
    (tmp_path / "go").touch()
    await until(lambda: _is_completed(fleet, at_work), WITHIN_S)
    assert [run.number for run in await fleet.runs_of(at_work)] == [1]
    await _assert_complete(fleet, readers)
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)


async def _assert_done_once(
    fleet: Fleet, server: KilledServer, writers: Writers, beside: int
) -> None:
    """Every acknowledged write is there, and a repeated request finds what it made."""
    assert writers.repeated, "no kill hit a request"
    stored = {task.id for task in await fleet.list(TaskQuery())}
    assert stored >= set(writers.made.values())
    assert len(stored) == WRITERS * WRITES_EACH + beside
    async with httpx2.AsyncClient(
        base_url=f"http://{server.host}/api/v1", headers=server.owner, timeout=WITHIN_S
    ) as client:
        for key in list(writers.made)[::10]:
            assert await writers.acknowledged(client, key) == writers.made[key]
    assert len(await fleet.list(TaskQuery())) == len(stored)


async def _assert_complete(fleet: Fleet, readers: Sequence[Reader]) -> None:
    """Every reader has every event of the log once, in order."""
    end = await fleet.last_seq()

    async def have_read_all() -> bool:
        return all(reader.last >= end for reader in readers)

    await until(have_read_all, WITHIN_S)
    whole = [event.seq for event in await fleet.core.store.events(limit=100_000)]
    for reader in readers:
        assert reader.seen[: len(whole)] == whole
        assert reader.gaps == 0
        assert reader.connections > len(KILL_AFTER)


async def _agent_at_work(
    fleet: Fleet, home: Path, go: Path
) -> tuple[TaskId, set[tuple[int, float]]]:
    """A task whose agent works until a file appears, and the processes of its run."""
    prompt = script("say begin", f"wait until {go} 180", "write a.txt hi")
    (task,) = await fleet.add([Draft(title="Work", coder="scripted", prompt=prompt)])

    async def has_begun() -> bool:
        told = await fleet.events(task=task.id, kinds=["run.said"])
        return any(event.text == "begin" for event in told)

    await until(has_begun, WITHIN_S)
    return task.id, _agents(home)


def _agents(home: Path) -> set[tuple[int, float]]:
    return set(_identities(agents_alive(home)))


def _identities(processes: list[psutil.Process]) -> Iterator[tuple[int, float]]:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            yield process.pid, process.create_time()


async def _is_completed(fleet: Fleet, task: TaskId) -> bool:
    return (await fleet.get(task)).state is State.COMPLETED
