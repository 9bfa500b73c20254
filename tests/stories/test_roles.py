"""The table of roles, cell by cell, as verbs of a real fleet enforce it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from codefleet.domain.access import OWNER, Right, allowed
from codefleet.domain.errors import FleetError, Forbidden, NotFound
from codefleet.domain.events import OUTPUT, event
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import (
    Alert,
    Change,
    Draft,
    Evidence,
    Result,
    Run,
    RunnerId,
    Task,
)
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import Role
from codefleet.domain.worker import Health, WorkerState
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.fleet.measures import MetricsReader
from codefleet.ports import Write
from codefleet.runner import repos, verbs
from codefleet.runner.context import Context
from tests.stories.teams import Work, fill, member, plan

Call = Callable[[Fleet, Work], Awaitable[object]]


async def listed(items: AsyncIterator[object]) -> list[object]:
    return [item async for item in items]


VERBS: list[tuple[Right, str, Call]] = [
    (Right.READ_STATUS, "status", lambda fleet, work: fleet.status()),
    (Right.READ_STATUS, "agents", lambda fleet, work: fleet.agents()),
    (Right.READ_STATUS, "crew", lambda fleet, work: fleet.crew()),
    (Right.READ_STATUS, "inbox", lambda fleet, work: fleet.inbox()),
    (Right.READ_STATUS, "left", lambda fleet, work: fleet.left()),
    (
        Right.READ_STATUS,
        "cost",
        lambda fleet, work: fleet.cost(by=(), since=work.run.started_at),
    ),
    (Right.READ_OUTPUT, "details", lambda fleet, work: fleet.details(work.running.id)),
    (
        Right.READ_OUTPUT,
        "run_log",
        lambda fleet, work: verbs.run_log(Context(fleet), work.run.id, 10),
    ),
    (
        Right.READ_OUTPUT,
        "worktree_status",
        lambda fleet, work: verbs.worktree_status(Context(fleet), work.running.handle),
    ),
    (Right.READ_OUTPUT, "diff", lambda fleet, work: verbs.diff(fleet, work.run.id)),
    (Right.ADD, "add", lambda fleet, work: fleet.add([Draft(title="More")])),
    (Right.SPAWN, "spawn", lambda fleet, work: fleet.spawn("scout", "Look")),
    (
        Right.SPAWN,
        "add with a handle",
        lambda fleet, work: fleet.add([Draft(title="Look", handle="scout")]),
    ),
    (Right.SWARM, "create_swarm", lambda fleet, work: fleet.create_swarm("hive")),
    (Right.SWARM, "kill_swarm", lambda fleet, work: fleet.kill_swarm("s-1")),
    (
        Right.SWARM,
        "archive_posts",
        lambda fleet, work: fleet.archive_posts("s-1", ids=["p-1"]),
    ),
    (Right.TALK, "post", lambda fleet, work: fleet.post("s-1", "status", {})),
    (Right.TALK, "send_mail", lambda fleet, work: fleet.send_mail("scout", "Mind")),
    (Right.TALK, "hand_off", lambda fleet, work: fleet.hand_off("scout", {"done": "half"})),
    (Right.TALK, "add_checkpoint", lambda fleet, work: fleet.add_checkpoint("Goal", "Now")),
    (Right.TALK, "accept_checkpoint", lambda fleet, work: fleet.accept_checkpoint("k-1")),
    (Right.TALK, "reject_checkpoint", lambda fleet, work: fleet.reject_checkpoint("k-1")),
    (Right.TALK, "remember", lambda fleet, work: fleet.remember("db", "on port 5433")),
    (Right.TALK, "claim_files", lambda fleet, work: fleet.claim_files(["src/**"])),
    (Right.LISTEN, "read_posts", lambda fleet, work: fleet.read_posts(work.talk.swarm.id)),
    (
        Right.LISTEN,
        "mark_posts_read",
        lambda fleet, work: fleet.mark_posts_read([work.talk.post.id]),
    ),
    (Right.LISTEN, "mail", lambda fleet, work: fleet.mail()),
    (Right.LISTEN, "handoffs", lambda fleet, work: fleet.handoffs()),
    (Right.LISTEN, "mark_mail_read", lambda fleet, work: fleet.mark_mail_read(["m-1"])),
    (Right.LISTEN, "checkpoint", lambda fleet, work: fleet.checkpoint(work.talk.checkpoint.id)),
    (Right.LISTEN, "checkpoints", lambda fleet, work: fleet.checkpoints()),
    (Right.LISTEN, "memories", lambda fleet, work: fleet.memories()),
    (Right.LISTEN, "recall", lambda fleet, work: fleet.recall("db")),
    (Right.LISTEN, "search_memory", lambda fleet, work: fleet.search_memory("port")),
    (
        Right.COMMIT,
        "commit_worktree",
        lambda fleet, work: verbs.commit_worktree(Context(fleet), "Found it", "scout"),
    ),
    (
        Right.PUSH,
        "push_worktree",
        lambda fleet, work: verbs.push_worktree(Context(fleet), "scout"),
    ),
    (Right.START, "start", lambda fleet, work: fleet.start(plan())),
    (Right.ASSIGN, "assign", lambda fleet, work: fleet.edit(work.waiting.id, assignee="bob")),
    (Right.EDIT, "edit", lambda fleet, work: fleet.edit(work.waiting.id, priority=1)),
    (Right.PAUSE, "pause", lambda fleet, work: fleet.pause(work.waiting.id)),
    (Right.RESUME, "resume", lambda fleet, work: fleet.resume(work.waiting.id)),
    (Right.CANCEL, "cancel", lambda fleet, work: fleet.cancel(work.waiting.id)),
    (
        Right.CANCEL,
        "cancel_workflow",
        lambda fleet, work: fleet.cancel_workflow(work.flow.id),
    ),
    (Right.RETRY, "retry", lambda fleet, work: fleet.retry(work.waiting.id)),
    (
        Right.RETRY_WORKFLOW,
        "retry_workflow",
        lambda fleet, work: fleet.retry_workflow(work.flow.id),
    ),
    (
        Right.CLEAN_UP,
        "cleanup_task",
        lambda fleet, work: listed(verbs.cleanup_task(Context(fleet), work.waiting)),
    ),
    (
        Right.CLEAN_UP,
        "cleanup_workflow",
        lambda fleet, work: listed(verbs.cleanup_workflow(Context(fleet), work.flow.id)),
    ),
    (Right.ANSWER, "answer", lambda fleet, work: fleet.answer(work.running.id, "Yes")),
    (Right.ANSWER, "settle_alert", lambda fleet, work: fleet.settle_alert("alert-1")),
    (Right.LAND, "land", lambda fleet, work: fleet.land(work.waiting.id)),
    (
        Right.LAND,
        "land with git",
        lambda fleet, work: verbs.land(Context(fleet), work.waiting.id),
    ),
    (Right.REJECT, "reject", lambda fleet, work: fleet.reject(work.waiting.id, "No")),
    (Right.SEND, "send", lambda fleet, work: fleet.send(work.running.id, "Mind")),
    (Right.BROADCAST, "broadcast", lambda fleet, work: fleet.broadcast("Mind")),
    (Right.ALERT, "alert", lambda fleet, work: fleet.alert("Fire")),
    (Right.NOTIFY, "notify", lambda fleet, work: fleet.notify("News")),
    (Right.MOVE_TASK, "move", lambda fleet, work: fleet.edit(work.flow.tasks[0], team=None)),
    (Right.MANAGE_TEAMS, "create_team", lambda fleet, work: fleet.create_team("other")),
    (Right.MANAGE_TEAMS, "remove_team", lambda fleet, work: fleet.remove_team("web")),
    (Right.MANAGE_TEAMS, "invite", lambda fleet, work: fleet.invite("web", Role.WORKER)),
    (Right.MANAGE_TEAMS, "invite_again", lambda fleet, work: fleet.invite_again("i-1")),
    (Right.MANAGE_TEAMS, "token_again", lambda fleet, work: fleet.token_again("t-1")),
    (Right.MANAGE_TEAMS, "invites", lambda fleet, work: fleet.invites("web")),
    (
        Right.MANAGE_TEAMS,
        "withdraw_invite",
        lambda fleet, work: fleet.withdraw_invite("i-1"),
    ),
    (
        Right.MANAGE_TEAMS,
        "create_token",
        lambda fleet, work: fleet.create_token("web", "eve", Role.WORKER),
    ),
    (Right.MANAGE_TEAMS, "tokens", lambda fleet, work: fleet.tokens("web")),
    (Right.MANAGE_TEAMS, "revoke_token", lambda fleet, work: fleet.revoke_token("t-1")),
    (Right.PAUSE_FLEET, "pause all", lambda fleet, work: fleet.pause()),
    (Right.PAUSE_FLEET, "resume all", lambda fleet, work: fleet.resume()),
    (Right.MEASURE, "metrics", lambda fleet, work: MetricsReader(fleet).read(fleet)),
    (Right.WAKE, "wake", lambda fleet, work: fleet.wake("claude")),
    (Right.COLLECT, "gc", lambda fleet, work: listed(verbs.gc(Context(fleet), dry_run=True))),
    (Right.ADD_REPO, "register", lambda fleet, work: fleet.register("/x", "main", None)),
    (
        Right.ADD_REPO,
        "register a folder",
        lambda fleet, work: repos.register(fleet, Path("/no/such/folder")),
    ),
    (
        Right.ARCHIVE,
        "archive",
        lambda fleet, work: fleet.archive(older_than=timedelta(0), dry_run=True),
    ),
    (Right.EXPORT, "export", lambda fleet, work: listed(fleet.export())),
    (Right.IMPORT, "load", lambda fleet, work: fleet.load([])),
    (Right.RESET, "forget", lambda fleet, work: fleet.forget(())),
    (Right.ROTATE, "rotate_keys", lambda fleet, work: fleet.rotate_keys()),
]
ELSEWHERE = {
    Right.MOVE_REPO: "asked in dispatch/repos.py, by `fleet init`",
    Right.SHARE_REPO: "asked in dispatch/repos.py, by `fleet init --share`",
    Right.RUN_AGENTS: "asked by a runner that starts",
    Right.SET_UP: "asked by `fleet init` without a store",
    Right.CHANGE_SETTINGS: "asked by `fleet config set` without a store",
}


@pytest.fixture
async def work(fleet: Fleet) -> Work:
    return await fill(fleet, "web")


async def is_forbidden(call: Awaitable[object]) -> bool:
    """Anything else that stands in the way came after the question who may do it."""
    try:
        await call
    except Forbidden:
        return True
    except FleetError:
        return False
    return False


def test_every_right_is_asked_by_a_verb() -> None:
    assert {right for right, _, _ in VERBS} | ELSEWHERE.keys() == {*Right}


@pytest.mark.parametrize("role", Role)
async def test_a_role_may_ask_the_verbs_that_the_table_grants(
    fleet: Fleet, work: Work, role: Role
) -> None:
    bob = member(fleet, "web", role, "bob")
    granted = {name: call for right, name, call in VERBS if role in allowed(right).roles}
    assert not [name for name, call in granted.items() if await is_forbidden(call(bob, work))]


@pytest.mark.parametrize("role", Role)
async def test_a_role_is_refused_every_other_verb_and_changes_nothing(
    fleet: Fleet, work: Work, role: Role
) -> None:
    before = await fleet.events()
    bob = member(fleet, "web", role, "bob")
    denied = {name: call for right, name, call in VERBS if role not in allowed(right).roles}
    refused = {name for name, call in denied.items() if await is_forbidden(call(bob, work))}
    assert refused == denied.keys()
    assert await fleet.events() == before


async def test_the_owner_may_ask_the_verbs_that_the_table_grants(fleet: Fleet, work: Work) -> None:
    owner = fleet.acting_as(OWNER)
    granted = {name: call for right, name, call in VERBS if allowed(right).owner}
    assert not [name for name, call in granted.items() if await is_forbidden(call(owner, work))]


async def test_the_owner_is_refused_what_only_the_local_human_may(fleet: Fleet, work: Work) -> None:
    denied = [(name, call) for right, name, call in VERBS if not allowed(right).owner]
    assert [name for name, _ in denied] == ["load", "forget", "rotate_keys"]
    for _, call in denied:
        assert await is_forbidden(call(fleet.acting_as(OWNER), work))


@pytest.mark.parametrize("role", Role)
async def test_every_member_lists_and_reads_the_tasks_of_its_team(
    fleet: Fleet, work: Work, role: Role
) -> None:
    someone = member(fleet, "web", role)
    assert (await someone.get(work.running.id)).title == "Secret of web"
    assert [run.id for run in await someone.runs_of(work.running.id)] == [work.run.id]
    assert (await someone.workflow(work.flow.id)).workflow == work.flow
    assert [each.handle for each in await someone.members("web")] == ["ann"]


@pytest.mark.parametrize("role", Role)
async def test_the_log_shows_output_only_to_roles_that_may_read_it(
    fleet: Fleet, work: Work, role: Role
) -> None:
    await member(fleet, "web").send(work.running.id, "Mind the gap")
    someone = member(fleet, "web", role)
    shown = {event.kind for event in await someone.events()} & OUTPUT
    assert bool(shown) == (role in allowed(Right.READ_OUTPUT).roles)
    assert bool(await someone.events(kinds=["message.sent"])) == bool(shown)
    assert "task.added" in {event.kind for event in await someone.events()}


@pytest.mark.parametrize("role", Role)
async def test_the_log_shows_memories_and_alerts_only_to_roles_that_may_read_them(
    fleet: Fleet, work: Work, role: Role
) -> None:
    shown = {event.kind for event in await member(fleet, "web", role).events()}
    assert ("memory.stored" in shown) == (role in allowed(Right.LISTEN).roles)
    assert ("alert.raised" in shown) == (role in allowed(Right.READ_STATUS).roles)


async def test_a_worker_reads_the_output_of_what_is_assigned_to_it(
    fleet: Fleet, work: Work
) -> None:
    bob = member(fleet, "web", Role.WORKER, "bob")
    with pytest.raises(Forbidden, match="may not read the output of others"):
        await bob.details(work.waiting.id)
    await member(fleet, "web").edit(work.waiting.id, assignee="bob")
    assert (await bob.details(work.waiting.id)).task.id == work.waiting.id


async def ran(fleet: Fleet, task: Task, run: Run | None = None) -> Run:
    """A run of this task whose agent has done and said something."""
    seat = Seat("agent-of-ann", RunnerId("r-1"), "lab", "scripted")
    if run is None:
        (claim,) = await Dispatch(fleet).claim([seat], ClaimFilter(tasks=(task.id,)))
        run = claim.run
    change = Change(path="secret.py", kind="added")
    heard = run.evolve(
        said="a secret said",
        note="a secret note",
        worktree="/secret/worktree",
        result=Result(summary="a secret summary"),
        evidence=Evidence(base="b" * 40, tip="c" * 40, tree="d" * 40, changes=(change,)),
        version=run.version + 1,
    )
    await fleet.core.write(Write(runs=[heard]))
    return heard


async def told_of_runs(someone: Fleet, work: Work, role: Role) -> str:
    """All that an actor finds out about the runs of a team."""
    heard: list[object] = [
        await someone.runs_of(work.running.id, *work.flow.tasks),
        await someone.find_runs([work.run.id]),
        await someone.last_runs([work.running]),
        await someone.runs_during(work.run.started_at, work.run.started_at + timedelta(days=1)),
        await someone.workflows(),
        await someone.collect_workflow(work.flow.id, every=True),
        await someone.workers(),
        await someone.worker("scout-web"),
    ]
    if role in allowed(Right.READ_STATUS).roles:
        heard.append(await someone.status())
    return repr(heard)


@pytest.mark.parametrize("role", Role)
async def test_runs_show_output_only_to_roles_that_may_read_it(
    fleet: Fleet, work: Work, role: Role
) -> None:
    run = await ran(fleet, work.running, work.run)
    await ran(fleet, await fleet.get(work.flow.tasks[0]))
    someone = member(fleet, "web", role, "bob")
    heard = await told_of_runs(someone, work, role)
    assert ("secret" in heard) == (role in allowed(Right.READ_OUTPUT).roles)
    (seen,) = await someone.runs_of(work.running.id)
    assert (seen.id, seen.agent, seen.started_at) == (run.id, run.agent, run.started_at)
    assert (seen.outcome, seen.usage, seen.made) == (run.outcome, run.usage, run.made)
    assert (await someone.worker("scout-web")).state is WorkerState.WORKING


async def test_a_worker_reads_the_runs_of_what_is_assigned_to_it(fleet: Fleet, work: Work) -> None:
    run = await ran(fleet, work.running, work.run)
    await fleet.edit(work.running.id, assignee="bob")
    bob = member(fleet, "web", Role.WORKER, "bob")
    assert await bob.runs_of(work.running.id) == [run]
    assert (await bob.worker("scout-web")).worktree == run.worktree


async def test_who_may_not_read_output_sees_that_a_worker_is_alive_again(
    fleet: Fleet, work: Work
) -> None:
    now = await fleet.now()
    told = [event(kind, now, run=work.run) for kind in ("run.quiet", "run.said")]
    await fleet.core.write(Write(events=told[:1]))
    worker = member(fleet, "web", Role.WORKER, "bob")
    assert (await worker.worker("scout-web")).health is Health.DEGRADED
    await fleet.core.write(Write(events=told[1:]))
    assert (await worker.worker("scout-web")).health is Health.HEALTHY


async def test_a_merger_approves_the_commit_of_a_run_that_it_may_not_read(
    fleet: Fleet, work: Work
) -> None:
    run = await ran(fleet, work.running, work.run)
    await Dispatch(fleet).submit(run, approved=False)
    merger = member(fleet, "web", Role.MERGER, "bob")
    approved = await merger.land(work.running.id, run.made)
    assert approved.approved_commit == run.made
    (stored,) = await fleet.runs_of(work.running.id)
    assert (stored.said, stored.result, stored.tip) == (run.said, run.result, run.made)


async def test_an_alert_waits_in_the_inbox_until_a_human_settles_it(
    fleet: Fleet, work: Work
) -> None:
    raised = await member(fleet, "web", Role.MONITOR, "eve").alert("The disk is full")
    assert [(it.id, it.text) for it in await fleet.inbox() if it.kind == "alert"][-1] == (
        raised.id,
        "eve@web: The disk is full",
    )
    await member(fleet, "web").settle_alert(raised.id)
    assert raised.id not in [item.id for item in await fleet.inbox()]
    with pytest.raises(NotFound, match="no open alert"):
        await fleet.settle_alert(raised.id)
    kinds = [event.kind for event in await member(fleet, "web").events()]
    assert kinds[-2:] == ["alert.raised", "alert.settled"]


async def test_an_alert_is_stored_without_keys_and_answered_as_it_is_stored(
    fleet: Fleet, work: Work
) -> None:
    raised = await fleet.alert("ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2eF4hJ6 leaked")
    assert "ghp_" not in raised.text
    assert await fleet.core.store.records(Alert, ids=[raised.id]) == [raised]


async def test_an_alert_about_a_task_does_not_hide_its_question(fleet: Fleet, work: Work) -> None:
    asked = [item for item in await fleet.inbox() if item.task == work.running.id]
    assert sorted(item.kind for item in asked) == ["alert", "question"]


async def test_a_notification_reaches_whoever_follows_the_team(fleet: Fleet, work: Work) -> None:
    await fleet.create_team("ops")
    seq = await fleet.last_seq()
    stream = member(fleet, "web", Role.MERGER).follow(after=seq)
    await member(fleet, "ops", Role.NOTIFIER).notify("Not for you")
    told = await member(fleet, "web", Role.NOTIFIER, "bell").notify("Deployed")
    async with asyncio.timeout(30):
        heard = await anext(stream)
    assert (heard.kind, heard.text, heard.by) == ("team.notified", "Deployed", "bell@web")
    assert told == heard
