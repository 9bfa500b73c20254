"""The token of a run opens no more of the server than its agent may read."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from codefleet.domain.access import AgentOf
from codefleet.domain.model import Draft, RunId
from codefleet.fleet import Fleet
from codefleet.fleet.own_run import OwnRun
from codefleet.fleet.tokens import token_of
from tests.doors.http.conftest import API, BOUND_S, Served
from tests.stories.teams import Work, fill, started


@pytest.fixture
async def spy(served: Served, fleet: Fleet) -> AsyncIterator[httpx2.AsyncClient]:
    """A client with the token of a run whose task has no team."""
    (agent,) = await started(fleet, Draft(title="Spy", handle="spy"))
    run = await agent.asking()
    assert run
    bearer = {"Authorization": f"Bearer {token_of(run.id, fleet.home)}"}
    async with httpx2.AsyncClient(
        base_url=served.url + API, headers=bearer, timeout=BOUND_S
    ) as client:
        yield client


async def speak(fleet: Fleet, run: RunId) -> None:
    """An agent reports, and writes to another."""
    agent = fleet.acting_as(AgentOf(run=run))
    await OwnRun(agent).report("a private report")
    await agent.send_mail("desk", "a private letter")


async def test_it_does_not_read_in_the_log_what_is_refused_elsewhere(
    fleet: Fleet, spy: httpx2.AsyncClient
) -> None:
    (other,) = await started(fleet, Draft(title="Other"))
    run = await other.asking()
    assert run
    await speak(fleet, run.id)
    assert (await spy.get(f"/tasks/{run.task}/output")).status_code == 403
    assert (await spy.get("/mail", params={"handle": "desk"})).status_code == 403
    for path in (
        "/events?kinds=message.sent&kinds=run.progress",
        f"/events/story?task={run.task}",
        f"/runs?task={run.task}",
    ):
        answer = await spy.get(path)
        assert (answer.status_code, "private" in answer.text) == (200, False), path


async def test_it_reads_nothing_of_any_team(
    served: Served, fleet: Fleet, spy: httpx2.AsyncClient
) -> None:
    work: Work = await fill(fleet, "web")
    await speak(fleet, work.run.id)
    runs = f"/runs?task={work.running.id}"
    for path in ("/events", "/events/story", runs, "/tasks?team=web", "/swarms", "/teams"):
        answer = await spy.get(path)
        assert answer.status_code == 200, path
        assert not [word for word in ("private", "of web", work.run.id) if word in answer.text]
    assert (await spy.get(f"{served.url}/teams/web/tasks")).status_code in (403, 404)
