"""The server may end at any time; the agents belong to a runner, and there is only one."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from codefleet.domain.model import Runner, TaskId
from codefleet.wiring import open_fleet
from tests.doors.mcp.conftest import BOUND_S, connected
from tests.gitrepo import SampleRepo
from tests.script import script

pytestmark = pytest.mark.slow

OLD_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


class RawServer:
    """A server spoken to line by line, in the older protocol."""

    def __init__(self, *args: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *(args or ("-m", "codefleet", "mcp"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._number = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        assert self.process.stdout
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._number:
                assert "result" in answer, answer
                return dict(answer["result"])
        raise AssertionError("the server ended")

    def begin(self, version: str) -> str:
        client = {"name": "test", "version": "1"}
        told = self.ask("initialize", protocolVersion=version, capabilities={}, clientInfo=client)
        self._send({"method": "notifications/initialized"})
        return str(told["protocolVersion"])

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        told = self.ask("tools/call", name=tool, arguments=arguments)
        return dict(json.loads(told["content"][0]["text"]))

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def close(self) -> int:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        code = self.process.wait(BOUND_S)
        self.process.stdout.close()
        return code


@pytest.mark.parametrize("how", ["killed", "closed"])
async def test_a_worker_finishes_when_its_server_ends_and_a_new_server_shows_it(
    home: Path, repo: SampleRepo, how: str, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    steps = script(f"wait until {go} 60", "write hello.txt hi")
    server = await asyncio.to_thread(RawServer)
    server.begin("2025-06-18")
    made = server.call("create_worker", repo_path=str(repo.path), task_name="Greet", prompt=steps)
    await _running(home, made["worker_id"])
    if how == "killed":
        os.killpg(server.process.pid, signal.SIGKILL)  # all of it, as closing a terminal would
    server.close()
    go.touch()
    async with connected() as call:
        assert (await call("wait", ids=[made["worker_id"]], timeout_seconds=60))["settled"]
        found = await call("get_worker_status", worker_id=made["worker_id"])
        assert found["status"] == "succeeded"
        assert found["retry_count"] == 0
        events = (await call("tail_events", after=0, limit=200))["events"]
        assert [event["kind"] for event in events].count("runner.started") == 1


@pytest.mark.parametrize("how", ["killed", "closed"])
async def test_a_workflow_finishes_when_its_server_ends_and_a_new_server_shows_it(
    home: Path, repo: SampleRepo, how: str, tmp_path: Path
) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    stages = [
        _stage("plan", "write plan.txt plan", "result completed The plan is made"),
        _stage(
            "left", f"shell touch {begun}", f"wait until {go} 60", "write left.txt l", needs=[0]
        ),
        _stage("right", f"wait until {go} 60", "write right.txt r", needs=[0]),
        _stage("join", "write join.txt '{stage_0_summary}'", needs=[1, 2]),
    ]
    server = await asyncio.to_thread(RawServer)
    server.begin("2025-06-18")
    made = server.call(
        "create_workflow", name="w", repo_path=str(repo.path), task_prompt="Do it", stages=stages
    )
    async with asyncio.timeout(BOUND_S):
        while not begun.exists():
            await asyncio.sleep(0.01)
    before = server.call("get_workflow_status", workflow_id=made["workflow_id"])
    if how == "killed":
        os.killpg(server.process.pid, signal.SIGKILL)
    server.close()
    go.touch()
    async with connected() as call:
        assert [flow["name"] for flow in (await call("list_workflows"))["workflows"]] == ["w"]
        assert (await call("wait", ids=[made["workflow_id"]], timeout_seconds=60))["settled"]
        found = await call(
            "collect_workflow_result", workflow_id=made["workflow_id"], include_all_stages=True
        )
    assert [stage["status"] for stage in before["stage_summary"]][0::3] == ["succeeded", "pending"]
    assert found["status"] == "succeeded", found["stage_summary"]
    branch = found["stage_results"][-1]["branch"]
    files = repo.git("ls-tree", "--name-only", branch).split()
    assert {"plan.txt", "left.txt", "right.txt", "join.txt"} <= set(files)
    assert repo.read(branch, "join.txt") == "The plan is made\n"
    async with open_fleet(home) as fleet:
        runs = await fleet.core.store.runs()
        assert len(runs) == len({run.task for run in runs}) == 4
        assert [e.kind for e in await fleet.events()].count("runner.started") == 1


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_older_revisions_of_the_protocol_are_spoken(home: Path, version: str) -> None:
    server = RawServer()
    assert server.begin(version) == version
    assert len(server.ask("tools/list")["tools"]) == 37
    assert server.call("list_workers")["count"] == 0
    assert server.close() == 0


def test_codefleet_without_arguments_serves_a_client_that_holds_a_pipe(home: Path) -> None:
    named = "import sys; sys.argv[0] = 'codefleet'; from codefleet.doors.cli import main; main()"
    server = RawServer("-c", named)
    server.begin("2025-06-18")
    assert server.call("list_workers")["count"] == 0
    assert server.close() == 0
    done = subprocess.run(
        [sys.executable, "-c", named], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert "Usage: codefleet" in done.stdout


async def test_two_servers_on_one_home_have_one_runner_and_every_worker_runs_once(
    home: Path, repo: SampleRepo, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    async with connected() as one, connected() as two:
        ids = await asyncio.gather(
            *(
                call.worker(repo, f"wait until {go} 60", f"write {number}.txt hi")
                for number, call in enumerate((one, two, one, two))
            )
        )
        await _running(home, *ids)  # one of them waits for a seat
        go.touch()
        assert (await two("wait", ids=ids, timeout_seconds=60))["settled"]
        status = [(await one("get_worker_status", worker_id=each))["status"] for each in ids]
        assert status == ["succeeded"] * 4
    async with open_fleet(home) as fleet:
        started = [e.kind for e in await fleet.events() if e.kind == "runner.started"]
        assert len(started) == 1
        assert [task.runs for task in [await fleet.get(each) for each in ids]] == [1] * 4


async def test_the_runner_ends_by_itself_when_there_is_nothing_left_to_do(
    home: Path, repo: SampleRepo
) -> None:
    async with connected() as call:
        made = await call.worker(repo, "write hello.txt hi")
        await call("wait", ids=[made], timeout_seconds=60)
    async with open_fleet(home) as fleet:
        async with asyncio.timeout(BOUND_S):
            while await fleet.core.store.records(Runner):
                await fleet.core.store.changed(await fleet.core.store.last_seq(), within=0.5)


def _stage(name: str, *steps: str, needs: Sequence[int] = ()) -> dict[str, Any]:
    return {
        "name": name,
        "executor": "scripted",
        "prompt_template": script(*steps),
        "worktree_strategy": "inherit" if needs else "new",
        "depends_on": list(needs),
    }


async def _running(home: Path, *workers: str) -> None:
    """Wait until one of these workers is running."""
    async with open_fleet(home) as fleet, asyncio.timeout(BOUND_S):
        while not any(run.worktree for run in await fleet.runs_of(*map(TaskId, workers))):
            await fleet.core.store.changed(await fleet.core.store.last_seq(), within=0.5)
