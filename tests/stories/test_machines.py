"""Two machines in one process: two homes, two clones, two names, one store and one remote."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import click
import pytest

import codefleet
from codefleet.domain.errors import Invalid, Refused
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, Runner, RunnerId, Task
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.validation import checked
from codefleet.domain.words import Outcome, State
from codefleet.doors.cli.status import draw
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.runner.context import Context
from codefleet.runner.loop import Loop
from codefleet.runner.repos import moved, register, share
from codefleet.runner.run.workspace import Workspace
from codefleet.runner.stale_agents import end_stale_agents
from codefleet.runner.stop import Cause
from codefleet.wiring import open_fleet
from tests import postgres
from tests.gitrepo import SampleRepo, make_repo
from tests.script import script
from tests.stories.conftest import FLAGS, Crew

pytestmark = pytest.mark.slow


class Pair(NamedTuple):
    """Ada, who shares her clone; Bob, who has no clone and gets a mirror; and their remote."""

    ada: Fleet
    bob: Fleet
    clone: SampleRepo
    remote: SampleRepo


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    seed = make_repo(tmp_path / "seed", {"README.md": "A shop.\n"})
    remote = SampleRepo(tmp_path / "srv" / "shop.git")
    seed.git("clone", "--quiet", "--bare", str(seed.path), str(remote.path))
    seed.git("clone", "--quiet", str(remote.path), str(tmp_path / "ada" / "shop"))
    clone = SampleRepo(tmp_path / "ada" / "shop")
    address = postgres.shared().fresh()
    async with AsyncExitStack() as stack:
        fleets = []
        for name in ("ada", "bob"):
            flags = {**FLAGS, "host": name, "store": address, "lease_s": 2.0}
            opened = open_fleet(tmp_path / name / "home", create=True, flags=flags)
            fleets.append(await stack.enter_async_context(opened))
        await register(fleets[0], clone.path)
        ada, bob = fleets
        yield Pair(ada, bob, clone, remote)


def context(fleet: Fleet) -> Context:
    kept = {"host": fleet.host, "store": fleet.config.store, "lease_s": fleet.config.lease_s}
    return Context(fleet, {**FLAGS, **kept})


async def work(fleet: Fleet) -> None:
    """One machine works until nothing is left."""
    await Loop(context(fleet), agents=2, until_idle=True).run()


async def add(fleet: Fleet, title: str, *steps: str, **fields: object) -> Task:
    draft = {"title": title, "prompt": script(*steps), "repo": "shop", **fields}
    return (await fleet.add([checked(Draft, draft)]))[0]


async def test_work_of_one_machine_is_seen_by_what_waits_for_it_on_another(pair: Pair) -> None:
    await share(context(pair.ada), "shop")
    first = await add(pair.ada, "First", "write a.txt one")
    await work(pair.ada)
    await add(pair.ada, "Second", "shell test -f a.txt", "write b.txt two", needs=[first.id])
    await work(pair.bob)
    assert pair.remote.read("main", "b.txt") == "two\n"
    assert pair.remote.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


async def test_another_machine_goes_on_from_what_was_sent_and_not_in_the_session(
    pair: Pair,
) -> None:
    await share(context(pair.ada), "shop")
    steps = ("write half.txt half", "ask Which?", "on attempt 2", "write rest.txt {{answer}}")
    task = await add(pair.ada, "Ask", *steps)
    await work(pair.ada)
    assert pair.remote.read(f"fleet/{task.id}-ask", "half.txt") == "half\n"
    await pair.ada.answer(task.id, "this")
    await work(pair.bob)
    asked, answered = await pair.bob.runs_of(task.id)
    assert (asked.host, answered.host) == ("ada", "bob")
    assert asked.session != answered.session
    assert pair.remote.read("main", "half.txt") == "half\n"
    assert pair.remote.read("main", "rest.txt") == "this\n"


async def test_a_repo_that_is_not_shared_is_left_to_its_machine(pair: Pair) -> None:
    task = await add(pair.ada, "Alone", "write a.txt one")
    await Dispatch(pair.bob).join(host="bob", pid=1, pid_started=1.0, seats=1, coder=None)
    (hold,) = (await pair.bob.why([task])).values()
    assert hold.text == "shop is only on ada, without a runner"
    await work(pair.bob)
    assert (await pair.bob.get(task.id)).runs == 0
    await work(pair.ada)
    assert pair.clone.read("main", "a.txt") == "one\n"
    assert pair.clone.sha("origin/main") != pair.clone.sha("main")


async def test_a_clone_of_what_another_machine_has_alone_is_refused(
    pair: Pair, tmp_path: Path
) -> None:
    pair.remote.git("clone", "--quiet", str(pair.remote.path), str(tmp_path / "bob" / "work"))
    with pytest.raises(Refused, match="shop is used only by ada"):
        await register(pair.bob, tmp_path / "bob" / "work")
    await share(context(pair.ada), "shop")
    repo = await register(pair.bob, tmp_path / "bob" / "work")
    assert (repo.name, repo.path) == ("shop", str(tmp_path / "bob" / "work"))
    assert (await pair.bob.repo("shop")).path == repo.path
    assert (await pair.ada.repo("shop")).path == str(pair.clone.path)


async def test_another_repository_is_not_taken_for_a_shared_one_that_was_moved(
    pair: Pair, tmp_path: Path
) -> None:
    await share(context(pair.ada), "shop")
    pair.clone.path.rename(tmp_path / "ada" / "store")
    stranger = make_repo(tmp_path / "ada" / "stranger")
    with pytest.raises(Refused, match=r"shared through .*shop.git, but .*stranger has no remote"):
        await moved(pair.ada, "shop", stranger.path)
    assert (await moved(pair.ada, "shop", tmp_path / "ada" / "store")).name == "shop"


async def test_what_another_machine_has_alone_was_not_moved_here(
    pair: Pair, tmp_path: Path
) -> None:
    pair.clone.path.rename(tmp_path / "ada" / "elsewhere")
    pair.remote.git("clone", "--quiet", str(pair.remote.path), str(tmp_path / "bob" / "work"))
    with pytest.raises(Refused, match="shop is used only by ada"):
        await moved(pair.bob, "shop", tmp_path / "bob" / "work")


async def test_commits_that_the_remote_does_not_have_must_be_pushed_before_sharing(
    pair: Pair,
) -> None:
    pair.clone.git("config", "user.email", "ada@example.org")
    pair.clone.git("config", "user.name", "Ada")
    pair.clone.commit("Not pushed")
    with pytest.raises(Refused, match="has commits that its remote does not have"):
        await share(context(pair.ada), "shop")


async def test_a_repo_without_a_remote_cannot_be_shared(pair: Pair, tmp_path: Path) -> None:
    alone = make_repo(tmp_path / "alone")
    await register(pair.ada, alone.path)
    with pytest.raises(Invalid, match="alone has no remote"):
        await share(context(pair.ada), "alone")


async def test_work_of_a_machine_that_came_back_too_late_is_archived_at_the_remote(
    pair: Pair,
) -> None:
    await share(context(pair.ada), "shop")
    task = await add(pair.ada, "Slow", "write late.txt late", "wait until never.txt 60")
    crew, loop = Crew(pair.ada), Loop(context(pair.ada), agents=1)

    async def is_at_it() -> bool:
        live = await pair.ada.core.store.runs(live=True)
        return any(run.worktree and (Path(run.worktree) / "late.txt").exists() for run in live)

    async def has_lost_it() -> bool:
        attempt = loop._attempts.get("agent-1")
        if attempt is None:
            return True
        attempt.stop(Cause.LOST, "the task continued without it")
        return False

    async def both() -> bool:
        await crew.wait_for(is_at_it)
        await crew.wait_for(has_lost_it)
        return True

    await crew.until(loop, both)
    (run,) = [r for r in await pair.ada.core.store.runs(tasks=[task.id]) if r.number == 1]
    assert run.outcome is not None
    assert pair.remote.saved("late.txt") == {"late\n"}


async def test_a_machine_that_was_switched_off_archives_what_it_had_not_sent(pair: Pair) -> None:
    await share(context(pair.ada), "shop")
    task = await add(pair.ada, "Paint", "write done.txt done")
    place = context(pair.ada)
    repo = await place.repo("shop")
    branch = f"fleet/{task.id}-paint"

    async def nobody() -> list[Path]:
        return []

    pool = Workspace(place, repo).pool
    worktree = await pool.take(branch, "main", in_use=nobody)
    (worktree / "unsent.txt").write_text("unsent\n")
    pool.locks.drop(worktree)  # as when its holder ends
    await end_stale_agents(place)
    assert pair.remote.saved("unsent.txt") == {"unsent\n"}


@pytest.mark.parametrize("how", ["deleted", "reset", "ahead"])
async def test_only_the_approved_commit_lands_whatever_the_remotes_branch_became(
    pair: Pair, how: str
) -> None:
    await share(context(pair.ada), "shop")
    task = await add(pair.ada, "Paint", "write a.txt one", lands="review")
    await Crew(pair.ada).work()
    branch = str((await pair.ada.get(task.id)).branch)
    await pair.bob.land(task.id)
    tree = pair.remote.git("rev-parse", f"{branch}^{{tree}}")
    who = ("-c", "user.name=Eve", "-c", "user.email=eve@example.org")
    more = pair.remote.git(*who, "commit-tree", tree, "-p", branch, "-m", "slip in")
    to = {"deleted": ("-d",), "reset": (), "ahead": ()}[how]
    new = {"deleted": (), "reset": ("main",), "ahead": (more,)}[how]
    pair.remote.git("update-ref", *to, f"refs/heads/{branch}", *new)
    await Crew(pair.ada).work()
    found = await pair.ada.get(task.id)
    if how == "ahead":
        assert (found.state, found.approved) == (State.REVIEW, False)
        assert "slip in" in found.note
    else:
        assert found.state is State.COMPLETED
        assert pair.remote.read("main", "a.txt") == "one\n"


async def test_a_remote_that_is_away_costs_no_attempt_and_the_work_waits(pair: Pair) -> None:
    await share(context(pair.ada), "shop")
    task = await add(pair.ada, "Paint", "write a.txt one", "wait until go.txt 60")
    gone = pair.remote.path.with_name("gone.git")
    crew, loop = Crew(pair.ada), Loop(context(pair.ada), agents=1)

    async def told() -> bool:
        events = await pair.ada.core.store.events(task=task.id, kinds=["run.warned"])
        return any("the work waits here" in event.text for event in events)

    async def shown() -> bool:
        status = click.unstyle("\n".join(draw(await pair.bob.status())))
        agent = re.search(
            r"agent-1 +waits .*waits for the remote of shop, unreachable since", status
        )
        return bool(agent and "the remote of shop has been unreachable for" in status)

    async def cut_and_finish() -> bool:
        await crew.wait_for(_working(pair.ada))
        pair.remote.path.rename(gone)
        (run,) = await pair.ada.core.store.runs(live=True)
        (Path(str(run.worktree)) / "go.txt").touch()
        await crew.wait_for(told)
        await crew.wait_for(shown)
        other = await add(pair.bob, "Varnish", "write b.txt two")
        why = (await pair.bob.why([other]))[other.id]
        assert why.text.startswith("waits for the remote of shop, unreachable since")
        await pair.bob.cancel(other.id)
        gone.rename(pair.remote.path)
        await crew.wait_for(_completed(pair.ada, task))
        return True

    await crew.until(loop, cut_and_finish)
    done = await pair.ada.get(task.id)
    assert (done.attempts, done.runs) == (0, 1)


async def test_nothing_starts_while_a_remote_is_away(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codefleet.runner.sharing.reachability.CLOSED_S", 0.05)
    await share(context(pair.ada), "shop")
    first = await add(pair.ada, "Paint", "write a.txt one")
    gone = pair.remote.path.with_name("gone.git")
    pair.remote.path.rename(gone)
    crew, loop = Crew(pair.ada), Loop(context(pair.ada), agents=1)

    async def refused() -> bool:
        return bool(await pair.ada.core.store.events(task=first.id, kinds=["task.released"]))

    async def seen_at() -> datetime:
        (runner,) = await pair.ada.core.store.records(Runner)
        return runner.seen_at

    async def a_beat_later() -> None:
        before = await seen_at()

        async def beats() -> bool:
            return await seen_at() > before

        await crew.wait_for(beats)

    async def wait_and_work() -> bool:
        await crew.wait_for(refused)
        for number in range(3):
            await a_beat_later()
            later = await add(pair.ada, f"Varnish {number}", f"write b{number}.txt two")
        await a_beat_later()
        gone.rename(pair.remote.path)
        await crew.wait_for(_completed(pair.ada, later))
        return True

    await crew.until(loop, wait_and_work)
    ended = [run.outcome for run in await pair.ada.core.store.runs()]
    assert ended.count(Outcome.RELEASED) == 1


async def test_a_machine_that_cannot_copy_a_repo_tells_all_and_goes_on_when_it_can(
    pair: Pair,
) -> None:
    await share(context(pair.ada), "shop")
    task = await add(pair.ada, "Paint", "write a.txt one")
    gone = pair.remote.path.with_name("gone.git")
    pair.remote.path.rename(gone)
    crew, loop = Crew(pair.bob), Loop(context(pair.bob), agents=1)

    async def told() -> bool:
        events = await pair.ada.core.store.events(kinds=["repo.away"])
        return any("bob: cannot copy shop from" in event.text for event in events)

    async def told_and_done() -> bool:
        await crew.wait_for(told)
        gone.rename(pair.remote.path)
        await crew.wait_for(_completed(pair.bob, task))
        return True

    await crew.until(loop, told_and_done)
    assert len(await pair.ada.core.store.events(kinds=["repo.away"])) == 1


async def test_a_clone_that_is_gone_is_missed_and_not_replaced(pair: Pair) -> None:
    await share(context(pair.ada), "shop")
    task = await add(pair.ada, "Paint", "write a.txt one")
    away = pair.clone.path.with_name("away")
    pair.clone.path.rename(away)
    crew, loop = Crew(pair.ada), Loop(context(pair.ada), agents=1)

    async def told() -> bool:
        events = await pair.ada.core.store.events(kinds=["repo.away"])
        return [event.text for event in events] == [f"ada: shop is no longer at {pair.clone.path}"]

    async def told_and_done() -> bool:
        await crew.wait_for(told)
        away.rename(pair.clone.path)
        await crew.wait_for(_completed(pair.ada, task))
        return True

    await crew.until(loop, told_and_done)


async def test_a_run_that_holds_its_task_after_all_gives_it_back(pair: Pair) -> None:
    task = await add(pair.ada, "Paint", "wait 60")
    seat = Seat("agent-1", RunnerId("r-1"), "ada", "scripted")
    (claim,) = await Dispatch(pair.ada).claim([seat], ClaimFilter())
    await Dispatch(pair.ada).end_lost_run(claim.run, "it was taken for lost")
    (run,) = await pair.ada.core.store.runs(tasks=[task.id])
    assert run.outcome is Outcome.RELEASED
    assert (await pair.ada.get(task.id)).state is State.PENDING


async def test_a_runner_that_was_taken_for_dead_and_is_back_gives_the_attempt_back(
    pair: Pair,
) -> None:
    task = await add(pair.ada, "Paint", "wait 60")
    ada, bob = (Seat("agent-1", RunnerId(name), name, "scripted") for name in ("ada", "bob"))
    (first,) = await pair.ada.core.store.claim([ada], ClaimFilter(), lease=timedelta(0))
    (second,) = await Dispatch(pair.bob).claim([bob], ClaimFilter())
    assert second.task.attempts == 1
    for _ in range(2):
        await Dispatch(pair.ada).end_lost_run(first.run, "it no longer holds its task")
    now = await pair.ada.get(task.id)
    assert (now.attempts, now.state, now.fence) == (0, State.RUNNING, second.run.fence)


def test_no_part_of_a_runner_goes_by_the_clock_of_its_machine() -> None:
    """Leases, rests and times use the store's clock: see `tests/faults/test_wrong_clock.py`."""
    source = Path(codefleet.__file__).parent
    files = [
        file for part in ("runner", "fleet", "domain") for file in (source / part).rglob("*.py")
    ]
    asks = re.compile(r"datetime\.now\(|utcnow\(|time\.time\(")
    assert [file.name for file in files if asks.search(file.read_text(encoding="utf-8"))] == []


def _working(fleet: Fleet) -> Callable[[], Awaitable[object]]:
    async def working() -> bool:
        return any(run.session for run in await fleet.core.store.runs(live=True))

    return working


def _completed(fleet: Fleet, task: Task) -> Callable[[], Awaitable[object]]:
    async def completed() -> bool:
        return (await fleet.get(task.id)).state is State.COMPLETED

    return completed
