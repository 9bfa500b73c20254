"""Workflows and the commander's tools, with the official client."""

from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from codefleet.doors.cli.mcp import DEFAULT as CLI_DEFAULT
from codefleet.doors.mcp.server import DEFAULT
from tests.doors.conftest import on_a_terminal, program
from tests.doors.mcp.conftest import connected
from tests.gitrepo import SampleRepo
from tests.script import script

pytestmark = pytest.mark.slow

WRITE = script("write {0}.txt hi", "result completed Wrote it")
REVIEW = script("finish --no-changes Looks good")


def stage(name: str, prompt: str, *needs: int, **more: Any) -> dict[str, Any]:
    work = prompt.replace("{0}", name)
    return {
        "name": name,
        "executor": "scripted",
        "prompt_template": work,
        "depends_on": list(needs),
        **more,
    }


FLOWS = {
    "write-review-refine": [
        stage("implement", WRITE, worktree_strategy="new"),
        stage("review", "{stage_0_summary}: {stage_0_files}\n" + REVIEW, 0),
        stage("refine", "{stage_1_summary} {stage_1_next_steps}\n" + WRITE, 1),
    ],
    "fan-out": [
        stage("module-a", WRITE),
        stage("module-b", WRITE),
        stage("review", "A: {stage_0_summary} B: {stage_1_summary}\n" + REVIEW, 0, 1),
    ],
    "competition": [
        stage("codex-impl", WRITE, worktree_strategy="new"),
        stage("claude-impl", WRITE, worktree_strategy="new"),
        stage("evaluate", "{stage_0_summary} {stage_1_summary}\n" + REVIEW, 0, 1),
    ],
}


@pytest.mark.parametrize("name", FLOWS)
async def test_the_patterns_of_old_run_as_they_stand(
    home: Path, repo: SampleRepo, name: str
) -> None:
    async with connected() as call:
        made = await call(
            "create_workflow",
            name=name,
            repo_path=str(repo.path),
            task_prompt="Add validation",
            stages=FLOWS[name],
        )
        flow = made["workflow_id"]
        assert (await call("wait", ids=[flow], timeout_seconds=90))["settled"]
        found = await call("get_workflow_status", workflow_id=flow)
        assert found["status"] == "succeeded", found
        assert found["progress"] == "3/3 stages complete (3 succeeded)"
        every = await call("collect_workflow_result", workflow_id=flow, include_all_stages=True)
        first = every["stage_results"][0]
        assert first["summary"] == "Wrote it"
        assert first["files"] == [f"{first['stage']}.txt"]
        listed = await call("list_workflows", statuses=["succeeded"])
        assert [each["workflow_id"] for each in listed["workflows"]] == [flow]
        await call("cleanup_workflow", workflow_id=flow)
        assert not repo.git("branch", "--list", "fleet/*")
        assert repo.saved(f"{first['stage']}.txt") == {"hi\n"}


async def test_a_workflow_that_cannot_be_right_starts_nothing(home: Path, repo: SampleRepo) -> None:
    async with connected() as call:
        refused = await call.refused(
            "create_workflow",
            name="round",
            repo_path=str(repo.path),
            task_prompt="x",
            stages=[stage("a", "x", 1), stage("b", "x", 0)],
        )
        assert refused["code"] == "cycle"
        assert (await call("list_workflows"))["count"] == 0
        assert (await call("list_workers"))["count"] == 0


async def test_the_commander_plans_looks_and_decides(home: Path, repo: SampleRepo) -> None:
    async with connected() as call:
        made = await call(
            "create_task",
            repo_path=str(repo.path),
            tasks=[
                {"title": "Paint the fence", "name": "paint", "prompt": script("ask Which? | red")},
                {"title": "Dry the fence", "needs": ["paint"], "prompt": script("finish")},
            ],
        )
        paint, dry = (task["task_id"] for task in made["tasks"])
        assert (await call("analyze_dependencies"))["critical_path"] == [paint, dry]
        similar = await call("find_similar_tasks", query="painting a fence")
        assert similar["tasks"][0]["task_id"] == paint
        assert (await call("wait", ids=[paint], timeout_seconds=60))["settled"]
        (item,) = (await call("list_inbox"))["items"]
        assert item["text"] == "Which?"
        await call("answer_question", id=item["id"], answer="red")
        await call("cancel", task_id=dry)
        backlog = await call("search_backlog")
        assert dry not in [task["task_id"] for task in backlog["tasks"]]
        events = await call("tail_events", task_id=paint)
        assert "task.answered" in [event["kind"] for event in events["events"]]


async def test_prompts_are_offered(home: Path) -> None:
    async with connected() as call:
        client: Client = call.client
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert names == ["plan_this", "review_what_landed", "what_needs_me"]
        plan = await client.get_prompt("plan_this", {"goal": "Sell tea"})
        assert "Sell tea" in str(plan.messages[0].content)


def test_without_a_command_humans_get_help_and_clients_of_codefleet_a_server(home: Path) -> None:
    assert "Usage: fleet" in program(stdin="").out
    assert "Usage: fleet" in on_a_terminal()
    assert tuple(CLI_DEFAULT.split(",")) == DEFAULT


async def test_a_cancelled_task_is_told_with_all_that_it_holds_up(
    home: Path, repo: SampleRepo
) -> None:
    async with connected() as call:
        made = await call(
            "create_task",
            repo_path=str(repo.path),
            tasks=[
                {"title": "Paint", "name": "paint", "assignee": "nobody"},
                {"title": "Dry", "name": "dry", "needs": ["paint"]},
                {"title": "Admire", "needs": ["dry"]},
            ],
        )
        paint, dry, admire = (task["task_id"] for task in made["tasks"])
        assert (await call("analyze_dependencies"))["failures"] == []
        await call("cancel", task_id=paint)
        told = await call("analyze_dependencies")
        assert told["failures"] == [{"task_id": paint, "holds_up": [dry, admire]}]
