"""Tools that agents have from within their run, and what a token is good for."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp.client.client import Client

from codefleet.domain.errors import Refused
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, Outcome, Run, RunnerId
from codefleet.domain.scheduling import Want
from codefleet.doors.mcp.house import House
from codefleet.doors.mcp.server import assemble
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery, Write
from codefleet.runner import notes
from codefleet.runner.repository import register
from codefleet.wiring import open_fleet
from tests.doors.mcp.conftest import Caller
from tests.gitrepo import SampleRepo


@pytest.fixture
async def fleet(home: Path, repo: SampleRepo) -> AsyncIterator[Fleet]:
    async with open_fleet(home, create=True) as fleet:
        await register(fleet, repo.path)
        yield fleet


async def claimed(fleet: Fleet, repo: SampleRepo) -> Run:
    """The run of the most urgent task, in a worktree with notes."""
    seat = Seat("agent-1", RunnerId("r-1"), "here", "scripted")
    (claim,) = await fleet.claim([seat], Want())
    folder = repo.path / notes.NAME
    notes.lay_out(folder, claim.run.id, {notes.KNOWLEDGE: "", notes.QUESTIONS: ""})
    return await fleet.note(claim.run, worktree=str(repo.path), base=repo.sha("HEAD"))


def acting_for(fleet: Fleet, run: Run) -> Client:
    return Client(assemble(House(fleet, fleet.token(run.id)), ["agent"], "1"))


async def test_an_agent_reports_notes_and_asks_in_its_own_run(
    fleet: Fleet, repo: SampleRepo
) -> None:
    await fleet.add([Draft(title="Work")])
    run = await claimed(fleet, repo)
    async with acting_for(fleet, run) as client:
        call = Caller(client)
        await call("report_progress", text="half way")
        await call("note_knowledge", text="tests need a database")
        await call("ask_human", question="Which port?", options=["80", "443"])
    told = [event for event in await fleet.events() if event.kind == "run.progress"]
    assert [(event.run, event.text) for event in told] == [(run.id, "half way")]
    folder = repo.path / notes.NAME
    assert "database" in (folder / notes.KNOWLEDGE).read_text()
    assert "Which port?\n\n- 80\n- 443" in (folder / notes.QUESTIONS).read_text()


async def test_children_lie_below_their_parent_and_not_too_deep(
    fleet: Fleet, repo: SampleRepo
) -> None:
    fleet.config = fleet.config.evolve(spawn_depth=1)
    (root,) = await fleet.add([Draft(title="Root")])
    run = await claimed(fleet, repo)
    async with acting_for(fleet, run) as client:
        made = await Caller(client)("create_task", tasks=[{"title": "Child", "priority": 5}])
        child = await fleet.get(made["tasks"][0]["task_id"])
        assert child.parent == root.id
        results = await Caller(client)("read_results")
        assert [task["task_id"] for task in results["tasks"]] == [child.id]
    below = await claimed(fleet, repo)
    assert below.task == child.id
    async with acting_for(fleet, below) as client:
        refused = await Caller(client).refused("create_task", tasks=[{"title": "Too deep"}])
    assert "spawn_depth is 1" in refused["hint"]


async def test_an_agent_gives_no_flags_to_the_program_of_another(
    fleet: Fleet, repo: SampleRepo
) -> None:
    await fleet.add([Draft(title="Root")])
    run = await claimed(fleet, repo)
    wild = {"title": "Wild", "options": {"args": ["--yolo"]}}
    async with acting_for(fleet, run) as client:
        assert (await Caller(client).refused("create_task", tasks=[wild]))["code"] == "refused"
    assert len(await fleet.list(TaskQuery())) == 1


async def test_a_token_is_good_for_its_own_run_while_it_lives(
    fleet: Fleet, repo: SampleRepo
) -> None:
    await fleet.add([Draft(title="Work")])
    run = await claimed(fleet, repo)
    token = fleet.token(run.id)
    assert (await fleet.run_of(token)).id == run.id
    for wrong in (
        "",
        "x",
        f"{run.id}:",
        f"{run.id}:{'0' * 64}",
        f"other.1:{token[-64:]}",
        f"{run.id}:é",
    ):
        with pytest.raises(Refused):
            await fleet.run_of(wrong)
    await fleet.store.write(
        Write(runs=[run.evolve(outcome=Outcome.CANCELLED, version=run.version + 1)])
    )
    with pytest.raises(Refused, match="is over"):
        await fleet.run_of(token)
