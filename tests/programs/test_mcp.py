"""The real Claude Code and our MCP server: as the fleet's commander, and as one of its agents."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from codefleet.domain.words import State
from codefleet.testing.model_server import ModelServer, prompt
from codefleet.wiring import open_fleet
from tests.doors.mcp.conftest import connected, end_runners
from tests.gitrepo import SampleRepo
from tests.programs.conftest import FIRST_TIME_S, SETTINGS, Station, installed
from tests.programs.install import program

pytestmark = [pytest.mark.slow, pytest.mark.programs, pytest.mark.timeout(FIRST_TIME_S)]

REVIEW = json.dumps({"status": "completed_no_changes", "summary": "It is 20."})


class AsAnAgent:
    """What every program can do with the tools of its run, by the names it gives them."""

    program: str
    acp: tuple[str, ...] = ()
    tool: str

    async def test_it_reports_and_notes_through_the_tools_of_its_run(
        self, station: Station, repo: SampleRepo
    ) -> None:
        station.configure(agent_tools="stdio")
        task = await station.add(
            "Add tax",
            [
                _tool(self.tool.format("report_progress"), text="half way"),
                _tool(self.tool.format("note_knowledge"), text="The till is old."),
                {"write": ["src/tax.py", "RATE = 19\n"]},
                {"text": "The tax is in."},
            ],
        )
        await station.crew.work()
        [run] = await station.runs(task)
        assert (await station.task(task)).state is State.COMPLETED, run.note
        told = [event for event in await station.fleet.events() if event.kind == "run.progress"]
        assert [(event.run, event.text) for event in told] == [(run.id, "half way")]
        notes = station.home / "runs" / run.id / "KNOWLEDGE.md"
        assert "The till is old." in notes.read_text()

    async def test_it_waits_in_its_turn_for_the_answer_of_a_human(
        self, station: Station, repo: SampleRepo
    ) -> None:
        station.configure(agent_tools="stdio")
        task = await station.add(
            "Add tax",
            [
                _tool(self.tool.format("ask_human"), question="How much?", options=["19", "20"]),
                {"write": ["src/tax.py", "RATE = 20\n"]},
                {"text": "The tax is in."},
            ],
        )

        async def answered_and_done() -> bool:
            for item in await station.fleet.inbox():
                assert (item.text, item.options) == ("How much?", ("19", "20"))
                await station.fleet.answer(item.id, "The answer is 20")
            return (await station.task(task)).state.is_final

        await station.crew.until(station.crew.loop(), answered_and_done)
        [run] = await station.runs(task)
        assert (await station.task(task)).state is State.COMPLETED, run.note
        assert any("The answer is 20" in str(seen) for seen in station.server.requests)


class TestClaudeAsAnAgent(AsAnAgent):
    program = "claude"
    tool = "mcp__fleet__{}"


class TestCodexAsAnAgent(AsAnAgent):
    program = "codex"
    tool = "mcp__fleet/{}"


class TestOpencodeAsAnAgent(AsAnAgent):
    program = "opencode"
    tool = "fleet_{}"


class TestOverAcpAsAnAgent(AsAnAgent):
    program = "gemini"
    acp = ("--acp",)
    tool = "mcp_fleet_{}"


async def test_claude_lets_codex_write_claude_review_and_codex_refine(
    tmp_path: Path, repo: SampleRepo, server: ModelServer
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    coders = {name: installed(name, server.url, tmp_path / name) for name in ("claude", "codex")}
    settings = {**SETTINGS, "idle_s": 0.2, "coders": coders}
    (home / "fleet.toml").write_text(tomlkit.dumps(settings))
    asked = _tool(
        "mcp__codefleet__create_workflow",
        name="tax",
        repo_path=str(repo.path),
        task_prompt="Add tax",
        stages=[
            _stage("implement", "codex", [{"write": ["src/tax.py", "RATE = 19\n"]}]),
            _stage("review", "claude", [{"write": [".codefleet/result.json", REVIEW]}], 0),
            _stage("refine", "codex", [{"sh": "sed -i s/19/20/ src/tax.py"}], 1),
        ],
    )
    try:
        done = await asyncio.to_thread(_commander, home, coders["claude"], [asked])
        assert done.returncode == 0, done.stdout + done.stderr
        async with connected(FLEET_HOME=str(home)) as call:
            (flow,) = (await call("list_workflows"))["workflows"]
            assert (await call("wait", ids=[flow["workflow_id"]], timeout_seconds=300))["settled"]
            found = await call(
                "collect_workflow_result", workflow_id=flow["workflow_id"], include_all_stages=True
            )
        assert found["status"] == "succeeded", found["stage_summary"]
        assert "It is 20." in found["stage_results"][1]["summary"]
        branch = found["stage_results"][2]["branch"]
        assert repo.read(branch, "src/tax.py") == "RATE = 20\n"
        async with open_fleet(home) as fleet:
            runs = await fleet.core.store.runs()
            assert [run.coder for run in runs] == ["codex", "claude", "codex"]
    finally:
        await end_runners(home)


def _tool(tool: str, /, **given: Any) -> dict[str, object]:
    return {"tool": tool, "input": given}


def _stage(name: str, coder: str, steps: list[dict[str, object]], *needs: int) -> dict[str, Any]:
    about = "".join(f"{{stage_{need}_summary}} {{stage_{need}_files}}\n" for need in needs)
    return {
        "name": name,
        "executor": coder,
        "prompt_template": f"{{task_prompt}}\n{about}{prompt(*steps)}",
        "worktree_strategy": "inherit" if needs else "new",
        "depends_on": list(needs),
    }


def _commander(
    home: Path, options: dict[str, Any], steps: list[dict[str, object]]
) -> "subprocess.CompletedProcess[str]":
    """Claude Code with our server registered, told to do these steps."""
    ours = {
        "command": sys.executable,
        "args": ["-m", "codefleet", "mcp"],
        "env": {"FLEET_HOME": str(home)},
    }
    folder = home.parent / "commander"
    folder.mkdir()
    return subprocess.run(
        [
            options.get("program") or str(program("claude")),
            *("-p", "--output-format=stream-json", "--verbose", "--strict-mcp-config"),
            f"--mcp-config={json.dumps({'mcpServers': {'codefleet': ours}})}",
            "--allowedTools=mcp__codefleet",
        ],
        input=_nested(prompt(*steps)),
        cwd=folder,
        env={**os.environ, **options["env"], "CLAUDE_CONFIG_DIR": options["account"]},
        capture_output=True,
        text=True,
        timeout=120,
    )


def _nested(script: str) -> str:
    """A script whose own texts contain scripts, escaped so that only JSON reads them."""
    head, body, tail = script.partition("<<SCRIPT")[1], script[8:-8], "SCRIPT>>"
    inner = body.replace("<<SCRIPT", "<\\u003cSCRIPT").replace("SCRIPT>>", "SCRIPT\\u003e>")
    return head + inner + tail
