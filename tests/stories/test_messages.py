"""Messages to an agent: read at once by one that listens, by any other in its next run."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from codefleet.domain.errors import Invalid, NotFound, Refused
from codefleet.domain.model import Message, Task
from codefleet.domain.words import State
from codefleet.doors.cli import task_page
from codefleet.fleet import Fleet
from codefleet.runner.loop import Loop
from codefleet.runner.paths import Paths
from tests.gitrepo import SampleRepo
from tests.stories.conftest import BOUND_S, Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]
StateOf = Callable[[Task], Awaitable[State]]


@asynccontextmanager
async def at_work(crew: Crew, **flags: object) -> AsyncIterator[Loop]:
    """A runner that works until everything is done or, at the latest, the block ends."""
    loop = crew.loop(1, until_idle=True, **flags)
    working = asyncio.create_task(loop.run())
    try:
        yield loop
        await asyncio.wait_for(working, BOUND_S)
    finally:
        loop.stop()
        await asyncio.wait([working])


async def begun(crew: Crew, fleet: Fleet, task: Task) -> None:
    async def said() -> object:
        return await fleet.core.store.events(task=task.id, kinds=["run.said"])

    await crew.wait_for(said)


async def stored(fleet: Fleet, message: Message) -> Message:
    return next(m for m in await fleet.core.store.records(Message) if m.id == message.id)


async def kinds(fleet: Fleet, *wanted: str) -> list[tuple[str, str]]:
    return [(e.kind, e.text) for e in await fleet.core.store.events(kinds=wanted)]


@pytest.mark.parametrize("by", ["seat", "task"])
async def test_a_message_reaches_an_agent_while_it_works(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, by: str
) -> None:
    task = await add("Work", "say begun", "listen", "write heard.txt {{message}}")
    async with at_work(crew):
        await begun(crew, fleet, task)
        sent = await fleet.send("agent-1" if by == "seat" else task.id[:6], "mind the ```tests```")
        assert (sent.agent, sent.task, sent.run) == ("agent-1", task.id, f"{task.id}.1")
    assert repo.read("main", "heard.txt") == "mind the ```tests```\n"
    got = await stored(fleet, sent)
    assert got.run == f"{task.id}.1"
    assert got.delivered_at
    assert await kinds(fleet, "message.sent", "message.delivered") == [
        ("message.sent", sent.text),
        ("message.delivered", sent.text),
    ]


async def test_messages_arrive_once_and_in_order(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    listens = [step for _ in range(5) for step in ("listen", "append heard.txt {{message}}")]
    task = await add("Work", "say begun", *listens)
    async with at_work(crew):
        await begun(crew, fleet, task)
        for number in range(5):
            await fleet.send(task.id, f"word {number}")
    assert repo.read("main", "heard.txt") == "".join(f"word {n}\n" for n in range(5))


async def test_a_message_at_the_end_of_a_turn_lets_the_run_go_on(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Work", "say begun", "write a x", "wait until go")
    async with at_work(crew):
        await begun(crew, fleet, task)
        [run] = await fleet.runs_of(task.id)
        await fleet.send(task.id, "one more thing")

        async def delivered() -> object:
            return await kinds(fleet, "message.delivered")

        await crew.wait_for(delivered)
        Path(str(run.worktree), "go").touch()
    assert ("run.said", "Heard after the end: one more thing") in await kinds(fleet, "run.said")
    assert (await fleet.get(task.id)).state is State.COMPLETED


async def test_a_message_to_an_idle_agent_waits_for_its_next_run(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    loop = crew.loop(1)

    async def seated() -> object:
        return await fleet.agents()

    await crew.until(loop, lambda: _sent_when(fleet, seated))
    [sent] = await fleet.core.store.records(Message)
    assert (sent.agent, sent.task, sent.run) == ("agent-1", None, None)
    task = await add("Work", "listen", "write heard.txt {{message}}")
    await crew.work(agents=1)
    assert repo.read("main", "heard.txt") == "be careful\n"
    prompt = (Paths(fleet.home).run((await fleet.runs_of(task.id))[0]) / "prompt.md").read_text()
    assert "supervises your work:\n```message\nbe careful\n```" in prompt
    assert (await stored(fleet, sent)).run == f"{task.id}.1"


async def _sent_when(fleet: Fleet, ready: Callable[[], Awaitable[object]]) -> bool:
    if not await ready():
        return False
    await fleet.send("agent-1", "be careful")
    return True


async def test_a_message_on_a_task_that_waits_goes_to_whoever_takes_it(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    other = await add("Other", "write other.txt x", priority=5)
    task = await add("Work", "listen", "write heard.txt {{message}}", needs=[other.id])
    sent = await fleet.send(task.id, "be careful")
    assert (sent.task, sent.run) == (task.id, None)
    await crew.work()
    assert repo.read("main", "heard.txt") == "be careful\n"


async def test_an_agent_that_does_not_listen_gets_its_message_in_the_next_run(
    fleet: Fleet, crew: Crew, add: Add, repo: SampleRepo
) -> None:
    (fleet.home / "fleet.toml").write_text(
        '[coders.command]\nargv = ["sh", "-c", "echo begun; cat > got.txt; sleep 600"]\n'
    )
    task = await add("Work", coder="command", max_attempts=1)
    loop = crew.loop(1)
    running = asyncio.create_task(loop.run())

    async def started() -> bool:
        runs = await fleet.runs_of(task.id)
        return bool(runs and runs[0].offset)

    await crew.wait_for(started)
    sent = await fleet.send("agent-1", "mind the tests")
    assert sent.run is None
    loop.stop()
    await asyncio.wait_for(running, BOUND_S)
    assert (await stored(fleet, sent)).delivered_at is None
    (fleet.home / "fleet.toml").write_text(
        '[coders.command]\nargv = ["sh", "-c", "cat > got.txt"]\n'
    )
    await crew.work(agents=1)
    assert "```message\nmind the tests\n```" in repo.read("main", "got.txt")


async def test_what_an_agent_was_told_is_told_again_to_the_one_that_follows_it(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Work", "say begun", "listen", "crash", "on attempt 2", "write a x")
    async with at_work(crew):
        await begun(crew, fleet, task)
        await fleet.send(task.id, "mind the tests")
    last = (await fleet.runs_of(task.id))[-1]
    assert "mind the tests" in (Paths(fleet.home).run(last) / "prompt.md").read_text()


async def test_what_cannot_be_sent_is_refused_with_a_sentence(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Work", "write a x")
    await crew.work()
    with pytest.raises(NotFound, match="no agent and no task agent-9"):
        await fleet.send("agent-9", "hello")
    with pytest.raises(Refused, match="no agent works on it any more"):
        await fleet.send(task.id, "hello")
    with pytest.raises(Invalid, match="needs a text"):
        await fleet.send(task.id, "  ")
    with pytest.raises(Invalid, match="at most"):
        await fleet.send(task.id, "x" * 100_001)
    assert await fleet.core.store.records(Message) == []


async def test_a_key_in_a_message_reaches_the_agent_and_not_the_log(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Work", "say begun", "listen", "write heard.txt got")
    key = "sk-ant-api03-" + "Zx9" * 31
    async with at_work(crew):
        await begun(crew, fleet, task)
        sent = await fleet.send(task.id, f"use {key} for it")
    assert (await stored(fleet, sent)).text == f"use {key} for it"
    told = [text for _, text in await kinds(fleet, "message.sent", "message.delivered")]
    assert len(told) == 2
    assert not any(key in text for text in told)


async def test_a_message_that_the_last_agent_of_a_task_never_read_is_told(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    argv = '["sh", "-c", "echo begun; until test -e go; do sleep 0.05; done; touch made"]'
    (fleet.home / "fleet.toml").write_text(f"[coders.command]\nargv = {argv}\n")
    task = await add("Make it", coder="command")
    async with at_work(crew):
        await begun(crew, fleet, task)
        [run] = await fleet.runs_of(task.id)
        await fleet.send(task.id, "mind the tests")
        Path(str(run.worktree), "go").touch()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert await kinds(fleet, "run.warned") == [
        ("run.warned", "the agent did not read: mind the tests")
    ]
    page = await task_page.read(fleet, task.id)
    assert "not read by an agent yet: mind the tests" in task_page.draw(page)
