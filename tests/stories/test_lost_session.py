"""A session that its program no longer has: a fresh one continues, and nobody is blamed."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import tomlkit

from codefleet.domain.model import Task
from codefleet.domain.words import Outcome, Reason, State
from codefleet.fleet import Fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]

PROGRAM = """
import json, pathlib, sys
run, session = sys.argv[1:]
prompt = sys.stdin.read()
def say(**line): print(json.dumps(line), flush=True)
if session != run:
    {refusal}
    sys.exit(1)
say(type="started", session="s-" + run)
if run.endswith(".1"):
    pathlib.Path("first.txt").write_text("1\\n")
    say(type="said", text="HALF OF IT IS DONE")
    say(type="limit", text="slow down")
    sys.exit(1)
pathlib.Path("second.txt").write_text(prompt)
say(type="finished", text="Done.")
"""
REFUSALS = {
    "in words of its own": "sys.stderr.write('no such session\\n')",
    "by the fleet's protocol": "say(type='broke', text='no such session', reason='session_lost')",
}


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_session_that_cannot_be_resumed_is_begun_anew_and_costs_no_attempt(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, tmp_path: Path, refusal: str
) -> None:
    program = tmp_path / "agent.py"
    program.write_text(PROGRAM.replace("{refusal}", REFUSALS[refusal]))
    argv = [sys.executable, str(program), "{run}", "{session}"]
    settings = {"coders": {"command": {"argv": argv}}, "limit_rest_s": 0.01}
    (fleet.home / "fleet.toml").write_text(tomlkit.dumps(settings))
    task = await add("Make it", coder="command", max_attempts=1)
    await crew.work()
    limited, lost, fresh = await fleet.runs_of(task.id)
    done = await fleet.get(task.id)
    assert (done.state, done.attempts) == (State.COMPLETED, 0), fresh.note
    assert (limited.reason, lost.outcome) == (Reason.RATE_LIMIT, Outcome.RELEASED)
    assert lost.reason is Reason.SESSION_LOST
    assert fresh.worktree == limited.worktree
    assert repo.read("main", "first.txt") == "1\n"
    assert "HALF OF IT IS DONE" in repo.read("main", "second.txt")


async def test_a_fresh_run_that_speaks_of_a_lost_session_has_failed(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Make it", "broke session_lost Where is it?", max_attempts=1)
    await crew.work()
    failed = await fleet.get(task.id)
    assert (failed.state, failed.attempts) == (State.FAILED, 1)
