"""Whichever way a key comes in, it is neither stored nor shown."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from codefleet.domain.access import OWNER, AgentOf
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import (
    Change,
    Check,
    Draft,
    Evidence,
    Message,
    Result,
    Run,
    RunnerId,
    Task,
)
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.signals import Asks
from codefleet.domain.words import Reason, State
from codefleet.doors.cli import task_page
from codefleet.doors.mcp.server import assemble
from codefleet.doors.mcp.toolset import ServerContext
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.fleet.own_run import OwnRun
from codefleet.runner.brief import notes
from codefleet.runner.crash_log import record
from codefleet.runner.lease import Lease
from codefleet.runner.run.outcome import record_verdict
from codefleet.runner.run.verdict import Asked, Failed, Released, Verdict
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]
Way = Callable[[Lease], Awaitable[object]]

KEY = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2eF4hJ6"
KNOWN = "not-like-any-key-at-all"
SAID = f"it is {KEY} or {KNOWN}"


def traces(text: str) -> list[str]:
    """The parts of both keys that a text contains, however it was cut."""
    halves = (KEY[:12], KEY[-12:], KNOWN[:12], KNOWN[-12:])
    return [half for half in halves if half in text]


def in_files(home: Path) -> Iterator[str]:
    for file in home.rglob("*"):
        if file.is_file() and traces(file.read_bytes().decode(errors="replace")):
            yield str(file.relative_to(home))


async def exported(fleet: Fleet, *, but: type | None = None) -> str:
    """Everything in the store except, perhaps, the records of one class."""
    left_out = but.__name__.lower() if but else ""
    rows = [row async for row in fleet.core.store.export(moving=True)]
    return "\n".join(body for kind, body in rows if kind != left_out)


async def claimed(fleet: Fleet, repo: SampleRepo) -> Run:
    """A live run, with notes in a worktree."""
    await fleet.add([Draft(title="Work")])
    seat = Seat("agent-1", RunnerId("r-1"), "here", "scripted")
    (claim,) = await Dispatch(fleet).claim([seat], ClaimFilter())
    notes.write_all(repo.path / notes.NAME, claim.run.id, {notes.PLAN: "", notes.KNOWLEDGE: ""})
    return await Dispatch(fleet).note(claim.run, worktree=str(repo.path), base=repo.sha("HEAD"))


async def page(fleet: Fleet, task: str) -> str:
    """What a person sees of a task."""
    return task_page.draw(await task_page.read(fleet, task))


def across(length: int, key: str = KEY) -> str:
    """A text whose start of this length ends inside a key, and whose end begins inside one."""
    around = "x" * (length - 15)
    return f"{around} {key} {around} {key} {around}"


def noted(**changes: Any) -> Way:
    return lambda lease: lease.note(**changes)


def told(text: str, **data: Any) -> Way:
    return lambda lease: lease.tell("run.said", text, **data)


def ended(verdict: Verdict) -> Way:
    return lambda lease: record_verdict(verdict, lease, lease.fleet.config, ())


CHECK = Check(command=f"echo {SAID}", exit_code=1, seconds=0.1, tail=SAID)
EVIDENCE = Evidence(
    base="a", tip="b", tree="c", checks=(CHECK,), changes=(Change(path=KEY, kind="added"),)
)
WAYS: dict[str, Way] = {
    "its last message": noted(said=SAID),
    "a long last message": noted(said=across(4_000)),
    "a long last message with a known value": noted(said=across(4_000, KNOWN)),
    "its session": noted(session=KEY, model=KNOWN),
    "its result": noted(result=Result(summary=SAID, next_steps=(SAID,), question=SAID)),
    "the evidence": noted(evidence=EVIDENCE),
    "a line of its output": told(SAID),
    "a long line": told(across(4_000)),
    "a long line with a known value": told(across(4_000, KNOWN)),
    "data of an event": told("", detail=SAID, more={"deep": [SAID]}),
    "a failure": ended(Failed(Reason.CRASHED, SAID)),
    "a huge failure": ended(Failed(Reason.CRASHED, across(32_768) + across(32_768))),
    "a release": ended(Released(SAID)),
    "a rate limit": ended(Released(SAID, None, Reason.RATE_LIMIT)),
    "a refused login": ended(Released(SAID, None, Reason.AUTH)),
    "a long refusal": ended(Released(across(200), None, Reason.AUTH)),
    "a question": ended(Asked(Asks(SAID, (SAID, "no")))),
    "a long question": ended(Asked(Asks(across(200)))),
    "a long question with a known value": ended(Asked(Asks(across(200, KNOWN)))),
    "a permission": ended(Asked(Asks(SAID, ("allow", "deny"), "shell", SAID))),
}


@pytest.mark.parametrize("way", WAYS)
async def test_what_a_runner_records_of_a_run_holds_no_key(
    fleet: Fleet, repo: SampleRepo, home: Path, way: str
) -> None:
    run = await claimed(fleet, repo)
    await WAYS[way](Lease(fleet, run, [KNOWN]))
    stored = await exported(fleet)
    assert (traces(stored), list(in_files(home))) == ([], [])
    assert "[redacted" in stored or "*****" in stored or "long" in way
    assert traces(await page(fleet, run.task)) == []


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("report_progress", {"text": f"I use {KEY}"}),
        ("report_progress", {"text": f"{KEY} {'x' * 1920} {KEY}"}),
        ("ask_human", {"question": f"Is it {KEY}?", "options": [KEY, "no"]}),
        ("note_knowledge", {"text": f"The key is {KEY}."}),
        ("checkpoint_create", {"text": f"The key is {KEY}."}),
    ],
)
async def test_what_an_agent_tells_through_its_tools_holds_no_key(
    fleet: Fleet, repo: SampleRepo, home: Path, tool: str, given: dict[str, Any]
) -> None:
    fleet.config = fleet.config.evolve(answer_s=0.1)
    (home / "fleet.toml").write_text("answer_s = 0.1\n")
    run = await claimed(fleet, repo)
    acting = fleet.acting_as(AgentOf(run=run.id))
    async with Client(assemble(ServerContext(acting), ["agent"], "1")) as client:
        done = await client.call_tool(tool, given)
    assert not done.is_error
    assert (traces(await exported(fleet)), list(in_files(home))) == ([], [])
    shown = await page(fleet, run.task)
    assert (traces(shown), "[redacted" in shown) == ([], True)


async def test_the_same_question_with_a_key_is_asked_only_once(
    fleet: Fleet, repo: SampleRepo
) -> None:
    run = await claimed(fleet, repo)
    own = OwnRun(fleet.acting_as(AgentOf(run=run.id)))
    first, second = [await own.pose(Asks(f"Is it {KEY}?")) for _ in range(2)]
    assert first.id == second.id
    assert len(await fleet.inbox()) == 1


async def test_a_message_is_for_its_agent_whole_and_for_nobody_else(
    fleet: Fleet, repo: SampleRepo
) -> None:
    run = await claimed(fleet, repo)
    client = Client(assemble(ServerContext(fleet.acting_as(OWNER)), ["team"], "1"))
    async with client:
        await client.call_tool("team_send", {"to": run.task, "text": f"use {KEY}"})
    await fleet.send(run.task, f"or {KEY}")
    assert traces(await page(fleet, run.task)) == []
    for message in await Dispatch(fleet).messages_for(run):
        assert KEY in message.text
        await Dispatch(fleet).delivered(message, run)
    read = await Dispatch(fleet).messages_on(await fleet.get(run.task))
    assert [message.text for message in read] == [f"use {KEY}", f"or {KEY}"]
    assert traces(await exported(fleet, but=Message)) == []


async def test_what_an_agent_does_with_a_key_from_a_message_is_recorded_without_it(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Talk", "say begun", "listen", "say {{message}}", "want shell {{message}}")
    loop = crew.loop(1, until_idle=True)
    working = asyncio.create_task(loop.run())
    await crew.wait_for(lambda: fleet.core.store.events(task=task.id, kinds=["run.said"]))
    await fleet.send(task.id, f"echo {KEY}")
    await asyncio.wait_for(working, crew.bound_s)
    [item] = await fleet.inbox()
    assert item.kind == "permission"
    assert item.text.startswith("May it use shell?\necho [redacted")
    assert traces(await exported(fleet, but=Message)) == []
    assert list(in_files(fleet.home / "runs")) == []


async def test_what_a_human_decides_reaches_the_agent_whole_and_the_log_without_keys(
    fleet: Fleet, crew: Crew, add: Add, home: Path
) -> None:
    (home / "fleet.toml").write_text('landing = "review"\n')
    task = await add("Work", "append a.txt a", "on attempt 2", "ask Which key?")
    await crew.work()
    await fleet.reject(task.id, f"log in with {KEY}")
    await crew.work()
    assert f"log in with {KEY}" in (home / "runs" / f"{task.id}.2" / "prompt.md").read_text()
    await fleet.answer(task.id, f"this one: {KEY}")
    await crew.work()
    assert (await fleet.get(task.id)).state is State.REVIEW
    assert f"this one: {KEY}" in (home / "runs" / f"{task.id}.3" / "prompt.md").read_text()
    told = [event.json() for event in await fleet.events(limit=1000)]
    assert traces("\n".join(told)) == []


async def test_a_checkpoint_quotes_commits_without_their_keys(
    fleet: Fleet, crew: Crew, add: Add, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text(f"Use {KEY}")
    commit = "git -c user.name=a -c user.email=a@b commit --quiet --allow-empty"
    task = await add("Work", f"shell {commit} --file={tmp_path / 'key'}", "broke auth logged out")
    await crew.work()
    left = (home / "runs" / f"{task.id}.1" / "checkpoint.md").read_text()
    assert (traces(left), "Use [redacted" in left) == ([], True)


async def test_a_landing_that_waits_says_so_once_even_if_the_reason_held_a_key(
    fleet: Fleet, crew: Crew, add: Add, home: Path
) -> None:
    (home / "fleet.toml").write_text('landing = "review"\n')
    task = await add("Work", "append a.txt a")
    await crew.work()
    for _ in range(2):
        await Dispatch(fleet).record_landing_wait(
            await fleet.get(task.id), f"https://me:{KEY}@host is away"
        )
    assert len(await fleet.events(kinds=["task.waits"])) == 1
    assert traces(await exported(fleet)) == []


def test_a_crash_is_logged_without_a_key(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "crash.log"
    assert record(log, f"the run of {KEY}", ValueError(f"cannot use {KEY}"))
    assert "cannot use [redacted" in log.read_text()
    assert traces(log.read_text()) == []
