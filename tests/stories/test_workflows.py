"""Workflows at work: real git, real scripted agents, results passed from stage to stage."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from codefleet.domain.access import AgentOf
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, RunnerId, Task
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.views import WorkflowStatus
from codefleet.domain.words import Outcome, Reason, State
from codefleet.domain.workflow import workflow
from codefleet.domain.workflow.results import StageResult, StageStatus
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.runner.context import Context
from codefleet.runner.gc.cleanup import clean_up
from codefleet.runner.loop import Loop
from tests.gitrepo import SampleRepo
from tests.script import script
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

SEAT = Seat("agent-1", RunnerId("r-1"), "here", "scripted")


def stage(name: str, *steps: str, **more: Any) -> dict[str, Any]:
    said = more.pop("prompt", "")
    return {"name": name, "prompt": f"{said}\n{script(*steps)}", **more}


async def start(fleet: Fleet, *stages: dict[str, Any], **more: Any) -> str:
    plan = workflow.parse({"name": "wf", "prompt": "Mend the till", "stages": [*stages], **more})
    return (await fleet.start(plan)).id


async def results(fleet: Fleet, flow: str) -> dict[str, StageResult]:
    collected = await fleet.collect_workflow(flow, every=True)
    return {each.stage: each for each in collected.results}


def task(flow: WorkflowStatus, name: str) -> Task:
    return next(each for each in flow.tasks if each.stage and each.stage.name == name)


def prompt(fleet: Fleet, run: str) -> str:
    return (fleet.home / "runs" / run / "prompt.md").read_text()


def states(flow: WorkflowStatus) -> Sequence[State]:
    return [each.state for each in flow.tasks]


async def test_results_become_the_prompt_of_the_next_stage_and_work_is_inherited(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    flow = await start(
        fleet,
        stage("implement", "write a.txt one", "result completed Wrote it", prompt="{task_prompt}"),
        stage(
            "review",
            'result {"status": "completed_no_changes", "next_steps": ["b", "c"]}',
            prompt="Review: {implement.summary} in {stage_0_files}, {implement.status}",
            needs=["implement"],
            inherit=True,
        ),
        stage(
            "refine",
            "append a.txt two",
            prompt="Do: {review.next_steps}\n{review.result}",
            needs=["review"],
            inherit=True,
        ),
    )
    await crew.work()
    stands = await fleet.workflow(flow)
    assert stands.state is State.COMPLETED
    review, refine = task(stands, "review"), task(stands, "refine")
    assert "Mend the till" in prompt(fleet, f"{stands.tasks[0].id}.1")
    assert "Review: Wrote it in a.txt, completed" in prompt(fleet, f"{review.id}.1")
    told = prompt(fleet, f"{refine.id}.1")
    assert "Do: \n> b\n> c\n" in told
    assert '"status":"completed_no_changes"' in told
    assert repo.read(str(refine.branch), "a.txt") == "one\ntwo\n"
    assert (await results(fleet, flow))["refine"].files == ("a.txt",)
    assert "a.txt" not in repo.git("ls-tree", "--name-only", "main").split()


async def test_a_stage_that_does_not_inherit_starts_from_the_trunk_or_the_named_base(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    repo.git("branch", "old")
    repo.write("new.txt", "new\n")
    repo.commit("Something new")
    flow = await start(
        fleet,
        stage("first", "write a.txt one"),
        stage("second", "write b.txt two", needs=["first"]),
        base="old",
    )
    await crew.work()
    second = task(await fleet.workflow(flow), "second")
    assert repo.git("ls-tree", "--name-only", str(second.branch)).split() == [
        "README.md",
        "b.txt",
        "src",
    ]


async def test_several_branches_are_merged_before_the_stage_that_inherits_them_starts(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    flow = await start(
        fleet,
        stage("a", "write a.txt a"),
        stage("b", "write b.txt b"),
        stage("join", "shell cat a.txt b.txt > c.txt", needs=["a", "b"], inherit=True),
    )
    await crew.work(agents=3)
    join = task(await fleet.workflow(flow), "join")
    assert repo.read(str(join.branch), "c.txt") == "a\nb\n"
    assert (await results(fleet, flow))["join"].files == ("c.txt",)


async def test_a_conflict_between_inherited_branches_is_told_and_no_branch_is_left_out(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    flow = await start(
        fleet,
        stage("a", "write x.txt a"),
        stage("b", "write x.txt b"),
        stage("c", "write c.txt c"),
        stage("join", "write x.txt both", needs=["a", "b", "c"], inherit=True),
    )
    await crew.work(agents=3)
    stands = await fleet.workflow(flow)
    join = task(stands, "join")
    assert stands.state is State.COMPLETED
    assert "each other. The merge is in progress here" in prompt(fleet, f"{join.id}.1")
    assert repo.read(str(join.branch), "x.txt") == "both\n"
    assert repo.read(str(join.branch), "c.txt") == "c\n"
    assert join.attempts == 0
    assert await fleet.core.store.events(kinds=["conflict.found"])


async def test_a_condition_that_does_not_hold_skips_the_stage_and_hands_the_work_through(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    flow = await start(
        fleet,
        stage("implement", "write a.txt one"),
        stage("review", "result completed_no_changes Fine", needs=["implement"], inherit=True),
        stage(
            "mend",
            "append a.txt x",
            needs=["review"],
            inherit=True,
            when="review.status == 'blocked'",
        ),
        stage("ship", "append a.txt two", needs=["mend"], inherit=True, prompt="{mend.status}"),
    )
    await crew.work()
    stands = await fleet.workflow(flow)
    mend, ship = task(stands, "mend"), task(stands, "ship")
    assert stands.state is State.COMPLETED
    assert mend.note.startswith("skipped: ")
    assert (await fleet.runs_of(mend.id))[0].outcome is Outcome.SKIPPED
    assert (await results(fleet, flow))["mend"].status is StageStatus.SKIPPED
    assert "\nskipped\n" in prompt(fleet, f"{ship.id}.1")
    assert repo.read(str(ship.branch), "a.txt") == "one\ntwo\n"


async def test_a_stage_that_says_it_is_blocked_tells_so_to_the_next(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    flow = await start(
        fleet,
        stage("review", "result blocked The till lacks a drawer"),
        stage("mend", "write drawer.txt x", needs=["review"], when="review.status == 'blocked'"),
    )
    await crew.work()
    stands = await fleet.workflow(flow)
    assert states(stands) == [State.COMPLETED, State.COMPLETED]
    assert repo.read(str(task(stands, "mend").branch), "drawer.txt") == "x\n"


async def test_a_gate_waits_in_the_inbox_and_lands_what_was_approved(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    flow = await start(
        fleet,
        stage("implement", "write a.txt one", "result completed Wrote it"),
        {
            "name": "approve",
            "gate": "Ship it? {implement.summary}",
            "needs": ["implement"],
            "landing": "queue",
        },
    )
    await crew.work()
    gate = task(await fleet.workflow(flow), "approve")
    assert (await fleet.workflow(flow)).state is State.ASKING
    (item,) = await fleet.inbox()
    assert (item.text, item.options) == ("Ship it? Wrote it", ("approve", "reject"))
    await fleet.answer(gate.id, "approve: well done")
    await crew.work()
    assert (await fleet.workflow(flow)).state is State.COMPLETED
    assert (await results(fleet, flow))["approve"].summary == "well done"
    assert repo.read("main", "a.txt") == "one\n"


async def test_a_gate_that_is_rejected_fails_cancels_the_rest_and_asks_again_when_retried(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    flow = await start(
        fleet,
        {"name": "ask", "gate": "Begin?"},
        stage("work", "write a.txt one", needs=["ask"]),
    )
    await crew.work()
    await fleet.answer((await fleet.workflow(flow)).tasks[0].id, "reject: not today")
    await crew.work()
    stands = await fleet.workflow(flow)
    assert states(stands) == [State.FAILED, State.CANCELLED]
    assert (stands.tasks[0].reason, stands.tasks[0].note) == (
        Reason.CANCELLED,
        "a human declined: not today",
    )
    await fleet.retry_workflow(flow)
    await crew.work()
    assert (await fleet.workflow(flow)).state is State.ASKING
    await fleet.answer(stands.tasks[0].id, "yes")
    await crew.work()
    assert (await fleet.workflow(flow)).state is State.COMPLETED


async def test_a_gate_of_a_cancelled_workflow_asks_no_more(fleet: Fleet, crew: Crew) -> None:
    flow = await start(fleet, {"name": "ask", "gate": "Begin?"})
    await crew.work()
    [first] = await fleet.inbox()
    await fleet.cancel_workflow(flow)
    assert await fleet.inbox() == []
    await fleet.retry_workflow(flow)
    await crew.work()
    [again] = await fleet.inbox()
    assert again.id != first.id
    await fleet.answer(str(again.task), "approve")
    await crew.work()
    assert await fleet.inbox() == []
    assert (await fleet.workflow(flow)).state is State.COMPLETED


async def test_a_judge_picks_among_the_survivors_and_its_branch_is_the_winner_s_work(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    flow = await start(
        fleet,
        stage("a", "write a.txt a", on_failure="continue"),
        stage("b", "write b.txt b", on_failure="continue"),
        stage("bad", "write c.txt c", checks=["false"], on_failure="continue", budget={"usd": 5}),
        stage(
            "judge",
            "write mine.txt scribble",
            'result {"status": "completed", "summary": "b is short", "choice": "bad"}',
            "on attempt 2",
            'result {"status": "completed_no_changes", "summary": "b is short\\nChoice: b"}',
            needs=["a", "b", "bad"],
            judges=["a", "b", "bad"],
        ),
        stage("after", "append b.txt more", needs=["judge"], inherit=True),
    )
    await crew.work(agents=3, attempts=2)
    stands = await fleet.workflow(flow)
    judge = task(stands, "judge")
    assert stands.state is State.COMPLETED
    told = prompt(fleet, f"{judge.id}.1")
    assert "`a`, on branch" in told
    assert "`bad`, on branch" not in told
    first, second = await fleet.runs_of(judge.id)
    assert first.note.endswith("the choice is one of: a, b")
    assert second.result
    assert second.result.choice == "b"
    assert repo.git("rev-parse", str(judge.branch)) == repo.git(
        "rev-parse", str(task(stands, "b").branch)
    )
    assert repo.read(str(task(stands, "after").branch), "b.txt") == "b\nmore\n"
    kept = repo.git("for-each-ref", "--format=%(refname)", "refs/fleet/archive/").split()
    assert any(repo.git("ls-tree", "--name-only", ref).find("mine.txt") >= 0 for ref in kept)


async def test_a_judge_that_checks_a_candidate_out_leaves_it_as_it_was(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    a_branch = "git for-each-ref --format='%(refname:short)' 'refs/heads/fleet/*-wf-a'"
    flow = await start(
        fleet,
        stage("a", "write a.txt a"),
        stage("b", "write b.txt b"),
        stage(
            "judge",
            f"shell git checkout --quiet $({a_branch})",
            "write a.txt scribble",
            'result {"status": "completed", "summary": "b is short", "choice": "b"}',
            needs=["a", "b"],
            judges=["a", "b"],
        ),
    )
    await crew.work(agents=3, attempts=1)
    stands = await fleet.workflow(flow)
    assert stands.state is State.COMPLETED
    assert repo.read(str(task(stands, "a").branch), "a.txt") == "a\n"
    chosen, judged = task(stands, "b"), task(stands, "judge")
    assert repo.sha(str(judged.branch)) == repo.sha(str(chosen.branch))
    assert "scribble\n" in repo.saved("a.txt")


async def test_the_only_survivor_is_chosen_without_an_agent_and_lands(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    flow = await start(
        fleet,
        stage("a", "write a.txt a", checks=["false"], on_failure="continue"),
        stage("b", "write b.txt b", on_failure="continue"),
        stage("judge", "broke unknown no", needs=["a", "b"], judges=["a", "b"], landing="queue"),
    )
    await crew.work(attempts=1)
    assert (await fleet.workflow(flow)).state is State.COMPLETED
    assert (await results(fleet, flow))["judge"].choice == "b"
    assert (await results(fleet, flow))["a"].status is StageStatus.FAILED
    assert repo.read("main", "b.txt") == "b\n"


async def test_a_judge_with_nobody_to_judge_fails(fleet: Fleet, crew: Crew) -> None:
    flow = await start(
        fleet,
        stage("a", "crash", on_failure="continue"),
        stage("judge", "finish", needs=["a"], judges=["a"]),
    )
    await crew.work(attempts=1)
    stands = await fleet.workflow(flow)
    assert states(stands) == [State.COMPLETED, State.FAILED]
    assert "none of a succeeded" in stands.tasks[1].note


async def test_a_failure_cancels_what_can_no_longer_succeed_and_leaves_the_rest(
    fleet: Fleet, crew: Crew
) -> None:
    flow = await start(
        fleet,
        stage("bad", "crash", "on attempt 2", "write a.txt a"),
        stage("after", "write b.txt b", needs=["bad"]),
        stage("last", "write c.txt c", needs=["after", "other"]),
        stage("other", "write d.txt d"),
    )
    await crew.work(attempts=1)
    stands = await fleet.workflow(flow)
    assert stands.state is State.FAILED
    assert states(stands) == [State.FAILED, State.CANCELLED, State.CANCELLED, State.COMPLETED]
    await fleet.retry_workflow(flow)
    await crew.work(attempts=1)
    assert (await fleet.workflow(flow)).state is State.COMPLETED
    assert len(await fleet.runs_of(stands.tasks[3].id)) == 1


async def test_a_stage_that_is_tried_again_brings_back_what_it_took_along(
    fleet: Fleet, crew: Crew
) -> None:
    flow = await start(
        fleet,
        stage("bad", "crash", "on attempt 2", "write a.txt a"),
        stage("worse", "crash", "on attempt 2", "write b.txt b"),
        stage("after", "write c.txt c", needs=["bad"]),
        stage("join", "write d.txt d", needs=["after", "worse"]),
    )
    await crew.work(attempts=1)
    tasks = (await fleet.workflow(flow)).tasks
    assert [task.cancelled_by for task in tasks[:3]] == [None, None, tasks[0].id]
    await fleet.retry(tasks[0].id)
    assert (await fleet.get(tasks[2].id)).cancelled_by is None
    pending, failed, gone = State.PENDING, State.FAILED, State.CANCELLED
    assert states(await fleet.workflow(flow)) == [pending, failed, pending, gone]
    await crew.work(attempts=1)
    await fleet.retry(tasks[1].id)
    await crew.work(attempts=1)
    assert (await fleet.workflow(flow)).state is State.COMPLETED
    assert len(await fleet.core.store.runs(tasks=[task.id for task in tasks])) == 6


async def test_a_cancelled_workflow_stops_everywhere_and_keeps_its_work(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    flow = await start(
        fleet,
        stage("long", "write half.txt half", "say halfway", "hang"),
        stage("after", "write b.txt b", needs=["long"]),
    )

    async def halfway() -> bool:
        return bool(await fleet.core.store.events(kinds=["run.said"]))

    async def is_over() -> bool:
        if await halfway() and (await fleet.workflow(flow)).state is State.RUNNING:
            await fleet.cancel_workflow(flow)
        return not await fleet.core.store.runs(live=True) and await halfway()

    await crew.until(crew.loop(), is_over)
    stands = await fleet.workflow(flow)
    assert states(stands) == [State.CANCELLED, State.CANCELLED]
    kept = repo.git("for-each-ref", "--format=%(refname)", "refs/fleet/archive/").split()
    assert any(repo.read(ref, "half.txt") == "half\n" for ref in kept)


async def test_an_attempt_of_an_inheriting_stage_counts_only_its_own_changes(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    flow = await start(
        fleet,
        stage("first", "write a.txt a"),
        stage(
            "until-green",
            "write b.txt wrong",
            "on attempt 2",
            "write b.txt right",
            checks=["grep -q right b.txt"],
            on_failure="retry 2",
            needs=["first"],
            inherit=True,
        ),
    )
    await crew.work()
    found = (await results(fleet, flow))["until-green"]
    assert (found.status, found.files) == (StageStatus.COMPLETED, ("b.txt",))
    assert [check.passed for check in found.checks] == [True]


async def test_a_fan_out_beyond_the_seats_waits_for_free_ones(fleet: Fleet, crew: Crew) -> None:
    parts = [stage(f"p{n}", f"write p{n}.txt x") for n in range(6)]
    join = stage("join", "write j.txt j", needs=[part["name"] for part in parts], inherit=True)
    flow = await start(fleet, *parts, join)
    await crew.work(agents=2)
    stands = await fleet.workflow(flow)
    assert stands.state is State.COMPLETED
    assert len(await fleet.core.store.runs(tasks=stands.workflow.tasks)) == 7


async def test_a_runner_of_one_workflow_works_on_it_and_its_children_and_on_nothing_else(
    fleet: Fleet, crew: Crew, repo: SampleRepo
) -> None:
    flow = await start(
        fleet, stage("one", "write a.txt a"), stage("two", "write b.txt b", needs=["one"])
    )
    other = await start(fleet, stage("theirs", "write t.txt t"))
    (seated,) = await Dispatch(fleet).claim(
        [SEAT], ClaimFilter(tasks=(await fleet.family_of(flow))[:1])
    )
    draft = Draft(title="Child", prompt=script("write c.txt c"))
    (child,) = await fleet.acting_as(AgentOf(run=seated.run.id)).add([draft])
    await Dispatch(fleet).release(seated.run, "the runner was stopped")
    (loose,) = await fleet.add([Draft(title="Loose", prompt=script("write d.txt d"), priority=5)])
    async with asyncio.timeout(crew.bound_s):
        await Loop(crew.loop().context, agents=2, workflow=flow, until_idle=True).run()
    assert (await fleet.workflow(flow)).state is State.COMPLETED
    assert (await fleet.get(child.id)).state is State.COMPLETED
    assert (await fleet.get(loose.id)).state is State.PENDING
    assert (await fleet.workflow(other)).state is State.PENDING


async def test_the_options_of_a_task_hold_over_those_of_its_coder(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    own = {"scripts": {"*": "write mine.txt own"}}
    (added,) = await fleet.add([Draft(title="Mine", prompt="Do it", options=own)])
    await crew.work(coders={"scripted": {"scripts": {"*": "write usual.txt usual"}}})
    assert (await fleet.get(added.id)).state is State.COMPLETED
    assert repo.read("main", "mine.txt") == "own\n"


async def test_a_later_stage_finds_work_whose_branch_was_put_away(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    flow = await start(
        fleet,
        stage("first", "write a.txt a"),
        stage("second", "crash", "on attempt 2", "write b.txt b", needs=["first"], inherit=True),
    )
    await crew.work(attempts=1)
    context = Context(fleet)
    told = [each.text async for each in clean_up(context, flow)]
    assert any("kept as refs/fleet/archive/" in text for text in told)
    await fleet.retry_workflow(flow)
    await crew.work(attempts=1)
    stands = await fleet.workflow(flow)
    assert stands.state is State.COMPLETED
    assert repo.read(str(stands.tasks[1].branch), "a.txt") == "a\n"
