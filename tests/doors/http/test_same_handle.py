"""Two teams may have workers of the same handle: what is for one never reaches the other."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from codefleet.domain.errors import Invalid, NotFound
from codefleet.domain.model import Draft, Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from tests.doors.http.conftest import BOUND_S, Served


@pytest.fixture
async def both(fleet: Fleet) -> tuple[Task, Task]:
    """The workers `dup` of the teams ops and web; the latter is the newer one."""
    for name in ("ops", "web"):
        await fleet.create_team(name)
    return (
        await fleet.spawn("dup", "Look", team="ops"),
        await fleet.spawn("dup", "Look", team="web"),
    )


@pytest.fixture
async def boss(served: Served) -> AsyncIterator[httpx2.AsyncClient]:
    """The owner at the routes of claude-fleet."""
    async with httpx2.AsyncClient(
        base_url=served.url, headers=served.owner, timeout=BOUND_S
    ) as client:
        yield client


async def test_work_reaches_the_agent_of_the_team_that_was_named(
    both: tuple[Task, Task], boss: httpx2.AsyncClient
) -> None:
    for task in both:
        asked = {"toHandle": "dup", "subject": "Mend it", "teamName": task.team}
        given = await boss.post("/tasks", json=asked)
        assert (given.status_code, given.json()["id"]) == (200, task.id), given.text


async def test_a_repeated_spawn_tells_of_the_very_worker_it_made(
    fleet: Fleet, boss: httpx2.AsyncClient
) -> None:
    for name in ("ops", "web"):
        await fleet.create_team(name)
    asked = {"handle": "dup", "initialPrompt": "Look", "teamName": "ops"}
    key = {"Idempotency-Key": "one"}
    first = await boss.post("/orchestrate/spawn", json=asked, headers=key)
    other = await boss.post("/orchestrate/spawn", json={**asked, "teamName": "web"})
    again = await boss.post("/orchestrate/spawn", json=asked, headers=key)
    assert (first.json()["teamName"], other.json()["teamName"]) == ("ops", "web")
    assert again.json() == first.json()


async def test_a_handle_of_two_teams_is_ambiguous_and_a_task_is_not(
    fleet: Fleet, both: tuple[Task, Task], boss: httpx2.AsyncClient
) -> None:
    ops, web = both
    output = await boss.get("/orchestrate/output/dup")
    assert output.status_code == 422
    assert f"ops ({ops.id}), web ({web.id})" in output.json()["error"]
    assert (await boss.get(f"/orchestrate/output/{ops.id}")).status_code == 200
    assert (await fleet.worker("dup", "ops")).task == ops.id
    assert (await fleet.dismiss(ops.id)).state is State.CANCELLED
    assert (await fleet.worker("dup")).task == web.id
    assert (await fleet.dismiss("dup")).id == web.id
    with pytest.raises(Invalid, match="several teams"):
        await fleet.worker("dup")


async def test_a_task_without_a_handle_is_no_worker(fleet: Fleet) -> None:
    (task,) = await fleet.add([Draft(title="Alone")])
    with pytest.raises(NotFound, match=f"no worker {task.id}"):
        await fleet.dismiss(task.id)
