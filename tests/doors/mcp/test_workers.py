"""Workers over stdio, with the official client."""

import json
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from codefleet.wiring import open_fleet
from tests.doors.mcp.conftest import Caller, connected, server
from tests.gitrepo import SampleRepo

pytestmark = pytest.mark.slow


async def finished(call: Caller, *ids: str) -> list[str]:
    """The states in which these end."""
    told = await call("wait", ids=list(ids), timeout_seconds=60)
    assert told["settled"]
    return [task["state"] for task in told["tasks"]]


async def test_a_worker_returns_at_once_and_its_result_is_what_git_has(
    home: Path, repo: SampleRepo
) -> None:
    async with connected() as call:
        made = await call.worker(
            repo,
            *("write hello.txt hi", "result completed It greets"),
            tags=["polite"],
            metadata={"ticket": 7},
        )
        await finished(call, made)
        found = await call("collect_worker_result", worker_id=made, include_logs=True)
        assert found["status"] == "succeeded"
        assert found["status_label"] == "[OK]"
        assert found["tags"] == ["polite"]
        assert found["metadata"] == {"ticket": 7}
        assert found["exit_code"] == 0
        assert found["pid"] > 1
        assert found["started_at"] <= found["last_activity_at"] <= found["last_heartbeat_at"]
        assert found["heartbeat_age"]
        assert found["last_output_age"]
        assert found["result"]["summary"] == "It greets"
        assert found["result"]["files_changed"] == ["hello.txt"]
        assert "finished" in found["stdout_tail"]
        assert repo.read(found["branch_name"], "hello.txt") == "hi\n"
        assert "hello.txt" not in repo.git("ls-tree", "--name-only", "main")


async def test_the_log_the_diff_and_the_evidence_of_a_run_are_resources(
    home: Path, repo: SampleRepo
) -> None:
    async with connected() as call:
        made = await call.worker(repo, "write hello.txt hi")
        await finished(call, made)
        run = (await call("get_worker_status", worker_id=made))["run_id"]
        texts = {}
        for part in ("log", "diff", "evidence"):
            read = await call.client.read_resource(f"fleet://runs/{run}/{part}")
            texts[part] = read.contents[0].text  # type: ignore[union-attr]
        assert "+hi" in texts["diff"]
        assert json.loads(texts["evidence"])["commits"] == 1
        assert "started" in texts["log"]


async def test_cleaning_up_archives_what_is_on_no_trunk(home: Path, repo: SampleRepo) -> None:
    async with connected() as call:
        made = await call.worker(repo, "write hello.txt hi")
        await finished(call, made)
        found = await call("collect_worker_result", worker_id=made)
        await call("cleanup_worker", worker_id=made)
        assert not repo.git("branch", "--list", found["branch_name"])
        assert repo.saved("hello.txt") == {"hi\n"}


async def test_work_that_goes_on_is_not_cleaned_up(home: Path, repo: SampleRepo) -> None:
    async with connected() as call:
        made = await call.worker(repo, "wait until never 60")
        refused = await call.refused("cleanup_worker", worker_id=made)
        assert refused["code"] == "refused"
        await call("cancel_worker", worker_id=made)
        found = await call("get_worker_status", worker_id=made)
        assert found["status"] == "cancelled"


async def test_a_run_that_takes_too_long_is_told_as_timed_out(home: Path, repo: SampleRepo) -> None:
    async with connected() as call:
        made = await call.worker(repo, "hang", timeout_seconds=0.5)
        await finished(call, made)
        found = await call("get_worker_status", worker_id=made)
        assert found["status"] == "timed_out"
        listed = await call("list_workers", statuses=["timed_out"])
        assert listed["summary"] == "1 worker: 1 timed_out"
        assert (await call("list_workers", statuses=["failed"]))["count"] == 0


async def test_twenty_programs_that_exit_at_once_all_end_in_a_final_state(
    home: Path, repo: SampleRepo
) -> None:
    home.mkdir()
    (home / "fleet.toml").write_text('[coders.command]\nargv = ["false"]\n')
    async with connected(FLEET_MAX_CONCURRENT="8") as call:
        ids = [await call.worker(repo, prompt="exit", executor="command") for _ in range(20)]
        assert set(await finished(call, *ids)) == {"failed"}
        first = await call("list_workers", limit=15)
        rest = await call("list_workers", limit=15, cursor=first["next_cursor"])
        assert {w["worker_id"] for w in first["workers"] + rest["workers"]} == set(ids)
        assert rest["next_cursor"] is None


async def test_repositories_outside_the_allowed_ones_are_refused_before_anything_changes(
    home: Path, repo: SampleRepo, tmp_path: Path
) -> None:
    async with connected(FLEET_ALLOWED_REPOS=str(tmp_path / "elsewhere")) as call:
        refused = await call.refused(
            "create_worker", repo_path=str(repo.path), task_name="Greet", prompt="hi"
        )
        assert refused["code"] == "refused"
        assert "elsewhere" in refused["hint"]
    async with open_fleet(home) as fleet:
        assert await fleet.repos() == []
        assert await fleet.events() == []


async def test_all_default_tools_are_described_in_less_than_twenty_kilobytes(home: Path) -> None:
    async with connected() as call:
        listed = await call.client.list_tools()
    text = listed.model_dump_json(by_alias=True, exclude_none=True)
    assert len(listed.tools) == 37
    assert len(text) < 20_000
    assert all(len(tool.description or "") > 40 for tool in listed.tools)


async def test_a_client_of_the_handshake_era_is_served_too(home: Path) -> None:
    async with Client(stdio_client(server()), mode="legacy") as client:
        assert client.protocol_version < "2026"
        assert not (await client.call_tool("list_workers", {})).is_error


async def test_an_executor_whose_program_is_missing_is_not_usable(
    home: Path, repo: SampleRepo
) -> None:
    async with connected() as call:
        told = (await call("executor_guide"))["executors"]
    known = {each["name"]: each for each in told}
    assert known["goose"]["usable"] is False
    assert known["goose"]["why"].startswith("goose is not installed here: install it")
    assert known["scripted"]["usable"] is True
    assert "why" not in known["scripted"]


async def test_old_names_of_variables_still_count(
    home: Path, repo: SampleRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FLEET_HOME")
    old = {"FLEET_BASE_DIR": str(home), "FLEET_DEFAULT_EXECUTOR": "command"}
    async with connected(**old) as call:
        assert (await call("executor_guide"))["default"] == "command"
    assert (home / "fleet.db").exists()
