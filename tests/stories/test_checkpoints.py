"""Checkpoints: what one agent knew, and how another goes on from its work."""

import asyncio
from pathlib import Path

import pytest

from codefleet.domain.errors import FleetError, Forbidden, Invalid, NotFound, Refused
from codefleet.domain.model import CheckpointStatus, Draft
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.runner.repos import register
from tests.gitrepo import SampleRepo, make_repo
from tests.script import script
from tests.stories.conftest import BOUND_S, Crew
from tests.stories.test_mail import prompt_of
from tests.stories.test_workers import MEMBER, as_agent, claimed, kinds, two_teams


async def ended(fleet: Fleet, crew: Crew) -> str:
    """A worker that wrote a file on its branch, ended, and left a checkpoint; the checkpoint."""
    await fleet.spawn("scout", script("write found.txt it"), lands="branch")
    await crew.work()
    made = await fleet.add_checkpoint("Find it", "found half", author="scout", next=["the rest"])
    return made.id


async def test_a_worker_is_spawned_where_the_author_stopped(
    fleet: Fleet, crew: Crew, repo: SampleRepo
) -> None:
    ref = await ended(fleet, crew)
    done = await fleet.accept_checkpoint(ref, "lead")
    assert done.task is not None
    assert (done.task.handle, done.task.base) == ("lead", done.commit)
    assert (done.checkpoint.status, done.checkpoint.outcome) == ("accepted", "by lead")
    more = script("append found.txt more")
    await fleet.edit(done.task.id, prompt=f"{done.task.prompt}\n\n{more}")
    await crew.work()
    assert repo.read("main", "found.txt") == "it\nmore\n"
    told = await prompt_of(fleet, done.task.id)
    assert "Go on where the agent scout stopped" in told
    assert "> Goal: Find it\n> Now: found half\n> Next: the rest" in told
    assert await kinds(fleet, "checkpoint.") == ["checkpoint.created", "checkpoint.accepted"]


async def test_a_worker_that_has_not_started_starts_there(fleet: Fleet, crew: Crew) -> None:
    ref = await ended(fleet, crew)
    waits = await fleet.spawn("lead", "Look")
    done = await fleet.accept_checkpoint(ref, "lead")
    assert done.task is not None
    assert (done.task.id, done.task.base) == (waits.id, done.commit)
    assert done.task.prompt.startswith("Look\n\nGo on where the agent scout stopped")


async def test_an_agent_at_work_gets_the_commit_to_merge(fleet: Fleet, crew: Crew) -> None:
    ref = await ended(fleet, crew)
    await fleet.spawn("lead", "Look")
    (run,) = await claimed(fleet)
    done = await as_agent(fleet, run).accept_checkpoint(ref)
    assert done.task is not None
    assert (done.task.id, done.task.base) == (run.task, None)
    assert done.commit == (await fleet.runs_of(done.checkpoint.task or run.task))[-1].made
    assert await fleet.mail("lead") == []


async def test_a_human_who_accepts_for_an_agent_at_work_lets_it_know(
    fleet: Fleet, crew: Crew
) -> None:
    ref = await ended(fleet, crew)
    await fleet.spawn("lead", "Look")
    await claimed(fleet)
    done = await fleet.accept_checkpoint(ref, "lead")
    (mail,) = await fleet.mail("lead")
    assert mail.sender == "scout"
    assert f"Its work is the commit {done.commit}: merge it." in mail.text


async def test_nobody_goes_on_while_the_author_works(fleet: Fleet) -> None:
    await fleet.spawn("scout", "Look")
    (run,) = await claimed(fleet)
    made = await as_agent(fleet, run).add_checkpoint("Find it", "half")
    assert (made.author, made.task, made.run) == ("scout", run.task, run.id)
    with pytest.raises(Refused, match=f"scout still works on {run.task}"):
        await fleet.accept_checkpoint(made.id, "lead")
    assert (await fleet.checkpoint(made.id)).status is CheckpointStatus.PENDING
    await fleet.dismiss("scout")
    with pytest.raises(Refused, match="scout is still being stopped"):
        await fleet.accept_checkpoint(made.id, "lead")
    assert (await fleet.checkpoint(made.id)).status is CheckpointStatus.PENDING
    await Dispatch(fleet).end_lost_run(run, "cancelled")
    accepted = await fleet.accept_checkpoint(made.id, "lead")
    assert accepted.task is not None
    assert "scout stopped; it left no commit. What it left" in accepted.task.prompt


@pytest.mark.slow
async def test_the_work_of_a_dismissed_author_is_there_before_anybody_goes_on(
    fleet: Fleet, crew: Crew, repo: SampleRepo
) -> None:
    steps = ("ignore SIGTERM", "write a.txt a", "commit A", "write b.txt b", "say half", "wait 500")
    slow = await fleet.spawn("slow", script(*steps))
    made = await fleet.add_checkpoint("Find it", "half", author="slow")

    async def half() -> object:
        return await fleet.core.store.events(task=slow.id, kinds=["run.said"])

    async def ended() -> object:
        return not (await fleet.runs_of(slow.id))[-1].is_live

    loop = crew.loop(1)
    running = asyncio.create_task(loop.run())
    await crew.wait_for(half)
    await fleet.dismiss("slow")
    with pytest.raises(Refused, match="slow is still being stopped"):
        await fleet.accept_checkpoint(made.id, "heir")
    await crew.wait_for(ended)
    loop.stop()
    await asyncio.wait_for(running, BOUND_S)
    done = await fleet.accept_checkpoint(made.id, "heir")
    assert done.commit
    assert (repo.read(done.commit, "a.txt"), repo.read(done.commit, "b.txt")) == ("a\n", "b\n")
    assert done.task
    assert done.task.base == done.commit
    assert "slow stopped; its work is in this folder." in done.task.prompt


async def test_a_task_of_the_author_that_only_waits_is_cancelled(fleet: Fleet) -> None:
    waits = await fleet.spawn("scout", "Look")
    made = await fleet.add_checkpoint("Find it", "half", author="scout")
    await fleet.accept_checkpoint(made.id, "lead")
    assert (await fleet.get(waits.id)).state is State.CANCELLED


async def test_a_refused_acceptance_changes_nothing(fleet: Fleet) -> None:
    waits = await fleet.spawn("scout", "Look")
    rejected = await fleet.add_checkpoint("Find it", "half", author="scout")
    await fleet.reject_checkpoint(rejected.id)
    made = await fleet.add_checkpoint("Find it", "half", author="scout")
    before = await fleet.core.store.last_seq()
    for ref, by, why in (
        (rejected.id, "lead", "already rejected"),
        (made.id, "a b", "is not a handle"),
        (made.id, "scout", "wrote this itself"),
    ):
        with pytest.raises(FleetError, match=why):
            await fleet.accept_checkpoint(ref, by)
    assert (await fleet.get(waits.id)).state is State.PENDING
    assert (await fleet.checkpoint(made.id)).status is CheckpointStatus.PENDING
    assert await fleet.core.store.last_seq() == before


@pytest.mark.parametrize("by", ["an agent", "a worker"])
async def test_whom_a_checkpoint_is_for_goes_on_from_an_author_that_waits(
    fleet: Fleet, by: str
) -> None:
    lead, _ = await two_teams(fleet)
    bob = await lead.spawn("bob", "Look")
    (run,) = await claimed(fleet)
    waits = await lead.spawn("scout", "Look")
    for_bob = await lead.add_checkpoint("Find it", "half", author="scout", to="bob")
    for_ann = await lead.add_checkpoint("Find it", "half", author="scout", to="ann")
    member = as_agent(fleet, run) if by == "an agent" else fleet.acting_as(MEMBER)
    with pytest.raises(Refused, match=f"{for_ann.id} is for ann"):
        await member.accept_checkpoint(for_ann.id)
    with pytest.raises(Refused, match=f"{for_ann.id} is for ann"):
        await member.reject_checkpoint(for_ann.id)
    assert (await fleet.get(waits.id)).state is State.PENDING
    done = await member.accept_checkpoint(for_bob.id)
    assert done.task
    assert done.task.id == bob.id
    assert (await fleet.get(waits.id)).state is State.CANCELLED
    with pytest.raises(Forbidden, match=r"cancel|not a task that"):
        await member.cancel(bob.id)


async def test_the_work_of_a_team_goes_on_in_that_team(
    fleet: Fleet, crew: Crew, repo: SampleRepo
) -> None:
    web, ops = await two_teams(fleet)
    await web.spawn("scout", script("write found.txt it"), lands="branch")
    await crew.work()
    made = [await web.add_checkpoint("Find it", "half", author="scout") for _ in "12"]
    await ops.spawn("heir", "Look")
    done = await fleet.accept_checkpoint(made[0].id, "heir")
    assert done.task
    assert (done.task.team, done.task.base) == ("web", done.commit)
    again = await web.accept_checkpoint(made[1].id, "other")
    assert again.task
    assert (again.task.team, again.task.base) == ("web", done.commit)
    assert repo.read(str(again.commit), "found.txt") == "it\n"


async def test_an_agent_of_another_repository_cannot_go_on(
    fleet: Fleet, crew: Crew, tmp_path: Path
) -> None:
    ref = await ended(fleet, crew)
    till = await register(fleet, make_repo(tmp_path / "till", {"a": "b"}).path)
    await fleet.spawn("lead", "Look", repo=till.name)
    with pytest.raises(Refused, match="works in till, but this work is in shop"):
        await fleet.accept_checkpoint(ref, "lead")
    assert (await fleet.checkpoint(ref)).status is CheckpointStatus.PENDING


async def test_of_two_who_accept_at_once_one_goes_on(fleet: Fleet) -> None:
    made = await fleet.add_checkpoint("Find it", "half", author="scout")
    tries = [fleet.accept_checkpoint(made.id, name) for name in ("one", "two", "three")]
    done = await asyncio.gather(*tries, return_exceptions=True)
    assert sorted(type(each).__name__ for each in done) == ["Acceptance", "Refused", "Refused"]
    assert len(await fleet.workers()) == 1


async def test_an_acceptance_that_leads_to_nothing_leaves_it_pending(fleet: Fleet) -> None:
    await fleet.add([Draft(title="Elsewhere")])
    made = await fleet.add_checkpoint("Find it", "half", author="scout")
    with pytest.raises(Invalid, match="handle"):
        await fleet.accept_checkpoint(made.id, "a b")
    assert (await fleet.checkpoint(made.id)).status is CheckpointStatus.PENDING


async def test_checkpoints_are_listed_by_handle_and_status_newest_first(fleet: Fleet) -> None:
    await fleet.spawn("scout", "Look")
    first = await fleet.add_checkpoint("One", "a", author="scout")
    second = await fleet.add_checkpoint("Two", "b", author="scout", to="lead")
    assert [it.id for it in await fleet.checkpoints("scout")] == [second.id, first.id]
    assert [it.id for it in await fleet.checkpoints("lead")] == [second.id]
    rejected = await fleet.reject_checkpoint(first.id, "too vague")
    assert (rejected.status, rejected.outcome) == ("rejected", "too vague")
    pending = await fleet.checkpoints("scout", status="pending")
    assert [it.id for it in pending] == [second.id]
    with pytest.raises(Refused, match="already rejected"):
        await fleet.accept_checkpoint(first.id, "lead")
    (mail,) = await fleet.mail("lead")
    assert mail.text == f"I left you the checkpoint {second.id}: Two"


async def test_checkpoints_stay_in_their_team_and_hold_no_key(fleet: Fleet) -> None:
    key = "sk-ant-api03-" + "Zx9" * 31
    web, ops = await two_teams(fleet)
    made = await web.add_checkpoint("Find it", f"use {key}", next=[key])
    assert key not in made.json()
    with pytest.raises(NotFound, match="no checkpoint"):
        await ops.accept_checkpoint(made.id)
    assert await ops.checkpoints("ann") == []
    with pytest.raises(Invalid, match="at most 64,000 bytes"):
        await web.add_checkpoint("Find it", "now", next=["x" * 9000] * 9)
    with pytest.raises(Invalid, match="unknown field `mood`"):
        await web.add_checkpoint("Find it", "now", mood="good")
