"""Workers and swarms as people and agents ask for them; nothing here starts an agent."""

import asyncio
from datetime import timedelta

import pytest

from codefleet.domain.access import AgentOf, Holder
from codefleet.domain.errors import Duplicate, FleetError, Invalid, NotFound, Refused
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, Event, Post, Run, RunnerId, Swarm, Task, TokenId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import Role, State
from codefleet.domain.worker import Health, WorkerState
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import TaskQuery, Write
from tests.script import script

LEAD = Holder(token=TokenId("t1"), handle="ann", team="web", role=Role.TEAM_LEAD)
MEMBER = Holder(token=TokenId("t2"), handle="bob", team="web", role=Role.WORKER)
STRANGER = Holder(token=TokenId("t3"), handle="eve", team="ops", role=Role.TEAM_LEAD)


async def two_teams(fleet: Fleet) -> tuple[Fleet, Fleet]:
    """The fleet for the leads of two teams."""
    for name in ("web", "ops"):
        await fleet.create_team(name)
    return fleet.acting_as(LEAD), fleet.acting_as(STRANGER)


async def claimed(fleet: Fleet, many: int = 1) -> list[Run]:
    seats = [Seat(f"agent-{n}", RunnerId("r-1"), "here", "scripted") for n in range(many)]
    return [claim.run for claim in await Dispatch(fleet).claim(seats, ClaimFilter())]


def as_agent(fleet: Fleet, run: Run) -> Fleet:
    return fleet.acting_as(AgentOf(run=run.id))


async def kinds(fleet: Fleet, prefix: str) -> list[str]:
    return [event.kind for event in await fleet.events() if event.kind.startswith(prefix)]


async def test_a_spawned_worker_is_a_task_with_a_handle_before_all_others(fleet: Fleet) -> None:
    await fleet.add([Draft(title="Later", priority=4)])
    task = await fleet.spawn("scout", "# Look around\n\nand report")
    assert (task.handle, task.title, task.priority) == ("scout", "Look around", 5)
    assert [each.id for each in await fleet.list(TaskQuery(limit=1))] == [task.id]
    (worker,) = await fleet.workers()
    assert (worker.handle, worker.task, worker.state) == ("scout", task.id, WorkerState.STARTING)
    assert (worker.health, worker.restarts, worker.depth) == (Health.HEALTHY, 0, 0)


async def test_a_handle_is_free_again_once_its_worker_is_dismissed(fleet: Fleet) -> None:
    first = await fleet.spawn("scout", "Look")
    with pytest.raises(Duplicate, match=f"scout is already the handle of {first.id}"):
        await fleet.spawn("scout", "Look again")
    assert (await fleet.dismiss("scout")).state is State.CANCELLED
    assert await fleet.workers() == []
    assert (await fleet.worker("scout")).state is WorkerState.STOPPED
    with pytest.raises(NotFound, match="no worker scout"):
        await fleet.dismiss("scout")
    second = await fleet.spawn("scout", "Look again")
    assert (await fleet.worker("scout")).task == second.id
    with pytest.raises(Duplicate, match="already the handle"):
        await fleet.retry(first.id)


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        (script("write a.txt a"), "Worker scout"),
        (f"{script('write a.txt a')}\n## Look around", "Look around"),
        (f"\n# Look\n{script('say hi')}", "Look"),
        ("x" * 100, "x" * 80),
        ("#\n```\nopen", "Worker scout"),
    ],
)
async def test_a_worker_is_titled_by_the_first_line_of_prose(
    fleet: Fleet, prompt: str, title: str
) -> None:
    assert (await fleet.spawn("scout", prompt)).title == title


@pytest.mark.parametrize("bad", ["", "a b", "x" * 51, "a/b", "scout\n", "../x"])
async def test_what_is_no_handle_is_refused_in_words(fleet: Fleet, bad: str) -> None:
    with pytest.raises(Invalid, match="handle: should be 1 to 50 letters, digits"):
        await fleet.spawn(bad, "Look")
    assert await fleet.list(TaskQuery()) == []


async def test_a_worker_shows_how_alive_it_is(fleet: Fleet) -> None:
    await fleet.spawn("scout", "Look")
    (run,) = await claimed(fleet)
    assert (await fleet.worker("scout")).state is WorkerState.STARTING
    run = await Dispatch(fleet).note(run, worktree="/tmp/x", session="s-1")

    async def tell(kind: str) -> None:
        told = Event(at=await fleet.now(), kind=kind, task=run.task, run=run.id)
        await fleet.core.store.write(Write(events=[told]))

    await tell("run.said")
    worker = await fleet.worker("scout")
    assert (worker.state, worker.health) == (WorkerState.WORKING, Health.HEALTHY)
    assert (worker.worktree, worker.session, worker.run) == ("/tmp/x", "s-1", run.id)
    await tell("run.quiet")
    assert (await fleet.worker("scout")).health is Health.DEGRADED
    await tell("run.tool")
    assert (await fleet.worker("scout")).health is Health.HEALTHY
    await fleet.dismiss("scout")
    assert [each.state for each in await fleet.workers()] == [WorkerState.STOPPING]


async def test_a_message_reaches_a_worker_by_its_handle(fleet: Fleet) -> None:
    task = await fleet.spawn("scout", "Look")
    assert (await fleet.send("scout", "mind the tests")).task == task.id


async def test_a_full_swarm_lets_the_next_worker_wait_and_says_why(fleet: Fleet) -> None:
    swarm = await fleet.create_swarm("hive", max_agents=1)
    for name in ("one", "two"):
        await fleet.spawn(name, "Look", swarm=swarm.id)
    assert len(await claimed(fleet, 2)) == 1
    (waits,) = await fleet.list(TaskQuery(states=[State.PENDING]))
    hold = (await fleet.why([waits]))[waits.id]
    assert hold.text == "1 agent works in the swarm hive, as many as its max_agents allows"
    assert [each.handle for each in await fleet.workers(swarm.id)] == ["one", "two"]


async def test_killing_a_swarm_cancels_what_is_in_it_and_nothing_else(fleet: Fleet) -> None:
    swarm = await fleet.create_swarm("hive")
    mine = [await fleet.spawn(name, "Look", swarm=swarm.id) for name in ("one", "two")]
    other = await fleet.spawn("three", "Look")
    await claimed(fleet)
    stopped = await fleet.kill_swarm(swarm.id)
    assert {task.id for task in stopped} == {task.id for task in mine}
    assert {task.state for task in stopped} == {State.CANCELLED}
    assert (await fleet.get(other.id)).state is State.PENDING
    assert await fleet.swarms() == []
    assert await fleet.kill_swarm(swarm.id) == []
    with pytest.raises(Refused, match="was killed"):
        await fleet.spawn("four", "Look", swarm=swarm.id)
    with pytest.raises(Refused, match="was killed"):
        await fleet.retry(mine[1].id)
    with pytest.raises(Refused, match="was killed"):
        await fleet.edit(other.id, swarm=swarm.id)
    assert await kinds(fleet, "swarm.") == ["swarm.created", "swarm.killed"]


async def test_children_of_an_agent_are_in_its_swarm_and_end_with_it(fleet: Fleet) -> None:
    await two_teams(fleet)
    swarm = await fleet.create_swarm("hive", team="web")
    await fleet.spawn("lead", "Look", swarm=swarm.id)
    (run,) = await claimed(fleet)
    (child,) = await as_agent(fleet, run).add([Draft(title="Part")])
    helper = await as_agent(fleet, run).spawn("helper", "Help")
    assert (child.swarm, child.team, helper.swarm) == (swarm.id, "web", swarm.id)
    assert (await fleet.worker("helper")).depth == 1
    assert len(await fleet.kill_swarm(swarm.id)) == 3


async def test_bad_swarms_are_refused_with_a_sentence(fleet: Fleet) -> None:
    for most in (0, 101):
        with pytest.raises(Invalid, match="max_agents: should be a whole number from 1 to 100"):
            await fleet.create_swarm("hive", max_agents=most)
    with pytest.raises(Invalid, match="name"):
        await fleet.create_swarm("  ")
    with pytest.raises(NotFound, match="no team nosuch"):
        await fleet.create_swarm("hive", team="nosuch")


async def test_a_task_and_its_swarm_are_of_one_team(fleet: Fleet) -> None:
    web, ops = await two_teams(fleet)
    swarm = await web.create_swarm("hive")
    (theirs,) = await ops.add([Draft(title="Look")])
    with pytest.raises(Refused, match="is not of the team of"):
        await fleet.edit(theirs.id, swarm=swarm.id)
    (mine,) = await web.add([Draft(title="Look", swarm=swarm.id)])
    with pytest.raises(Refused, match="is not of the team of"):
        await fleet.edit(mine.id, team="ops")
    assert (await fleet.edit(mine.id, team="ops", swarm=None)).team == "ops"


async def test_a_broadcast_that_nobody_hears_is_refused(fleet: Fleet) -> None:
    swarm = await fleet.create_swarm("hive")
    with pytest.raises(Refused, match="no agent is working"):
        await fleet.broadcast("lunch")
    assert await fleet.broadcast("lunch", swarm=swarm.id) == []
    assert len(await fleet.read_posts(swarm.id)) == 1
    with pytest.raises(NotFound, match="no swarm nope"):
        await fleet.spawn("one", "Look", swarm="nope")


async def board(fleet: Fleet) -> Swarm:
    swarm = await fleet.create_swarm("hive")
    for number, priority in enumerate(["low", "critical", "normal", "critical"]):
        await fleet.post(swarm.id, "status", {"n": number}, sender=f"s{number}", priority=priority)
    return swarm


async def test_a_blackboard_is_read_by_priority_and_then_the_newest(fleet: Fleet) -> None:
    swarm = await board(fleet)
    found = await fleet.read_posts(swarm.id)
    assert [post.payload["n"] for post in found] == [3, 1, 2, 0]
    assert [p.payload["n"] for p in await fleet.read_posts(swarm.id, limit=1)] == [3]
    assert [p.payload["n"] for p in await fleet.read_posts(swarm.id, priority="low")] == [0]
    assert await fleet.read_posts(swarm.id, type="request") == []
    with pytest.raises(Invalid, match="'loud' is none of low, normal, high, critical"):
        await fleet.read_posts(swarm.id, priority="loud")
    with pytest.raises(Invalid, match="at most 1000"):
        await fleet.read_posts(swarm.id, limit=1001)


async def test_a_post_for_one_reader_is_seen_by_that_one_and_its_sender(fleet: Fleet) -> None:
    swarm = await fleet.create_swarm("hive")
    await fleet.post(swarm.id, "request", {"q": 1}, sender="one", target="two")
    for reader, many in {"one": 1, "two": 1, "three": 0, None: 1}.items():
        assert len(await fleet.read_posts(swarm.id, reader=reader)) == many
    (post,) = await fleet.read_posts(swarm.id)
    with pytest.raises(NotFound, match="no post"):
        await fleet.mark_posts_read([post.id], reader="three")


async def test_marks_of_many_readers_at_once_are_all_kept(fleet: Fleet) -> None:
    swarm = await board(fleet)
    ids = [post.id for post in await fleet.read_posts(swarm.id)]
    readers = [f"r{number}" for number in range(12)]
    marks = [fleet.mark_posts_read(ids, reader=reader) for reader in readers * 2]
    await asyncio.gather(*marks)
    for post in await fleet.read_posts(swarm.id):
        assert sorted(post.read_by) == sorted(readers)
    assert await fleet.read_posts(swarm.id, reader="r3", unread_only=True) == []
    assert len(await fleet.read_posts(swarm.id, reader="new", unread_only=True)) == 4
    assert len(await kinds(fleet, "blackboard.read")) == 12
    with pytest.raises(Invalid, match="at most 100"):
        await fleet.mark_posts_read([ids[0]] * 101)


async def test_posts_are_archived_by_id_or_by_age(fleet: Fleet) -> None:
    swarm = await board(fleet)
    first, *rest = await fleet.read_posts(swarm.id)
    assert len(await fleet.archive_posts(swarm.id, ids=[first.id])) == 1
    assert len(await fleet.read_posts(swarm.id)) == len(rest)
    assert await fleet.archive_posts(swarm.id, older_than=timedelta(hours=1)) == []
    assert len(await fleet.archive_posts(swarm.id, older_than=timedelta(0))) == 3
    assert await fleet.read_posts(swarm.id) == []
    with pytest.raises(Invalid, match="which posts"):
        await fleet.archive_posts(swarm.id)


async def test_changed_posts_are_answered_as_they_are_stored(fleet: Fleet) -> None:
    swarm = await board(fleet)
    ids = [post.id for post in await fleet.read_posts(swarm.id)]
    await fleet.mark_posts_read(ids[:1], reader="one")
    marked = await fleet.mark_posts_read(ids, reader="one")
    assert marked == await fleet.core.store.records(Post, ids=ids)
    archived = await fleet.archive_posts(swarm.id, ids=ids)
    assert archived == await fleet.core.store.records(Post, ids=ids)


async def test_what_cannot_be_posted_is_refused(fleet: Fleet) -> None:
    swarm = await fleet.create_swarm("hive")
    with pytest.raises(Invalid, match="type: should be request or response"):
        await fleet.post(swarm.id, "gossip", {})
    with pytest.raises(Invalid, match=r"at most 64,000 characters"):
        await fleet.post(swarm.id, "status", {"x": "y" * 70_000})
    with pytest.raises(Invalid, match="is not a handle"):
        await fleet.post(swarm.id, "status", {}, sender="a b")
    await fleet.kill_swarm(swarm.id)
    with pytest.raises(Refused, match="was killed"):
        await fleet.post(swarm.id, "status", {})


async def test_a_key_in_a_post_is_not_stored(fleet: Fleet) -> None:
    key = "sk-ant-api03-" + "Zx9" * 31
    swarm = await fleet.create_swarm("hive")
    await fleet.post(swarm.id, "status", {"deep": [{"key": key}]})
    assert not [text async for _, text in fleet.core.store.export() if key in text]


async def test_an_agent_posts_and_reads_only_under_its_own_handle(fleet: Fleet) -> None:
    swarm = await fleet.create_swarm("hive")
    await fleet.spawn("scout", "Look", swarm=swarm.id)
    (run,) = await claimed(fleet)
    agent = as_agent(fleet, run)
    assert (await agent.post(swarm.id, "status", {"at": 1})).sender == "scout"
    await fleet.post(swarm.id, "request", {}, sender="one", target="two")
    assert len(await agent.read_posts(swarm.id)) == 1
    for attempt in (
        agent.post(swarm.id, "status", {}, sender="boss"),
        agent.read_posts(swarm.id, reader="two"),
        agent.mark_posts_read([], reader="two"),
        agent.archive_posts(swarm.id, older_than=timedelta(0)),
        agent.create_swarm("mine"),
        agent.kill_swarm(swarm.id),
        agent.broadcast("all stop"),
    ):
        with pytest.raises(Refused):
            await attempt


async def test_the_nouns_of_another_team_do_not_exist_for_a_token(fleet: Fleet) -> None:
    web, ops = await two_teams(fleet)
    swarm = await web.create_swarm("hive")
    task: Task = await web.spawn("scout", "Look", swarm=swarm.id)
    post = await web.post(swarm.id, "status", {})
    assert (swarm.team, task.team, post.team, post.sender) == ("web", "web", "web", "ann")
    for attempt in (
        ops.swarm(swarm.id),
        ops.kill_swarm(swarm.id),
        ops.read_posts(swarm.id),
        ops.post(swarm.id, "status", {}),
        ops.mark_posts_read([post.id]),
        ops.worker("scout"),
        ops.dismiss("scout"),
        ops.spawn("mole", "Look", swarm=swarm.id),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert (await ops.swarms(), await ops.workers()) == ([], [])
    assert (await ops.spawn("scout", "Look")).team == "ops"
    with pytest.raises(FleetError, match=r"several teams: web \(.*\), ops \("):
        await fleet.dismiss("scout")


async def test_a_worker_token_posts_but_neither_spawns_nor_speaks_for_others(
    fleet: Fleet,
) -> None:
    lead, _ = await two_teams(fleet)
    swarm = await lead.create_swarm("hive")
    bob = fleet.acting_as(MEMBER)
    assert (await bob.post(swarm.id, "status", {})).sender == "bob"
    for attempt in (
        bob.spawn("mole", "Look"),
        bob.add([Draft(title="Look", handle="mole")]),
        bob.post(swarm.id, "status", {}, sender="ann"),
        bob.kill_swarm(swarm.id),
        bob.archive_posts(swarm.id, older_than=timedelta(0)),
    ):
        with pytest.raises(Refused):
            await attempt


async def test_a_directive_is_on_the_blackboard_and_reaches_those_at_work(fleet: Fleet) -> None:
    swarm = await fleet.create_swarm("hive")
    inside = await fleet.spawn("one", "Look", swarm=swarm.id)
    await fleet.spawn("two", "Look")
    await claimed(fleet, 2)
    sent = await fleet.broadcast("freeze the API", swarm=swarm.id, priority="high")
    assert [message.task for message in sent] == [inside.id]
    (post,) = await fleet.read_posts(swarm.id)
    assert (post.type, post.payload, post.priority) == (
        "directive",
        {"directive": "freeze the API"},
        "high",
    )
    assert len(await fleet.broadcast("lunch")) == 2
