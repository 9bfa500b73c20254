"""One address for the tools of all agents of a home: who calls is decided for each request."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, Run, RunnerId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import AgentTools
from codefleet.doors import tools_port
from codefleet.doors.agent_tools import offered
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.fleet.tokens import owner_token, token_of
from codefleet.runner.context import Context
from codefleet.runner.loop import Loop
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.doors.mcp.conftest import BOUND_S, Caller
from tests.gitrepo import SampleRepo

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
async def fleet(home: Path, repo: SampleRepo) -> AsyncIterator[Fleet]:
    async with open_fleet(home, create=True) as fleet:
        await register(fleet, repo.path)
        yield fleet


@pytest.fixture
async def url(fleet: Fleet) -> AsyncIterator[str]:
    """The address of a runner that has not started any agent yet."""
    context = Context(fleet)
    Loop(context)
    async with offered(context):
        yield context.tools_url


async def started(fleet: Fleet, *agents: str) -> list[Run]:
    """A live run for each of these agents."""
    await fleet.add([Draft(title=f"Work of {agent}") for agent in agents])
    seats = [Seat(agent, RunnerId("r-1"), "here", "scripted") for agent in agents]
    return [claim.run for claim in await Dispatch(fleet).claim(seats, ClaimFilter())]


def held_by(fleet: Fleet, run: Run) -> str:
    return token_of(run.id, fleet.home)


@asynccontextmanager
async def connected(url: str, token: str) -> AsyncIterator[Caller]:
    bearer = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=bearer, timeout=BOUND_S) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield Caller(client)


async def status(url: str, token: str | None, **headers: str) -> int:
    """How a request with this token is answered."""
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    async with httpx2.AsyncClient(timeout=BOUND_S) as http:
        answer = await http.post(url, json=PING, headers={**ACCEPT, **headers})
    if answer.status_code != 200:
        assert {"code", "detail", "hint"} <= set(answer.json())
    return answer.status_code


async def test_calls_of_many_agents_at_once_act_each_for_its_own_run(
    fleet: Fleet, url: str
) -> None:
    runs = await started(fleet, *(f"agent-{number}" for number in range(10)))

    async def report(run: Run) -> None:
        async with connected(url, held_by(fleet, run)) as call:
            for number in range(3):
                await call("report_progress", text=f"{run.id} {number}")

    await asyncio.gather(*map(report, runs))
    told = [event for event in await fleet.events(limit=500) if event.kind == "run.progress"]
    assert len(told) == 30
    assert all(event.text.split()[0] == event.run for event in told)
    assert {event.by for event in told} == {f"run {run.id}" for run in runs}


async def test_a_question_holds_its_call_with_progress_while_others_are_answered(
    fleet: Fleet, url: str
) -> None:
    asks, works = await started(fleet, "asks", "works")
    heard: list[str | None] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async with (
        connected(url, held_by(fleet, asks)) as first,
        connected(url, held_by(fleet, works)) as second,
    ):
        question = {"question": "Which port?"}
        asking = asyncio.create_task(
            first.client.call_tool("ask_human", question, progress_callback=progress)
        )
        async with asyncio.timeout(BOUND_S):
            while not await fleet.inbox():
                await fleet.changed(await fleet.last_seq(), within=0.1)
        await second("report_progress", text="half way")
        await fleet.answer(asks.task, "443")
        told = (await asking).structured_content
    assert told
    assert told["answer"] == "443"
    assert set(heard) == {"waiting for a human"}


async def test_only_the_token_of_a_live_run_or_of_the_owner_is_admitted(
    fleet: Fleet, url: str
) -> None:
    run, other = await started(fleet, "one", "two")
    assert await status(url, held_by(fleet, run)) == 200
    assert await status(url, owner_token(fleet.home).decode()) == 200
    assert await status(url, None) == 401
    forged = held_by(fleet, run).replace(run.id, other.id)
    assert await status(url, forged) == 401
    await Dispatch(fleet).release(run, "it is over")
    assert await status(url, held_by(fleet, run)) == 401


async def test_no_session_is_kept_that_another_token_could_use(fleet: Fleet, url: str) -> None:
    run, other = await started(fleet, "one", "two")
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    bearer = {"Authorization": f"Bearer {held_by(fleet, run)}"}
    async with httpx2.AsyncClient(timeout=BOUND_S) as http:
        opened = await http.post(url, json=opening, headers={**ACCEPT, **bearer})
        assert opened.status_code == 200
        assert "mcp-session-id" not in opened.headers
        report = {"name": "report_progress", "arguments": {"text": "mine"}}
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": report}
        as_other = {"Authorization": f"Bearer {held_by(fleet, other)}", "Mcp-Session-Id": run.id}
        await http.post(url, json=call, headers={**ACCEPT, **as_other})
        listening = await http.get(url, headers={"Accept": "text/event-stream", **bearer})
        assert listening.status_code == 405
    told = [event for event in await fleet.events() if event.kind == "run.progress"]
    assert [event.run for event in told] == [other.id]


async def test_a_web_page_reaches_nothing_even_with_a_token(fleet: Fleet, url: str) -> None:
    (run,) = await started(fleet, "one")
    token = held_by(fleet, run)
    assert await status(url, token, Host="evil.example") == 421
    assert await status(url, token, Origin="http://evil.example") == 403
    assert await status(url.replace("/mcp", "/other"), token) == 404


async def test_an_agent_gets_its_own_tools_and_the_owner_those_of_a_commander(
    fleet: Fleet, url: str
) -> None:
    (run,) = await started(fleet, "one")
    owner = owner_token(fleet.home).decode()
    assert {"ask_human", "create_task"} <= await tools(url, held_by(fleet, run))
    assert "cancel" not in await tools(url, held_by(fleet, run))
    assert {"cancel", "create_worker"} <= await tools(url, owner)
    assert "ask_human" not in await tools(url, owner)
    assert "team_status" in await tools(f"{url}?toolsets=team", owner)
    assert await status(f"{url}?toolsets=nothing", owner) == 404
    async with connected(f"{url}?toolsets=commander", held_by(fleet, run)) as call:
        assert (await call.refused("cancel", task_id=run.task))["code"] == "forbidden"
    async with connected(f"{url}?toolsets=agent", owner) as call:
        assert (await call.refused("report_progress", text="hello"))["code"] == "refused"


async def tools(url: str, token: str) -> set[str]:
    async with connected(url, token) as call:
        return {tool.name for tool in (await call.client.list_tools()).tools}


async def test_the_owner_of_a_runners_address_is_no_runner(fleet: Fleet, url: str) -> None:
    async with connected(url, owner_token(fleet.home).decode()) as call:
        await call("create_task", tasks=[{"title": "Paint"}])
    (added,) = [event for event in await fleet.events() if event.kind == "task.added"]
    assert added.by == "owner"


async def test_who_resumes_a_call_that_was_cut_off_learns_that_it_is_over(
    fleet: Fleet, url: str
) -> None:
    (run,) = await started(fleet, "one")
    bearer = {"Authorization": f"Bearer {held_by(fleet, run)}"}
    ask = {"name": "ask_human", "arguments": {"question": "Which port?"}}
    call = {"jsonrpc": "2.0", "id": "call-7", "method": "tools/call", "params": ask}
    async with httpx2.AsyncClient(timeout=BOUND_S) as http:
        async with http.stream("POST", url, json=call, headers={**ACCEPT, **bearer}) as answer:
            lines = answer.aiter_lines()
            first = {name: value async for name, value in _fields(lines)}
        resumed = {**bearer, "Accept": "text/event-stream", "Last-Event-ID": first["id"]}
        rest = await http.get(url, headers=resumed)
        assert (await http.get(url, headers={"Last-Event-ID": first["id"]})).status_code == 401
        assert (await http.get(url, headers={**bearer, "Last-Event-ID": "?"})).text == ""
    assert first["event"] == "begun"
    (told,) = [line for line in rest.text.splitlines() if line.startswith("data: ")]
    result = json.loads(told.removeprefix("data: "))
    assert result["id"] == "call-7"
    assert result["result"]["isError"] is True
    assert "cut off" in result["result"]["content"][0]["text"]


async def _fields(lines: AsyncIterator[str]) -> AsyncIterator[tuple[str, str]]:
    """The fields of the first event of a stream."""
    async for line in lines:
        if not line:
            return
        name, _, value = line.partition(": ")
        yield name, value


async def test_an_answer_that_needs_no_waiting_is_no_stream(fleet: Fleet, url: str) -> None:
    (run,) = await started(fleet, "one")
    bearer = {"Authorization": f"Bearer {held_by(fleet, run)}"}
    report = {"name": "report_progress", "arguments": {"text": "half way"}}
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": report}
    async with httpx2.AsyncClient(timeout=BOUND_S) as http:
        answer = await http.post(url, json=call, headers={**ACCEPT, **bearer})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["id"] == 7


async def test_a_call_is_cut_off_when_its_runner_ends(fleet: Fleet) -> None:
    (run,) = await started(fleet, "one")
    context = Context(fleet)
    async with asyncio.timeout(BOUND_S):
        async with offered(context):
            call = asyncio.create_task(_ask(context.tools_url, held_by(fleet, run)))
            while not await fleet.inbox():
                await fleet.changed(await fleet.last_seq(), within=0.1)
        assert await call is None


async def _ask(url: str, token: str) -> object:
    """The answer to a question; None if there was none."""
    try:
        async with connected(url, token) as call:
            return await call("ask_human", question="Which port?")
    except Exception:
        return None


async def test_the_address_stays_the_same_and_is_for_the_owner_only(fleet: Fleet) -> None:
    seen = set()
    for _ in range(3):
        context = Context(fleet)
        async with offered(context):
            seen.add(context.tools_url)
    assert len(seen) == 1
    assert (fleet.home / tools_port.FILE).stat().st_mode & 0o777 == 0o600


async def test_a_stranger_at_the_old_address_moves_it(fleet: Fleet) -> None:
    first, second = Context(fleet), Context(fleet)
    async with offered(first):
        pass
    with taken(first.tools_url):
        async with offered(second):
            assert second.tools_url != first.tools_url
            (run,) = await started(fleet, "one")
            assert await status(second.tools_url, held_by(fleet, run)) == 200


@contextmanager
def taken(url: str) -> Iterator[None]:
    """A stranger who listens there and would even share the port."""
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        stranger.bind(("127.0.0.1", int(url.rpartition(":")[2].partition("/")[0])))
        stranger.listen()
        yield


async def test_without_http_no_address_is_opened(fleet: Fleet) -> None:
    for wanted in (AgentTools.STDIO, AgentTools.OFF):
        fleet.config = fleet.config.evolve(agent_tools=wanted)
        context = Context(fleet)
        async with offered(context):
            assert context.tools_url == ""
    assert not (fleet.home / tools_port.FILE).exists()


@pytest.mark.slow
async def test_two_runners_of_a_home_share_the_address_and_each_outlives_the_other(
    fleet: Fleet,
) -> None:
    (run,) = await started(fleet, "one")
    argv = [sys.executable, "-m", "codefleet", "--home", str(fleet.home), "run", "--agents=1"]
    runners = [await _runner(fleet, argv) for _ in range(2)]
    url = f"http://127.0.0.1:{(fleet.home / tools_port.FILE).read_text().strip()}/mcp"
    try:
        for left in reversed(runners):
            for _ in range(20):
                assert await status(url, held_by(fleet, run)) == 200
            left.kill()
            left.wait()
        with pytest.raises(httpx2.ConnectError):
            await status(url, held_by(fleet, run))
    finally:
        for runner in runners:
            runner.kill()
            runner.wait()


def _process(argv: list[str]) -> "subprocess.Popen[bytes]":
    quiet = subprocess.DEVNULL
    return subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet)


async def _runner(fleet: Fleet, argv: list[str]) -> "subprocess.Popen[bytes]":
    """A runner that has joined the fleet, so it already listens."""
    before = len(await Dispatch(fleet).live_runners())
    runner = _process(argv)
    async with asyncio.timeout(BOUND_S):
        while len(await Dispatch(fleet).live_runners()) == before:
            await fleet.changed(await fleet.last_seq(), within=0.1)
    return runner
