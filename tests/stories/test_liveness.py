"""Agents that show no activity, and agents that are only quiet."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.model import Task
from codefleet.domain.words import Outcome, Reason, State
from codefleet.fleet import Fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]

KEEP_ALIVE = """\
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
while signal.sigwait([signal.SIGALRM]):
    print('{"type": "ping"}', flush=True)
"""
SILENT_CHILD = """\
import subprocess, sys
work = "import time; end = time.process_time() + 3\\nwhile time.process_time() < end: pass"
subprocess.run([sys.executable, "-c", work], check=True)
open("made.txt", "w").write("made")
"""


def command(fleet: Fleet, program: str) -> None:
    """Let the command coder run this Python program."""
    file = fleet.home / "agent.py"
    file.write_text(program)
    argv = f'["{sys.executable}", "{file}"]'
    (fleet.home / "fleet.toml").write_text(f"[coders.command]\nargv = {argv}\n")


async def impatiently(crew: Crew, *, tool_s: float = 60.0) -> None:
    """Work as a runner that gives up after half a second of silence."""
    await crew.work(quiet_s=0.2, stuck_s=0.5, tool_s=tool_s, grace_s=1.0)


async def told(fleet: Fleet, task: Task, kind: str) -> list[str]:
    return [event.text for event in await fleet.events(task=task.id) if event.kind == kind]


async def test_a_frozen_agent_is_started_again_twice_and_then_fails_with_the_reasons(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Frozen", "write a.txt a", "hang", max_attempts=1)
    await impatiently(crew)
    runs = await fleet.runs_of(task.id)
    assert [run.outcome for run in runs] == [*[Outcome.RELEASED] * 2, Outcome.FAILED]
    assert {(run.reason, run.session, run.worktree) for run in runs} == {
        (Reason.STUCK, runs[0].session, runs[0].worktree)
    }
    failed = await fleet.get(task.id)
    assert (failed.state, failed.reason) == (State.FAILED, Reason.STUCK)
    for signal in ("no output", "no CPU time", "no file changed", "2 restarts did not help"):
        assert signal in failed.note
    assert len(await told(fleet, task, "run.stopping")) == 3


async def test_a_restarted_agent_goes_on_where_it_stood(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    hang_once = "[ -e began ] || { touch began; kill -STOP $PPID; }"
    task = await add("Stops once", "append a.txt a", f"shell {hang_once}", "append b.txt b")
    await impatiently(crew, tool_s=0.5)
    first, second = await fleet.runs_of(task.id)
    assert (first.outcome, first.reason) == (Outcome.RELEASED, Reason.STUCK)
    assert second.session == first.session
    assert (await fleet.get(task.id)).attempts == 0
    assert repo.read("main", "a.txt") == "a\n"
    assert repo.read("main", "b.txt") == "b\n"


async def test_an_agent_that_pays_no_heed_to_the_interrupt_is_killed_after_its_grace(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Deaf", "ignore SIGTERM", "hang")
    await impatiently(crew)
    assert (await fleet.get(task.id)).reason is Reason.STUCK


async def test_lines_that_only_keep_a_connection_alive_are_no_sign_of_life(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    command(fleet, KEEP_ALIVE)
    task = await add("Stalled", coder="command")
    await impatiently(crew)
    failed = await fleet.get(task.id)
    assert (failed.state, failed.reason) == (State.FAILED, Reason.STUCK)
    assert "no output for" in failed.note


async def test_a_silent_agent_whose_child_is_at_work_is_left_alone(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    command(fleet, SILENT_CHILD)
    task = await add("Quiet", coder="command")
    await impatiently(crew)
    [run] = await fleet.runs_of(task.id)
    assert run.outcome is Outcome.SUBMITTED
    assert await told(fleet, task, "run.quiet")
    assert repo.read("main", "made.txt") == "made"


async def test_a_tool_that_waits_in_silence_is_left_alone(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    wait = f"until [ -e {gate} ]; do sleep 0.2; done"
    task = await add("Long test", f"shell {wait}", "write a.txt a")

    async def is_quiet() -> bool:
        return bool(await told(fleet, task, "run.quiet"))

    async def done() -> bool:
        if await is_quiet():
            gate.touch()
        return (await fleet.get(task.id)).state is State.COMPLETED

    await crew.until(crew.loop(quiet_s=0.2, stuck_s=0.5), done)
    assert await told(fleet, task, "run.stopping") == []


async def test_an_agent_in_an_endless_loop_is_ended_by_the_clock(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Spins", "spin", max_attempts=1, timeout_s=3)
    await impatiently(crew)
    assert (await fleet.get(task.id)).reason is Reason.TIMEOUT
