"""The tools that agents have within their run, and what a token allows."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from codefleet.domain.access import AgentOf
from codefleet.domain.errors import NotFound, Refused
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, Run, RunnerId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.signals import Asks
from codefleet.domain.views import InboxItem
from codefleet.domain.words import Outcome, State
from codefleet.domain.workflow import workflow
from codefleet.doors.mcp.server import assemble
from codefleet.doors.mcp.toolset import ServerContext
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.fleet.key_files import secret
from codefleet.fleet.own_run import OwnRun
from codefleet.ports import TaskQuery, Write
from codefleet.runner.brief import notes, own_tools
from codefleet.runner.paths import Paths
from codefleet.runner.process import custody
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.doors.mcp.conftest import BOUND_S, Caller
from tests.gitrepo import SampleRepo, make_repo

pytestmark = pytest.mark.slow


@pytest.fixture
async def fleet(home: Path, repo: SampleRepo) -> AsyncIterator[Fleet]:
    async with open_fleet(home, create=True) as fleet:
        await register(fleet, repo.path)
        yield fleet


async def claimed(fleet: Fleet, repo: SampleRepo) -> Run:
    """The run of the most urgent task, in a worktree with notes."""
    seat = Seat("agent-1", RunnerId("r-1"), "here", "scripted")
    (claim,) = await Dispatch(fleet).claim([seat], ClaimFilter())
    folder = repo.path / notes.NAME
    notes.write_all(folder, claim.run.id, {notes.KNOWLEDGE: "", notes.QUESTIONS: ""})
    return await Dispatch(fleet).note(claim.run, worktree=str(repo.path), base=repo.sha("HEAD"))


def as_agent(fleet: Fleet, run: Run) -> Fleet:
    return fleet.acting_as(AgentOf(run=run.id))


def acting_for(fleet: Fleet, run: Run) -> Client:
    return Client(assemble(ServerContext(as_agent(fleet, run)), ["agent"], "1"))


async def test_an_agent_reports_and_notes_in_its_own_run(fleet: Fleet, repo: SampleRepo) -> None:
    await fleet.add([Draft(title="Work")])
    run = await claimed(fleet, repo)
    async with acting_for(fleet, run) as client:
        call = Caller(client)
        await call("report_progress", text="half way")
        await call("note_knowledge", text="tests need a database")
    told = [event for event in await fleet.events() if event.kind == "run.progress"]
    assert [(event.run, event.text) for event in told] == [(run.id, "half way")]
    folder = repo.path / notes.NAME
    assert "database" in (folder / notes.KNOWLEDGE).read_text()


async def test_a_question_is_in_the_inbox_and_its_answer_is_what_the_call_returns(
    fleet: Fleet, repo: SampleRepo
) -> None:
    (task,) = await fleet.add([Draft(title="Work")])
    run = await claimed(fleet, repo)
    heard: list[str | None] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async with acting_for(fleet, run) as client:
        given = {"question": "Which port?", "options": ["80", "443"]}
        call = client.call_tool("ask_human", given, progress_callback=progress)
        asking = asyncio.create_task(call)
        item = await asked(fleet)
        assert (item.kind, item.task, item.options) == ("question", task.id, ("80", "443"))
        assert (await fleet.get(task.id)).state is State.RUNNING
        assert [seen.settled async for seen in fleet.watch([task.id], within=0)] == [True]
        answered = await fleet.answer(task.id, "443")
        told = (await asking).structured_content
    assert answered.state is State.RUNNING
    assert told == {"question_id": item.id, "answer": "443"}
    assert set(heard) == {"waiting for a human"}
    assert await fleet.inbox() == []


async def test_a_question_that_nobody_answers_in_time_stays_and_asked_again_is_the_same(
    home: Path, fleet: Fleet, repo: SampleRepo
) -> None:
    (home / "fleet.toml").write_text("answer_s = 0.2\n")
    (task,) = await fleet.add([Draft(title="Work")])
    run = await claimed(fleet, repo)
    async with acting_for(fleet, run) as client:
        for _ in range(2):
            told = await Caller(client)("ask_human", question="Which port?")
            assert told["answer"] is None
            assert "End your turn" in told["now"]
    assert [item.text for item in await fleet.inbox()] == ["Which port?"]
    assert (await Dispatch(fleet).ask(run, None)).state is State.ASKING
    assert [item.text for item in await fleet.inbox()] == ["Which port?"]
    assert (await fleet.answer(task.id, "443")).state is State.PENDING


async def test_a_task_goes_on_when_all_of_its_questions_are_answered(
    fleet: Fleet, repo: SampleRepo
) -> None:
    (task,) = await fleet.add([Draft(title="Work")])
    run = await claimed(fleet, repo)
    await OwnRun(as_agent(fleet, run)).pose(Asks("Which port?"))
    second = await OwnRun(as_agent(fleet, run)).pose(Asks("Which host?"))
    assert (await Dispatch(fleet).ask(run, Asks("Which user?"))).state is State.ASKING
    assert len(await fleet.inbox()) == 3
    assert (await fleet.answer(second.id, "here")).state is State.ASKING
    assert (await fleet.answer(task.id, "443")).state is State.ASKING
    assert (await fleet.answer(task.id, "root")).state is State.PENDING


async def test_an_answer_that_comes_as_the_run_ends_lets_the_task_go_on_at_once(
    fleet: Fleet, repo: SampleRepo
) -> None:
    (task,) = await fleet.add([Draft(title="Work")])
    run = await claimed(fleet, repo)
    await OwnRun(as_agent(fleet, run)).pose(Asks("Which port?"))
    await fleet.answer(task.id, "443")
    assert (await Dispatch(fleet).ask(run, None)).state is State.PENDING


async def test_a_cancelled_task_has_no_question_left_in_the_inbox(
    fleet: Fleet, repo: SampleRepo
) -> None:
    (task,) = await fleet.add([Draft(title="Work")])
    run = await claimed(fleet, repo)
    await OwnRun(as_agent(fleet, run)).pose(Asks("Which port?"))
    await fleet.cancel(task.id)
    assert await fleet.inbox() == []
    with pytest.raises(NotFound, match="has no open question"):
        await fleet.answer(task.id, "443")


@pytest.mark.parametrize(
    "given",
    [
        {"question": " "},
        {"question": "x" * 5000},
        {"question": "Which?", "options": ["x"] * 21},
        {"question": "Which?", "options": ["x" * 501]},
    ],
)
async def test_a_question_without_words_or_without_end_is_refused(
    fleet: Fleet, repo: SampleRepo, given: dict[str, object]
) -> None:
    await fleet.add([Draft(title="Work")])
    async with acting_for(fleet, await claimed(fleet, repo)) as client:
        assert (await Caller(client).refused("ask_human", **given))["code"] == "invalid"
    assert await fleet.inbox() == []


async def asked(fleet: Fleet) -> InboxItem:
    """The one question, once it is in the inbox."""
    async with asyncio.timeout(BOUND_S):
        while not (found := await fleet.inbox()):
            await fleet.core.store.changed(await fleet.core.store.last_seq(), within=0.1)
    (item,) = found
    return item


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


async def test_agents_create_only_so_many_tasks_below_one_of_a_human(
    fleet: Fleet, repo: SampleRepo
) -> None:
    fleet.config = fleet.config.evolve(spawn_tasks=3)
    await fleet.add([Draft(title="Root")])
    run = await claimed(fleet, repo)
    async with acting_for(fleet, run) as client:
        call = Caller(client)
        await call.refused("create_task", tasks=[{"title": "Child"}] * 4)
        await call("create_task", tasks=[{"title": "Child", "priority": 5}] * 2)
    below = await claimed(fleet, repo)
    async with acting_for(fleet, below) as client:
        call = Caller(client)
        await call("create_task", tasks=[{"title": "Grandchild"}])
        refused = await call.refused("create_task", tasks=[{"title": "One too many"}])
    assert "spawn_tasks is 3" in refused["hint"]
    assert len(await fleet.list(TaskQuery())) == 4


async def test_the_cap_on_created_tasks_holds_however_many_others_came_after(
    fleet: Fleet, repo: SampleRepo
) -> None:
    fleet.config = fleet.config.evolve(spawn_tasks=2)
    await fleet.add([Draft(title="Root", priority=5)])
    run = await claimed(fleet, repo)
    async with acting_for(fleet, run) as client:
        call = Caller(client)
        await call("create_task", tasks=[{"title": "Child"}] * 2)
        await fleet.add([Draft(title=f"Other {number}") for number in range(2001)])
        refused = await call.refused("create_task", tasks=[{"title": "One too many"}])
        results = await call("read_results")
    assert "spawn_tasks is 2" in refused["hint"]
    assert len(results["tasks"]) == 2


async def test_an_agent_gives_no_flags_to_the_program_of_another(
    fleet: Fleet, repo: SampleRepo
) -> None:
    await fleet.add([Draft(title="Root")])
    run = await claimed(fleet, repo)
    async with acting_for(fleet, run) as client:
        for options in ({"args": ["--yolo"]}, {"program": "/bin/sh"}, {"env": {"KEY": "x"}}):
            wild = {"title": "Wild", "options": options}
            assert (await Caller(client).refused("create_task", tasks=[wild]))["code"] == "refused"
    stage = {"name": "wild", "prompt": "Paint", "extra_args": ["--yolo"]}
    with pytest.raises(Refused, match="arguments of another agent's program"):
        await as_agent(fleet, run).start(workflow.parse({"stages": [stage]}))
    assert len(await fleet.list(TaskQuery())) == 1


async def test_an_agent_gets_around_no_review(fleet: Fleet, repo: SampleRepo) -> None:
    await fleet.add([Draft(title="Root")])
    run = await claimed(fleet, repo)
    async with acting_for(fleet, run) as client:
        sly = {"title": "Sly", "lands": "queue"}
        refused = await Caller(client).refused("create_task", tasks=[sly])
        assert "lands automatically" in refused["problem"]
        await Caller(client)("create_task", tasks=[{"title": "Fair", "lands": "review"}])
    stage = {"name": "sly", "prompt": "Paint", "landing": "queue"}
    with pytest.raises(Refused, match="lands automatically"):
        await as_agent(fleet, run).start(workflow.parse({"stages": [stage]}))
    assert len(await fleet.list(TaskQuery())) == 2


async def test_an_agent_decides_nothing_that_is_for_a_human(fleet: Fleet, repo: SampleRepo) -> None:
    (mine, other) = await fleet.add([Draft(title="Mine", priority=5), Draft(title="Other")])
    run = await claimed(fleet, repo)
    asks = Asks("May it use shell?", ("allow", "deny"), "shell", "rm")
    question = await OwnRun(as_agent(fleet, run)).pose(asks)
    all_tools = ["agent", "commander", "workers", "team"]
    bound = assemble(ServerContext(as_agent(fleet, run)), all_tools, "1")
    async with Client(bound) as client:
        call = Caller(client)
        assert await call.refused("answer_question", id=question.id, answer="allow")
        for tool in ("land", "cancel", "retry"):
            for task in (mine.id, other.id):
                assert (await call.refused(tool, task_id=task))["code"] == "forbidden"
        await call.refused("reject", task_id=other.id, reason="no")
        await call.refused("assign_task", task_id=other.id, agent="agent-1")
        await call.refused("cancel_worker", worker_id=other.id)
        await call.refused("cleanup_worker", worker_id=other.id)
        await call.refused("team_send", to=other.id, text="stop")
        made = await call("create_task", tasks=[{"title": "Child"}])
        child = made["tasks"][0]["task_id"]
        assert (await call("cancel", task_id=child))["state"] == "cancelled"
    assert [item.text for item in await fleet.inbox()] == ["May it use shell?"]
    assert (await fleet.get(other.id)).state is State.PENDING


async def test_a_key_that_a_living_agent_printed_is_told_to_no_client(
    home: Path, fleet: Fleet, repo: SampleRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "not-like-any-key-at-all")
    (home / "fleet.toml").write_text('environment = ["SHOP_TOKEN"]\n')
    await fleet.add([Draft(title="Work")])
    run = await claimed(fleet, repo)
    folder = Paths(home).run(run)
    folder.mkdir(parents=True)
    said = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2eF4hJ6 not-like-any-key-at-all"
    for name in ("stdout.jsonl", "stderr.log"):
        (folder / name).write_text(f"I found {said}\n")
    async with Client(assemble(ServerContext(fleet), ["workers"], "1")) as client:
        given = {"worker_id": run.task, "include_logs": True}
        found = await Caller(client)("collect_worker_result", **given)
        log = await client.read_resource(f"fleet://runs/{run.id}/log")
    for told in (found["stdout_tail"], found["stderr_tail"], str(log)):
        assert "I found [redacted" in told
        assert not any(key in told for key in said.split())


async def test_an_agent_puts_nobody_to_work_in_another_repository(
    fleet: Fleet, repo: SampleRepo, tmp_path: Path
) -> None:
    other = make_repo(tmp_path / "other")
    await fleet.add([Draft(title="Root")])
    run = await claimed(fleet, repo)
    bound = assemble(ServerContext(as_agent(fleet, run)), ["workers", "team"], "1")
    worker = {"task_name": "Paint", "prompt": "Paint"}
    async with Client(bound) as client:
        call = Caller(client)
        await call.refused("create_worker", **worker, repo_path=str(other.path))
        await call.refused("team_spawn", prompt="Paint", repo_path=str(other.path))
        made = await call("create_worker", **worker, repo_path=str(repo.path))
        assert (await fleet.get(made["worker_id"])).parent == run.task
    assert [each.path for each in await fleet.repos()] == [str(repo.path)]


async def test_a_token_is_good_for_its_own_run_while_it_lives(
    fleet: Fleet, repo: SampleRepo
) -> None:
    await fleet.add([Draft(title="Work")])
    run = await claimed(fleet, repo)
    token = Dispatch(fleet).token(run.id)
    assert (await fleet.with_token(token)).actor == AgentOf(run=run.id)
    for wrong in (
        "",
        "x",
        f"{run.id}:",
        f"{run.id}:{'0' * 64}",
        f"other.1:{token[-64:]}",
        f"{run.id}:é",
    ):
        with pytest.raises(Refused):
            await fleet.with_token(wrong)
    await fleet.core.store.write(
        Write(runs=[run.evolve(outcome=Outcome.CANCELLED, version=run.version + 1)])
    )
    with pytest.raises(Refused, match="is over"):
        await fleet.with_token(token)


@pytest.mark.parametrize("held", ["", "short", "x" * 31])
@pytest.mark.parametrize("name", ["runs.key", "owner.token"])
def test_a_secret_that_can_be_guessed_is_refused(home: Path, name: str, held: str) -> None:
    file = home / "keys" / name
    file.parent.mkdir(parents=True)
    file.write_text(f"{held}\n")
    with pytest.raises(Refused, match="a secret needs at least 32"):
        secret(file)
    file.unlink()
    assert len(secret(file)) >= 32


async def test_tools_find_a_store_that_only_a_variable_of_the_runner_names(
    home: Path, repo: SampleRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_STORE", f"sqlite://{tmp_path / 'elsewhere.db'}")
    async with open_fleet(home, create=True) as fleet:
        await register(fleet, repo.path)
        await fleet.add([Draft(title="Work")])
        run = await claimed(fleet, repo)
        folder = Paths(home).run(run)
        folder.mkdir(parents=True)
        token = own_tools.grant(fleet, run.id, folder)
        command, *args = own_tools.call(home, token)
        assert "elsewhere" not in " ".join(args)
        assert all(each.stat().st_mode & 0o777 == 0o600 for each in folder.iterdir())
        monkeypatch.delenv("FLEET_STORE")
        server = StdioServerParameters(command=command, args=args, env=custody.environment((), {}))
        async with Client(stdio_client(server)) as client:
            await Caller(client)("report_progress", text="half way")
        told = await fleet.events(kinds=["run.progress"])
        assert [(event.run, event.text) for event in told] == [(run.id, "half way")]
