"""An agent wants to use a tool: rules answer, or else a human, and the answer is enforced."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from codefleet.domain.errors import Invalid, NotFound
from codefleet.domain.model import Event, Question, Task
from codefleet.domain.permissions import Rule, Ruling
from codefleet.domain.words import Outcome, State
from codefleet.fleet import Fleet
from codefleet.ports import Write
from tests.gitrepo import SampleRepo
from tests.stories.conftest import BOUND_S, Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]
StateOf = Callable[[Task], Awaitable[State]]


def rules(*texts: str) -> list[Rule]:
    """Rules written as `then tool match`."""
    parts = [text.split(" ", 2) for text in texts]
    return [Rule(then=Ruling(then), tool=tool, match=match) for then, tool, match in parts]


async def verdicts(fleet: Fleet, task: Task) -> list[tuple[str, str]]:
    events = await fleet.core.store.events(task=task.id, kinds=["run.permission"])
    return [(event.data["verdict"], event.data["why"]) for event in events]


async def said(fleet: Fleet, task: Task) -> list[str]:
    events: Sequence[Event] = await fleet.core.store.events(task=task.id, kinds=["run.said"])
    return [event.text for event in events]


async def test_a_permission_is_asked_answered_and_obeyed(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, state_of: StateOf
) -> None:
    task = await add("Build", "append log begun", "want shell touch built", "append log done")
    await crew.work()
    assert await state_of(task) is State.ASKING
    [item] = await fleet.inbox()
    assert (item.kind, item.text) == ("permission", "May it use shell?\ntouch built")
    assert item.options == ("allow", "always", "deny")
    await fleet.answer(task.id, "allow")
    await crew.work()
    asked, resumed = await fleet.runs_of(task.id)
    assert (asked.outcome, resumed.outcome) == (Outcome.ASKED, Outcome.SUBMITTED)
    assert resumed.session == asked.session
    assert repo.read("main", "log") == "begun\ndone\n"
    assert repo.git("ls-tree", "--name-only", "main", "built") == "built"
    assert await verdicts(fleet, task) == [("ask", ""), ("allow", "allow")]
    assert (await fleet.get(task.id)).attempts == 0


async def test_a_question_of_a_cancelled_task_is_withdrawn_and_asked_anew_when_it_is_retried(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Build", "write log begun", "want shell touch built")
    await crew.work()
    [first] = await fleet.inbox()
    await fleet.cancel(task.id)
    assert await fleet.inbox() == []
    with pytest.raises(NotFound, match="has no open question"):
        await fleet.answer(first.id, "deny")
    await fleet.retry(task.id)
    assert await fleet.inbox() == []
    await crew.work()
    [again] = await fleet.inbox()
    assert again.id != first.id
    await fleet.answer(task.id, "allow")
    await crew.work()
    assert await fleet.inbox() == []
    assert repo.git("ls-tree", "--name-only", "main", "built") == "built"


async def test_what_a_human_denies_is_not_done_and_the_agent_is_told_why(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Build", "want shell touch built", "write other.txt x")
    await crew.work()
    await fleet.answer(task.id, "no, use make")
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.git("ls-tree", "--name-only", "main", "built") == ""
    assert "I may not shell: no, use make" in await said(fleet, task)


async def test_always_is_for_this_tool_and_this_task(
    fleet: Fleet, crew: Crew, add: Add, state_of: StateOf
) -> None:
    task = await add("Build", "want shell touch a", "want shell touch b", "want write c x")
    other = await add("Other", "want shell touch d")
    await crew.work()
    await fleet.answer(task.id, "always")
    await crew.work()
    waiting = {item.task: item.text for item in await fleet.inbox()}
    assert waiting == {
        task.id: "May it use write?\nc",
        other.id: "May it use shell?\ntouch d",
    }


async def test_rules_answer_without_a_human(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Build", "want shell touch built", "want shell rm README.md", "write a x")
    await crew.work(policy=rules("allow shell touch *", "deny * rm *"))
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert len(await fleet.runs_of(task.id)) == 1
    assert await verdicts(fleet, task) == [
        ("allow", "allow shell touch *"),
        ("deny", "deny * rm *"),
    ]
    assert repo.git("ls-tree", "--name-only", "main", "built", "README.md") == "README.md\nbuilt"
    assert "I may not shell: deny * rm *" in await said(fleet, task)


@pytest.mark.parametrize("path", ["src/out/x", "src/../out/x"])
async def test_a_path_cannot_pretend_to_be_where_a_rule_allows_it(
    fleet: Fleet, tmp_path: Path, repo: SampleRepo, crew: Crew, add: Add, path: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo.path / "src/out").symlink_to(outside)
    (repo.path / "out").symlink_to(outside)
    repo.commit("Link elsewhere")
    task = await add("Escape", "want write src/a.txt a", f"want write {path} x")
    await crew.work(policy=rules("allow write src/*"))
    assert await verdicts(fleet, task) == [("allow", "allow write src/*"), ("ask", "")]
    [item] = await fleet.inbox()
    assert item.text == f"May it use write?\n{outside.resolve() / 'x'}"
    assert not list(outside.iterdir())


@pytest.mark.parametrize(("then", "count"), [("deny", 1), ("ask", 1), ("allow", 0)])
async def test_a_run_whose_coder_cannot_be_asked_is_warned_of_rules_that_do_not_hold(
    fleet: Fleet, crew: Crew, add: Add, then: str, count: int
) -> None:
    (fleet.home / "fleet.toml").write_text('[coders.command]\nargv = ["touch", "made.txt"]\n')
    task = await add("Make it", coder="command")
    await crew.work(policy=rules(f"{then} shell make"))
    warned = await fleet.core.store.events(task=task.id, kinds=["run.warned"])
    told = "command does not ask for permission: the rules of [[policy]] do not apply to it"
    assert [event.text for event in warned] == [told] * count


async def test_a_rule_that_denies_counts_more_than_what_a_human_allowed_before(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Build", "want shell touch built", "write a x")
    await crew.work()
    await fleet.answer(task.id, "always")
    await crew.work(policy=rules("deny shell touch *"))
    assert [verdict for verdict, _ in await verdicts(fleet, task)] == ["ask", "deny"]


async def test_a_rule_that_is_added_while_an_agent_works_counts_for_it(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Build", "say begun", "wait until go", "want shell touch built", "write a x")
    loop = crew.loop(1, until_idle=True)
    working = asyncio.create_task(loop.run())

    async def begun() -> object:
        return await fleet.core.store.events(task=task.id, kinds=["run.said"])

    async def noticed() -> object:
        return await fleet.core.store.events(kinds=["config.changed"])

    await crew.wait_for(begun)
    (fleet.home / "fleet.toml").write_text('[[policy]]\nthen = "deny"\n')
    await add("Wake the runner", "write b x")
    await crew.wait_for(noticed)
    [run] = await fleet.runs_of(task.id)
    Path(str(run.worktree), "go").touch()
    await asyncio.wait_for(working, BOUND_S)
    assert await verdicts(fleet, task) == [("deny", "deny * *")]


async def test_a_path_in_the_worktree_is_matched_from_its_top(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Build", "ask Where?", "want write {{answer}} x")
    await crew.work()
    [run] = await fleet.runs_of(task.id)
    await fleet.answer(task.id, f"{run.worktree}/src/a")
    await crew.work(policy=rules("allow write src/*"))
    assert await verdicts(fleet, task) == [("allow", "allow write src/*")]


async def test_an_answer_that_is_none_of_the_three_is_refused(
    fleet: Fleet, crew: Crew, add: Add, state_of: StateOf
) -> None:
    task = await add("Build", "want shell touch built")
    await crew.work()
    with pytest.raises(Invalid, match="with allow, always, deny"):
        await fleet.answer(task.id, "perhaps")
    assert await state_of(task) is State.ASKING


async def test_what_nobody_answers_in_time_is_denied(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Build", "want shell touch built", "write a x")
    question = await add("Ask", "ask Which port?")
    await crew.work()
    await make_older(fleet, timedelta(hours=23))
    await crew.work()
    assert {item.task for item in await fleet.inbox()} == {task.id, question.id}
    await make_older(fleet, timedelta(hours=2))
    await crew.work()
    assert [item.task for item in await fleet.inbox()] == [question.id]
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert await verdicts(fleet, task) == [("ask", ""), ("deny", "deny: nobody answered in time")]
    assert repo.git("ls-tree", "--name-only", "main", "built") == ""


async def make_older(fleet: Fleet, age: timedelta) -> None:
    asked: Sequence[Question] = await fleet.core.store.records(Question, open_only=True)
    for q in asked:
        assert q.asked_steady
        times = {"asked_at": q.asked_at - age, "asked_steady": q.asked_steady - age}
        older = q.evolve(**times, version=q.version + 1)
        await fleet.core.store.write(Write(records=[older]))
