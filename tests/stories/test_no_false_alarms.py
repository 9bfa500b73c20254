"""No false alarms from what agents do: none is stopped, retried or believed without reason."""

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from codefleet.domain.model import Draft, Task
from codefleet.domain.words import Outcome, Reason, State
from codefleet.fleet import Fleet
from tests.false_alarms import ALL_OF_IT, WORDS
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]
MADE = "open('made.txt', 'w').write('x')"
IMPATIENT: dict[str, Any] = {"quiet_s": 0.2, "stuck_s": 0.5}


async def assert_done_at_once(fleet: Fleet, task: Task) -> None:
    """One run, no warnings, and the task is done."""
    done = await fleet.get(task.id)
    assert (done.state, done.runs, done.attempts) == (State.COMPLETED, 1, 0), done.note
    kinds = {event.kind for event in await fleet.events(task=task.id, limit=10_000)}
    assert kinds.isdisjoint({"run.stopping", "run.warned", "run.failed", "task.released"})


async def test_an_agent_that_talks_of_limits_and_logins_is_left_in_peace(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    said = [f"say {row.words}" for row in WORDS]
    shown = ("write words.txt <<END", *ALL_OF_IT.splitlines(), "END", "shell cat words.txt >&2")
    task = await add("Talk", *said, *shown, "finish --no-changes Not logged in, HTTP 429")
    await crew.work()
    await assert_done_at_once(fleet, task)


async def test_a_plain_program_that_prints_such_words_is_left_in_peace(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    words = "\n".join(row.words for row in WORDS if not row.words.startswith("{"))
    program = f"import sys; print({words!r}); print({words!r}, file=sys.stderr); {MADE}"
    task = await add("Talk", coder="command")
    await crew.work(coders={"command": {"argv": [sys.executable, "-c", program]}})
    await assert_done_at_once(fleet, task)


async def test_an_agent_that_fails_while_it_talks_of_limits_uses_up_an_attempt_and_no_login(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    program = f"import sys; print({ALL_OF_IT!r}, file=sys.stderr); sys.exit(1)"
    task = await add("Talk", coder="command", max_attempts=2)
    await crew.work(coders={"command": {"argv": [sys.executable, "-c", program]}})
    failed = await fleet.get(task.id)
    assert (failed.state, failed.reason, failed.attempts) == (State.FAILED, Reason.CRASHED, 2)


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            "import time; end = time.process_time() + 2\nwhile time.process_time() < end: pass",
            id="it computes",
        ),
        pytest.param(
            "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)\n"
            "for n in range(25): open('f%d' % n, 'w').close(); signal.sigwait([signal.SIGALRM])",
            id="it writes files",
        ),
    ],
)
async def test_an_agent_that_works_without_a_word_is_not_stuck(
    fleet: Fleet, crew: Crew, add: Add, program: str
) -> None:
    task = await add("Work", coder="command")
    argv = [sys.executable, "-c", f"{program}\n{MADE}"]
    await crew.work(coders={"command": {"argv": argv}}, **IMPATIENT)
    done = await fleet.get(task.id)
    assert (done.state, done.runs) == (State.COMPLETED, 1), done.note


async def test_an_agent_whose_tool_is_silent_for_long_is_not_stuck(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Test", "shell sleep 2.5", "write a.txt a")
    await crew.work(**IMPATIENT)
    done = await fleet.get(task.id)
    assert (done.state, done.runs) == (State.COMPLETED, 1), done.note


async def test_agents_that_end_at_once_are_all_seen_to_end(fleet: Fleet, crew: Crew) -> None:
    tasks = await fleet.add([Draft(title=f"Blink {n}", coder="command") for n in range(20)])
    await crew.work(agents=10, coders={"command": {"argv": ["true"]}}, attempts=1)
    for task in tasks:
        done = await fleet.get(task.id)
        assert (done.state, done.reason) == (State.FAILED, Reason.NO_CHANGES)


async def test_an_agent_that_ends_well_and_did_nothing_is_not_started_for_ever(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Nothing", "say All tests pass. SUCCESS. Done!", max_attempts=3)
    await crew.work()
    failed = await fleet.get(task.id)
    assert (failed.state, failed.reason, failed.runs) == (State.FAILED, Reason.NO_CHANGES, 3)


async def test_a_runner_that_is_stopped_again_and_again_uses_up_no_attempt(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Patience", "hang", max_attempts=1)
    for times in range(1, 4):

        async def works(times: int = times) -> bool:
            events = await fleet.core.store.events(task=task.id, kinds=["run.session"])
            return len(events) == times

        await crew.until(crew.loop(), works)
    back = await fleet.get(task.id)
    assert (back.state, back.attempts, back.runs) == (State.PENDING, 0, 3)
    outcomes = [run.outcome for run in await fleet.runs_of(task.id)]
    assert outcomes == [Outcome.RELEASED] * 3
