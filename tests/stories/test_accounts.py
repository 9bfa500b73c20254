"""Resting accounts: fleet-wide, without blaming the task, until a time or a human ends it."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from codefleet.domain.errors import NotFound
from codefleet.domain.model import Rest, Task
from codefleet.domain.words import Outcome, Reason, State
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from tests.gitrepo import SampleRepo
from tests.stories.conftest import BOUND_S, Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]


def configure(fleet: Fleet, text: str) -> None:
    (fleet.home / "fleet.toml").write_text(text)


async def rest(fleet: Fleet, account: str, hours: float | None = 5) -> None:
    now = await fleet.core.store.now()
    until = None if hours is None else now + timedelta(hours=hours)
    reason = Reason.QUOTA if until else Reason.AUTH
    await Dispatch(fleet).rest(
        Rest(account=account, reason=reason, note="", since=now, until=until)
    )


async def completed(fleet: Fleet, task: Task) -> bool:
    return (await fleet.get(task.id)).state is State.COMPLETED


async def test_a_limit_of_one_task_holds_back_every_task_of_that_account_and_no_other(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    configure(fleet, '[coders.command]\nargv = ["touch", "made.txt"]\n')
    limited = await add("Limited", "limit 3600 No more", priority=5)
    behind = await add("Behind it", "write b.txt b")
    other = await add("Another coder", coder="command", priority=1)

    async def the_other_is_done() -> bool:
        return (await fleet.get(other.id)).state is State.COMPLETED

    await crew.until(crew.loop(agents=1), the_other_is_done)
    tasks = [await fleet.get(task.id) for task in (limited, behind)]
    assert [(task.state, task.attempts) for task in tasks] == [(State.PENDING, 0)] * 2
    assert (tasks[0].runs, tasks[1].runs) == (1, 0)
    why = await fleet.why(tasks)
    for task in tasks:
        assert why[task.id].why == "account"
        assert why[task.id].text.startswith("scripted rests until ")
    assert [rest.account for rest in (await fleet.status()).rests] == ["scripted"]


async def test_an_account_that_is_logged_out_waits_for_a_human_and_then_goes_on(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Locked", "write a.txt a", "broke auth Please log in", "write b.txt b")
    await crew.work()
    [run] = await fleet.runs_of(task.id)
    assert (run.outcome, run.reason) == (Outcome.RELEASED, Reason.AUTH)
    waiting = await fleet.get(task.id)
    assert (waiting.state, waiting.attempts) == (State.PENDING, 0)
    [item] = await fleet.inbox()
    assert (item.kind, item.id, item.task) == ("account", "scripted", None)
    assert "fleet coders wake scripted" in item.text
    await fleet.wake("scripted")
    assert await fleet.inbox() == []
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.read("main", "b.txt") == "b\n"


async def test_a_runner_at_work_heeds_a_human_who_wakes_an_account(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    await rest(fleet, "scripted")
    task = await add("Waits", "write a.txt a")
    loop = crew.loop()
    running = asyncio.create_task(loop.run())

    async def waits() -> bool:
        return bool(await fleet.agents())

    async def done() -> bool:
        return (await fleet.get(task.id)).state is State.COMPLETED

    await crew.wait_for(waits)
    await fleet.wake("scripted")
    await crew.wait_for(done)
    loop.stop()
    await asyncio.wait_for(running, BOUND_S)


async def test_a_runner_that_works_until_idle_waits_for_an_account_that_wakes_by_itself(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    await rest(fleet, "scripted", hours=1 / 3600)
    task = await add("Soon", "write a.txt a")
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED


async def test_only_the_named_account_of_a_coder_rests(fleet: Fleet, crew: Crew, add: Add) -> None:
    await rest(fleet, "scripted@~/work")
    task = await add("Free", "write a.txt a")
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED


async def test_an_account_of_one_repo_does_not_hold_back_another_that_works_without_it(
    fleet: Fleet, add: Add
) -> None:
    task = await add("Waits", "write a.txt a")
    await rest(fleet, "scripted@~/work")
    assert (await fleet.why([task]))[task.id].why == "seat"
    configure(fleet, '[repos.shop.coders.scripted]\naccount = "~/work"\n')
    assert (await fleet.why([task]))[task.id].text.startswith("scripted@~/work rests until ")


async def test_a_task_that_a_rule_sends_to_a_resting_account_is_given_back_at_once(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    configure(fleet, '[[route]]\nname = "hard"\nlabels = ["hard"]\ncoder = "claude"\n')
    await rest(fleet, "claude", hours=None)
    routed = await add("Hard", "write a.txt a", labels=["hard"])
    plain = await add("Plain", "write b.txt b")
    await crew.work()
    given_back = await fleet.get(routed.id)
    assert (given_back.state, given_back.coder, given_back.route) == ("pending", "claude", "hard")
    assert (given_back.runs, given_back.attempts, given_back.branch) == (1, 0, None)
    assert (await fleet.get(plain.id)).state is State.COMPLETED


async def test_a_fallback_goes_on_at_once_in_the_same_worktree_with_what_the_first_one_left(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    configure(fleet, '[coders.command]\nargv = ["cp", "a.txt", "b.txt"]\n')
    steps = ("write a.txt a", "say Half of it is done", "limit 3600 No more")
    task = await add("Hops", *steps, fallback="command", model="large")
    await crew.until(crew.loop(), lambda: completed(fleet, task))
    first, second = await fleet.runs_of(task.id)
    assert [run.coder for run in (first, second)] == ["scripted", "command"]
    assert (first.reason, second.worktree) == (Reason.QUOTA, first.worktree)
    done = await fleet.get(task.id)
    assert (done.coder, done.model, done.route) == ("command", None, "fallback from scripted")
    assert repo.read("main", "b.txt") == "a\n"
    prompt = (fleet.home / "runs" / second.id / "prompt.md").read_text()
    assert "> Its last message:\n> \n> Half of it is done" in prompt
    told = [event.text for event in await fleet.events() if event.kind == "task.rerouted"]
    assert told == ["scripted rests; command takes over"]


async def test_a_task_that_has_not_begun_goes_to_the_fallback_of_the_settings(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    configure(
        fleet,
        'fallback = "command"\nmodel = "large"\n[coders.command]\nargv = ["touch", "made.txt"]\n',
    )
    await rest(fleet, "scripted", hours=None)
    task = await add("Hops", "write a.txt a")
    own = await add("Stays", "write b.txt b", fallback="")
    await crew.work()
    [run] = await fleet.runs_of(task.id)
    assert (run.coder, run.model, run.outcome) == ("command", None, Outcome.SUBMITTED)
    assert (await fleet.get(own.id)).runs == 0


async def test_there_is_no_second_hop(fleet: Fleet, crew: Crew, add: Add) -> None:
    program = fleet.home / "agent.py"
    program.write_text('print(\'{"type": "broke", "reason": "auth"}\')\n')
    configure(
        fleet,
        f'fallback = "claude"\n[coders.command]\nargv = ["{sys.executable}", "{program}"]\n',
    )
    task = await add("Hops", "limit 3600 No more", fallback="command")

    async def both_rest() -> bool:
        return len(await fleet.rests()) == 2

    await crew.until(crew.loop(), both_rest)
    waiting = await fleet.get(task.id)
    assert (waiting.state, waiting.coder, waiting.attempts) == (State.PENDING, "command", 0)
    assert "command is logged out" in (await fleet.why([waiting]))[task.id].text


async def test_a_fallback_that_rests_as_well_is_no_help(fleet: Fleet, crew: Crew, add: Add) -> None:
    for account in ("scripted", "command"):
        await rest(fleet, account, hours=None)
    task = await add("Waits", "write a.txt a", fallback="command")
    await crew.work()
    waiting = await fleet.get(task.id)
    assert (waiting.coder, waiting.fallback, waiting.runs) == (None, "command", 0)


async def test_a_rest_is_told_once_however_many_runs_meet_the_limit(fleet: Fleet) -> None:
    for hours in (5, 4, 3):
        await rest(fleet, "claude", hours=hours)
    kinds = [event.kind for event in await fleet.events()]
    assert kinds.count("account.rests") == 1


async def test_waking_an_account_that_does_not_rest_says_which_do(fleet: Fleet) -> None:
    await rest(fleet, "codex")
    with pytest.raises(NotFound) as refused:
        await fleet.wake("claude")
    assert refused.value.hint == "these rest: codex"


async def test_a_coder_with_one_resting_account_can_be_woken_by_its_name(fleet: Fleet) -> None:
    await rest(fleet, "claude@~/work")
    assert (await fleet.wake("claude")).account == "claude@~/work"
    assert await fleet.rests() == []


async def test_trouble_at_a_provider_is_waited_out_and_costs_no_attempt(
    fleet: Fleet, crew: Crew, add: Add, tmp_path: Path
) -> None:
    been = tmp_path / "been"
    program = tmp_path / "agent.py"
    program.write_text(
        "import json, pathlib, sys\n"
        f"been = pathlib.Path({str(been)!r})\n"
        "if been.exists():\n"
        "    pathlib.Path('a.txt').write_text('a')\n"
        "    sys.exit(print(json.dumps({'type': 'finished'})))\n"
        "been.touch()\n"
        "said = {'type': 'broke', 'text': 'status 500', 'reason': 'crashed', 'passing': True}\n"
        "print(json.dumps(said))\n"
    )
    configure(fleet, f'[coders.command]\nargv = ["{sys.executable}", "{program}"]\n')
    task = await add("Wait", coder="command", max_attempts=1)
    await crew.work(limit_rest_s=0.01)
    first, second = await fleet.runs_of(task.id)
    assert (first.outcome, first.reason) == (Outcome.RELEASED, Reason.CRASHED)
    assert second.outcome is Outcome.SUBMITTED
    assert (await fleet.get(task.id)).attempts == 0


async def test_a_task_goes_back_to_its_own_coder_once_that_works_again(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    configure(fleet, 'attempts = 2\nrest_s = 0.0\n[coders.command]\nargv = ["false"]\n')
    await rest(fleet, "scripted", hours=None)
    task = await add("Hops", "write a.txt a", fallback="command", model="large")

    async def fallback_failed() -> bool:
        runs = await fleet.runs_of(task.id)
        return bool(runs and runs[0].outcome)

    await crew.until(crew.loop(), fallback_failed)
    await fleet.wake("scripted")
    await crew.work()
    first, *_, last = await fleet.runs_of(task.id)
    assert (first.coder, last.coder) == ("command", "scripted")
    done = await fleet.get(task.id)
    assert (done.state, done.model, done.fallback) == ("completed", "large", "command")


async def test_a_retried_task_begins_with_its_own_coder(fleet: Fleet, crew: Crew, add: Add) -> None:
    configure(fleet, 'attempts = 1\n[coders.command]\nargv = ["false"]\n')
    await rest(fleet, "scripted", hours=None)
    task = await add("Hops", "write a.txt a", fallback="command")
    await crew.work()
    assert (await fleet.get(task.id)).state is State.FAILED
    again = await fleet.retry(task.id)
    assert (again.coder, again.fallback) == ("scripted", "command")
