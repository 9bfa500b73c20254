"""The toolset `team`, with the arguments that clients of team servers send."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from codefleet.domain.access import AgentOf
from codefleet.domain.errors import Forbidden
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Run, RunnerId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.doors.mcp.server import assemble
from codefleet.doors.mcp.toolset import ServerContext
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import TaskQuery
from codefleet.runner.brief import notes
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.doors.mcp.conftest import Caller
from tests.gitrepo import SampleRepo, make_repo

pytestmark = pytest.mark.slow


@pytest.fixture
async def fleet(home: Path, repo: SampleRepo) -> AsyncIterator[Fleet]:
    async with open_fleet(home, create=True) as fleet:
        await register(fleet, repo.path)
        await fleet.pause()  # no runner that a tool starts takes anything
        yield fleet


@asynccontextmanager
async def team(fleet: Fleet, *toolsets: str) -> AsyncIterator[Caller]:
    async with Client(assemble(ServerContext(fleet), toolsets or ["team"], "1")) as client:
        yield Caller(client)


async def claimed(fleet: Fleet, many: int = 1) -> list[Run]:
    await fleet.resume()
    seats = [Seat(f"agent-{n}", RunnerId("r-1"), "here", "scripted") for n in range(many)]
    runs = [claim.run for claim in await Dispatch(fleet).claim(seats, ClaimFilter())]
    await fleet.pause()
    return runs


async def test_a_team_is_spawned_seen_told_and_dismissed(fleet: Fleet, repo: SampleRepo) -> None:
    async with team(fleet) as call:
        made = await call("team_spawn", handle="scout", prompt="Look", workingDir=str(repo.path))
        (worker,) = (await call("team_workers"))["workers"]
        assert (worker["handle"], worker["task"]) == ("scout", made["task_id"])
        sent = await call("team_send", handle="scout", message="mind the tests")
        assert sent["task"] == made["task_id"]
        assert (await call("team_send", to="scout", text="again"))["text"] == "again"
        assert (await call("team_dismiss", handle="scout"))["state"] == "cancelled"
        assert (await call("team_workers"))["workers"] == []
        await call.refused("team_send", handle="scout", to="scout", message="which?")


async def test_work_is_given_to_a_handle_or_to_a_seat(fleet: Fleet) -> None:
    async with team(fleet) as call:
        made = await call("team_assign", agent="scout", task="Look", description="at all of it")
        assert (made["handle"], made["title"]) == ("scout", "Look")
        more = await call("team_assign", agent="scout", task="Look again")
        assert more["task_id"] == made["task_id"]
        other = await call("team_spawn", prompt="Paint")
        seat = await call("team_assign", task_id=other["task_id"], agent="agent-1")
        assert seat["assignee"] == "agent-1"
        listed = {
            name: [task["task_id"] for task in (await call("team_tasks", filter=name))["tasks"]]
            for name in ("all", "mine", "unassigned")
        }
    assert listed == {"all": [made["task_id"], other["task_id"]], "mine": [], "unassigned": []}
    assert (await fleet.get(made["task_id"])).prompt == "Look\n\nat all of it"


async def test_a_swarm_is_made_filled_directed_and_killed(fleet: Fleet) -> None:
    async with team(fleet) as call:
        swarm = (await call("swarm_create", name="hive", max_agents=2))["id"]
        await call("team_spawn", handle="scout", prompt="Look", swarm_id=swarm)
        (shown,) = (await call("swarm_list", include_agents=True))["swarms"]
        assert [each["handle"] for each in shown["agents"]] == ["scout"]
        await claimed(fleet)
        told = await call("swarm_broadcast", swarm_id=swarm, directive="stop", priority="high")
        assert told["sent_to"] == ["agent-0"]
        (post,) = (await call("blackboard_read", swarm_id=swarm))["messages"]
        assert post["payload"] == {"directive": "stop"}
        assert (await call("blackboard_mark_read", message_ids=[post["id"]]))["marked"] == 1
        unread = await call("blackboard_read", swarm_id=swarm, unread_only=True)
        assert unread["messages"] == []
        assert (await call("blackboard_archive", swarm_id=swarm, max_age_hours=0))["archived"] == 1
        assert len((await call("swarm_kill", swarm_id=swarm, graceful=True))["tasks"]) == 1
        await call.refused("blackboard_read")


async def test_an_agent_uses_the_blackboard_of_its_own_swarm_without_naming_it(
    fleet: Fleet,
) -> None:
    swarm = await fleet.create_swarm("hive")
    await fleet.spawn("scout", "Look", swarm=swarm.id)
    (run,) = await claimed(fleet)
    async with team(fleet.acting_as(AgentOf(run=run.id)), "agent") as call:
        made = await call("blackboard_post", message_type="status", payload={"at": 1})
        assert (made["sender"], made["swarm"]) == ("scout", swarm.id)
        assert len((await call("blackboard_read"))["messages"]) == 1


async def test_a_local_client_speaks_under_the_name_in_its_environment(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_AGENT_NAME", "desk")
    swarm = await fleet.create_swarm("hive")
    async with team(fleet) as call:
        post = {"swarm_id": swarm.id, "message_type": "status", "payload": {}}
        assert (await call("blackboard_post", **post))["sender"] == "desk"


async def test_mail_and_handoffs_go_from_handle_to_handle(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fleet.spawn("scout", "Look")
    (run,) = await claimed(fleet)
    monkeypatch.setenv("CLAUDE_CODE_AGENT_NAME", "desk")
    async with team(fleet) as call:
        sent = await call("mail_send", to="scout", body="hello", subject="hi")
        assert (sent["sender"], sent["subject"]) == ("desk", "hi")
        await call("send_message", handle="scout", message="again")
        await call("team_handoff", to="scout", context={"left": "tests"})
    async with team(fleet.acting_as(AgentOf(run=run.id)), "agent") as call:
        assert [m["text"] for m in (await call("mail_read"))["mail"]] == ["hello", "again"]
        assert (await call("mail_read"))["mail"] == []
        assert len((await call("mail_read", filter="all"))["mail"]) == 2
        await call("mail_send", to="desk", body="got it")
    async with team(fleet) as call:
        (answer,) = (await call("read_messages", mark_read=False))["mail"]
        assert (answer["sender"], answer["text"]) == ("scout", "got it")
    assert [m.context for m in await fleet.handoffs("scout")] == [{"left": "tests"}]


async def test_a_checkpoint_is_written_loaded_listed_and_accepted(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_AGENT_NAME", "desk")
    async with team(fleet) as call:
        await call.refused("checkpoint_create", text="only agents have notes")
        await call.refused("checkpoint_create", goal="Find it")
        made = await call(
            "checkpoint_create",
            goal="Find it",
            now="half",
            done_this_session=[{"task": "the API", "files": ["a.py"]}],
            blockers=["no key"],
            to_handle="scout",
        )
        ref = made["checkpoint_id"]
        assert (await call("checkpoint_load", checkpoint_id=ref))["blockers"] == ["no key"]
        assert (await call("checkpoint_list", status="accepted"))["checkpoints"] == []
    await fleet.spawn("scout", "Look")
    (run,) = await claimed(fleet)
    async with team(fleet.acting_as(AgentOf(run=run.id)), "agent") as call:
        assert (await call("checkpoint_load"))["checkpoint"]["id"] == ref
        done = await call("checkpoint_accept", checkpoint_id=ref)
        assert done == {
            "task_id": run.task,
            "commit": None,
            "text": "Goal: Find it\nNow: half\nDone: the API (a.py)\nBlockers: no key",
        }


async def test_a_checkpoint_of_an_agent_is_also_in_its_notes(
    fleet: Fleet, repo: SampleRepo
) -> None:
    await fleet.spawn("scout", "Look")
    (run,) = await claimed(fleet)
    folder = repo.path / notes.NAME
    notes.write_all(folder, run.id, {notes.KNOWLEDGE: ""})
    run = await Dispatch(fleet).note(run, worktree=str(repo.path), base=repo.sha("HEAD"))
    async with team(fleet.acting_as(AgentOf(run=run.id)), "agent") as call:
        assert (await call("checkpoint_create", text="half way")) == {"kept": True}
        await call("checkpoint_create", goal="Find it", now="nearly")
    plan = (folder / notes.PLAN).read_text()
    assert "## Checkpoint\n\nhalf way" in plan
    assert "Goal: Find it\nNow: nearly" in plan


async def test_what_one_agent_stores_another_finds(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fleet.spawn("scout", "Look")
    (run,) = await claimed(fleet)
    async with team(fleet.acting_as(AgentOf(run=run.id)), "agent") as call:
        await call("memory_store", key="db", value="on port 5433", tags=["sql"])
    monkeypatch.setenv("CLAUDE_CODE_AGENT_NAME", "desk")
    async with team(fleet) as call:
        (found,) = (await call("memory_search", query="port"))["memories"]
        assert (found["handle"], found["value"]) == ("scout", "on port 5433")
        await call("memory_store", key="db", value="moved", memory_type="decision")
        assert (await call("memory_recall", key="db"))["value"] == "moved"
        assert (await call("memory_search", query="moved", memory_type="fact"))["memories"] == []


async def test_one_of_several_repositories_is_named_by_its_path(
    fleet: Fleet, repo: SampleRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    till = make_repo(tmp_path / "till", {"a.txt": "a"})
    await register(fleet, till.path)
    monkeypatch.chdir(tmp_path)
    here = str(till.path)
    calls: dict[str, dict[str, Any]] = {
        "memory_store": {"key": "db", "value": "on port 5433"},
        "memory_recall": {"key": "db"},
        "memory_search": {"query": "port"},
        "team_claim": {"file": "a.txt"},
        "team_spawn": {"prompt": "Look", "handle": "scout"},
        "team_assign": {"agent": "tester", "task": "Test"},
        "create_task": {"agent": "painter", "task": "Paint"},
    }
    async with team(fleet) as call:
        for name, given in calls.items():
            refused = await call.refused(name, **given)
            assert refused["problem"] == "which repository?", name
            assert refused["hint"] == f"give repo_path: {repo.path}, {here}"
        told = {name: await call(name, **given, repo_path=here) for name, given in calls.items()}
    assert told["memory_recall"]["repo"] == "till"
    assert len(told["memory_search"]["memories"]) == 1
    assert {task.repo for task in await fleet.list(TaskQuery())} == {"till"}


async def test_an_agent_remembers_only_for_its_own_repository(
    fleet: Fleet, repo: SampleRepo, tmp_path: Path
) -> None:
    await register(fleet, make_repo(tmp_path / "till", {"a.txt": "a"}).path)
    await fleet.spawn("scout", "Look", repo="shop")
    (run,) = await claimed(fleet)
    agent = fleet.acting_as(AgentOf(run=run.id))
    assert (await agent.remember("db", "on port 5433", repo="shop")).repo == "shop"
    for attempt in (agent.remember("db", "x", repo="till"), agent.recall("db", repo="till")):
        with pytest.raises(Forbidden, match="works in its own repo, shop"):
            await attempt


async def test_tasks_are_made_listed_and_moved_in_the_words_of_a_team(fleet: Fleet) -> None:
    async with team(fleet) as call:
        made = await call("create_task", agent="scout", task="Look", description="well")
        many = await call("create_task", tasks=[{"title": "Paint"}, {"title": "Dry"}])
        paint = many["tasks"][0]["task_id"]
        assert len((await call("list_tasks"))["tasks"]) == 3
        unassigned = (await call("list_tasks", filter="unassigned"))["tasks"]
        assert {task["title"] for task in unassigned} == {"Paint", "Dry"}
        assert (await call("update_task", task_id=paint, status="blocked"))["paused"]
        assert "paused" not in await call("update_task", task_id=paint, status="in_progress")
        await call("team_dismiss", handle="scout")
        back = await call("update_task", task_id=made["task_id"], status="pending")
        assert back["state"] == "pending"
        refused = await call.refused("team_complete", task_id=paint)
        assert "when git and the checks agree" in refused["problem"]
        await call.refused("create_task", agent="scout")


async def test_a_claim_is_told_to_the_next_and_shown_with_the_conflicts(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await fleet.spawn("scout", "Look")
    (run,) = await claimed(fleet)
    async with team(fleet.acting_as(AgentOf(run=run.id)), "agent") as call:
        assert (await call("team_claim", file="README.md"))["claimed"]
    monkeypatch.setenv("CLAUDE_CODE_AGENT_NAME", "desk")
    async with team(fleet, "team", "commander") as call:
        held = {"path": "README.md", "handle": "scout", "task_id": task.id}
        told = await call("team_claim", file="README.md")
        assert told == {"claimed": False, "held_by": [held]}
        assert (await call("detect_conflicts"))["claimed_files"] == [held]


async def test_toolsets_with_tools_of_the_same_name_go_together(fleet: Fleet) -> None:
    for names in (["team", "commander"], ["commander", "team"], ["agent", "team"]):
        async with team(fleet, *names) as call:
            listed = [tool.name for tool in (await call.client.list_tools()).tools]
            assert len(listed) == len({*listed})
            added = await call("create_task", tasks=[{"title": "Paint"}])
            assert len(added["tasks"]) == 1
            if "agent" not in names:
                spawned = await call("create_task", agent=f"a{names[0]}", task="Look")
                assert spawned["handle"] == f"a{names[0]}"


EXPECTED = """
team_status team_tasks team_assign team_complete team_claim team_spawn team_dismiss team_workers
team_send team_broadcast team_handoff mail_send mail_read send_message read_messages create_task
update_task list_tasks blackboard_post blackboard_read blackboard_mark_read blackboard_archive
checkpoint_create checkpoint_load checkpoint_list swarm_create swarm_list swarm_kill
swarm_broadcast worktree_commit worktree_push memory_store memory_recall memory_search
"""


async def test_the_team_has_every_tool_that_clients_of_team_servers_know(fleet: Fleet) -> None:
    async with team(fleet) as call:
        listed = {tool.name for tool in (await call.client.list_tools()).tools}
    assert {*EXPECTED.split()} <= listed


async def test_the_tools_of_an_agent_are_described_in_less_than_ten_kilobytes(
    fleet: Fleet,
) -> None:
    async with team(fleet, "agent") as call:
        listed = await call.client.list_tools()
    assert len(listed.model_dump_json(by_alias=True, exclude_none=True)) < 10_000
