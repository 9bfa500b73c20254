"""A fleet at a distance answers like the one beside it: every verb, and every command."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from inspect import isasyncgenfunction, iscoroutinefunction
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codefleet.api.remote import RemoteFleet
from codefleet.domain.access import Holder
from codefleet.domain.errors import (
    Invalid,
    NotFound,
    Outdated,
    Refused,
    Unauthenticated,
    Unreachable,
)
from codefleet.domain.model import Budget, Draft
from codefleet.domain.words import Role
from codefleet.domain.workflow import workflow
from codefleet.domain.workflow.plan import Plan
from codefleet.doors.cli.commands import AT_A_DISTANCE, OF_THIS_MACHINE
from codefleet.doors.cli.commands import COMMANDS as COMMAND_NAMES
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.runner import verbs
from codefleet.runner.context import Context
from codefleet.wiring import open_fleet
from tests.doors.conftest import Cli, program
from tests.doors.http.conftest import BOUND_S, Served, serving
from tests.script import script

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
LOCAL = {"actor", "config", "home", "host"}
REFUSED = {
    "invite_again",
    "join",
    "read_post",
    "token_again",
    "rotate_keys",
    "acting_as",
    "with_token",
    "with_code",
    "with_session",
    "session",
    "sign_in_code",
    "load",
    "forget",
    "forget_receipts",
    "message",
}
NOT_ASKED = {"asking", "permit", "permit_reading", "once", "expecting"}
"""What the server decides by the token, or is told by a header."""


@pytest.fixture
async def remote(served: Served, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fleet]:
    monkeypatch.setenv("FLEET_TOKEN", served.token)
    async with open_fleet(served.url) as opened:
        yield opened


def plan() -> Plan:
    stage = {"name": "one", "prompt": script("write one.txt 1"), "coder": "scripted"}
    return workflow.parse({"name": "two steps", "prompt": "Do it", "stages": [stage]})


async def filled(fleet: Fleet) -> str:
    """A fleet with a bit of everything; the id of its workflow."""
    one, two = await fleet.add([Draft(title="Extract the mailer"), Draft(title="Test the mailer")])
    await fleet.cancel(two.id)
    await fleet.send(one.id, "Mind the tests")
    await fleet.create_team("web")
    await fleet.create_token("web", "ada", Role.WORKER)
    await fleet.invite("web", Role.WORKER)
    await talk(fleet)
    return (await fleet.start(plan())).id


async def talk(fleet: Fleet) -> None:
    """A worker, a swarm, and something of all that agents tell each other."""
    swarm = await fleet.create_swarm("hive")
    await fleet.spawn("scout", "Look around", swarm=swarm.id)
    await fleet.post(swarm.id, "status", {"done": "half"}, sender="scout")
    await fleet.send_mail("scout", "Hello", sender="lead")
    await fleet.hand_off("scout", {"left": ["the rest"]})
    await fleet.add_checkpoint("Find it", "half way", author="scout", next=["the rest"])
    await fleet.remember("db", "on port 5433")
    await fleet.claim_files(["src/**"], handle="scout")


def test_every_verb_can_be_asked_at_a_distance() -> None:
    public = {name for name in dir(Fleet) if not name.startswith("_")}
    own = {name for name in public if getattr(RemoteFleet, name) is not getattr(Fleet, name)}
    assert public - own == {"follow"}  # which is made of the others


async def test_every_reading_verb_answers_the_same_at_a_distance(
    remote: Fleet, fleet: Fleet
) -> None:
    flow = await filled(fleet)
    tasks = await fleet.list(TaskQuery())
    first = next(task for task in tasks if task.title == "Extract the mailer")
    (swarm,), (checkpoint,) = await fleet.swarms(), await fleet.checkpoints("scout")
    ask: dict[str, Callable[[Fleet], Awaitable[Any]]] = {
        "get": lambda it: it.get(first.id[:6]),
        "list": lambda it: it.list(TaskQuery(limit=2, newest_first=True)),
        "why": lambda it: it.why(tasks),
        "details": lambda it: it.details(first.id),
        "reviews": lambda it: it.reviews(first.id),
        "inbox": lambda it: it.inbox(),
        "counts": lambda it: it.counts(),
        "left": lambda it: it.left(),
        "agents": lambda it: it.agents(),
        "cost": lambda it: it.cost(by=("day",), since=LONG_AGO),
        "rests": lambda it: it.rests(),
        "runs_of": lambda it: it.runs_of(*(task.id for task in tasks)),
        "find_runs": lambda it: it.find_runs([]),
        "runs_during": lambda it: it.runs_during(LONG_AGO, datetime.now(UTC)),
        "last_runs": lambda it: it.last_runs(tasks),
        "workflow": lambda it: it.workflow(flow),
        "workflows": lambda it: it.workflows(),
        "family_of": lambda it: it.family_of(flow),
        "collect_workflow": lambda it: it.collect_workflow(flow, every=True),
        "similar": lambda it: it.similar("Extract the mailer"),
        "search": lambda it: it.search("mailer"),
        "find": lambda it: it.find("mailer"),
        "dependencies": lambda it: it.dependencies(),
        "open_conflicts": lambda it: it.open_conflicts(),
        "shared_files": lambda it: it.shared_files(),
        "events": lambda it: it.events(kinds=["task.added"], limit=2, newest=True),
        "last_seq": lambda it: it.last_seq(),
        "changed": lambda it: it.changed(0, within=1),
        "failed_since": lambda it: it.failed_since(0),
        "is_archived": lambda it: it.is_archived(first.id),
        "archive": lambda it: it.archive(older_than=timedelta(days=1), dry_run=True),
        "repos": lambda it: it.repos(),
        "repo": lambda it: it.repo("shop"),
        "teams": lambda it: it.teams(),
        "team": lambda it: it.team("web"),
        "members": lambda it: it.members("web"),
        "invites": lambda it: it.invites("web"),
        "tokens": lambda it: it.tokens(),
        "check_token": lambda it: it.check_token(),
        "own_handle": lambda it: it.own_handle(),
        "worker": lambda it: it.worker("scout"),
        "workers": lambda it: it.workers(swarm=swarm.id),
        "list of workers": lambda it: it.list(TaskQuery(workers=True, swarm=swarm.id)),
        "list of a handle": lambda it: it.list(TaskQuery(handle="scout")),
        "swarm": lambda it: it.swarm(swarm.id),
        "swarms": lambda it: it.swarms(all=True),
        "read_posts": lambda it: it.read_posts(swarm.id, type="status", limit=5),
        "mail": lambda it: it.mail("scout", unread_only=True),
        "handoffs": lambda it: it.handoffs("scout"),
        "checkpoint": lambda it: it.checkpoint(checkpoint.id),
        "checkpoints": lambda it: it.checkpoints("scout", status="pending"),
        "recall": lambda it: it.recall("db", repo="shop"),
        "memories": lambda it: it.memories(),
        "search_memory": lambda it: it.search_memory("port", limit=3),
        "file_claims": lambda it: it.file_claims("shop"),
    }
    for name, verb in ask.items():
        here, there = await verb(fleet), await verb(remote)
        assert _plain(there) == _plain(here), name
    asks_the_owner = {"moves", "rights"}  # the same human, who may do less over a network
    timed = {"status", "crew", "heartbeats", "now", "trends"}  # their answers contain the time
    writes = {"add", "edit", "pause", "resume", "cancel", "retry", "answer", "land", "reject"}
    writes |= {"create_team", "remove_team", "invite", "withdraw_invite", "create_token"}
    writes |= {"revoke_token", "rotate_keys", "alert", "settle_alert", "broadcast", "notify"}
    writes |= {"send", "wake", "start", "cancel_workflow", "retry_workflow", "register"}
    writes |= {"spawn", "dismiss", "create_swarm", "kill_swarm", "post", "mark_posts_read"}
    writes |= {"archive_posts", "send_mail", "hand_off", "mark_mail_read", "add_checkpoint"}
    writes |= {"accept_checkpoint", "reject_checkpoint", "remember", "claim_files"}
    writes |= {"comment", "withdraw_comment"}
    streams = {name for name in dir(Fleet) if isasyncgenfunction(getattr(Fleet, name))}
    every = {name for name in dir(Fleet) if iscoroutinefunction(getattr(Fleet, name))}
    asked = ask.keys() | asks_the_owner | timed | writes | streams | REFUSED | NOT_ASKED
    assert {name for name in every if not name.startswith("_")} <= asked


def _plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


async def test_the_streams_of_a_fleet_are_the_same_at_a_distance(
    remote: Fleet, fleet: Fleet
) -> None:
    flow = await filled(fleet)
    assert [each async for each in remote.story()] == [each async for each in fleet.story()]
    assert [line async for line in remote.export()] == [line async for line in fleet.export()]
    seen = [each async for each in remote.watch([flow], within=0.0)]
    assert seen == [each async for each in fleet.watch([flow], within=0.0)]
    last = await fleet.last_seq()
    async with asyncio.timeout(BOUND_S):
        following = asyncio.ensure_future(anext(remote.follow(after=last)))
        (task,) = await fleet.add([Draft(title="New")])
        assert (await following).task == task.id


async def test_humans_decide_at_a_distance(remote: Fleet, fleet: Fleet) -> None:
    (task,) = await remote.add([Draft(title="Greet", labels=("a",), priority=4)])
    assert task == await fleet.get(task.id)
    assert (await remote.edit(task.id, priority=1)).priority == 1
    assert (await remote.cancel(task.id)).state == "cancelled"
    assert (await remote.retry(task.id)).state == "pending"
    assert (await remote.pause(task.id) or task).paused
    assert not (await remote.resume(task.id) or task).paused
    assert await remote.pause() is None
    assert (await remote.status()).paused
    assert await remote.resume() is None
    flow = await remote.start(plan())
    assert (await fleet.workflow(flow.id)).state == "pending"
    assert (await remote.cancel_workflow(flow.id)).state == "cancelled"
    assert (await remote.retry_workflow(flow.id)).state == "pending"


async def test_an_owner_runs_teams_at_a_distance(remote: Fleet, fleet: Fleet) -> None:
    team = await remote.create_team("web", ["shop"])
    assert await fleet.team("web") == team
    invite, secret = await remote.invite("web", Role.WORKER, uses=2)
    joined = await fleet.join("web", "bob", secret)
    issued = await remote.create_token("web", "ada", Role.TEAM_LEAD, ttl=timedelta(hours=1))
    assert (await fleet.with_token(issued.text)).actor == Holder(
        token=issued.token.id, handle="ada", team="web", role=Role.TEAM_LEAD
    )
    assert (await remote.revoke_token(joined.token.id)).revoked_at
    assert [each.id for each in await remote.invites("web")] == [invite.id]
    await remote.withdraw_invite(invite.id)
    alert = await remote.alert("The disk is nearly full")
    assert (await remote.settle_alert(alert.id)).settled_at
    assert (await remote.notify("All is well")).kind == "team.notified"
    assert (await remote.remove_team("web")).name == "web"


async def test_agents_talk_at_a_distance(remote: Fleet, fleet: Fleet) -> None:
    await talk(remote)
    (swarm,), (task,) = await fleet.swarms(), await fleet.list(TaskQuery(workers=True))
    assert (task.handle, task.swarm, task.priority) == ("scout", swarm.id, 5)
    (post,) = await remote.mark_posts_read([post.id for post in await fleet.read_posts(swarm.id)])
    assert post.read_by == ("human",)
    assert await remote.archive_posts(swarm.id, older_than=timedelta(days=1)) == []
    assert len(await remote.archive_posts(swarm.id, ids=[post.id])) == 1
    (mail,) = await fleet.mail("scout")
    assert (await remote.mark_mail_read([mail.id], handle="scout"))[0].delivered_at
    (checkpoint,) = await fleet.checkpoints("scout")
    assert (checkpoint.next, checkpoint.task) == (("the rest",), task.id)
    accepted = await remote.accept_checkpoint(checkpoint.id, "heir")
    assert accepted.task == await fleet.get((await fleet.worker("heir")).task)
    left = await remote.add_checkpoint("Mend it", "begun", files={"created": ["a.py"]})
    assert (left.files.created, left.author) == (("a.py",), "human")
    assert (await remote.reject_checkpoint(left.id, "too late")).status == "rejected"
    assert not (await remote.claim_files(["src/a.py"], handle="two")).held_by
    assert (await remote.dismiss("heir")).state == "cancelled"
    assert await remote.kill_swarm(swarm.id) == []
    with pytest.raises(NotFound, match="no worker nosuch"):
        await verbs.worktree_status(Context(remote), "nosuch")
    with pytest.raises(NotFound, match="no worker nosuch"):
        await verbs.push_worktree(Context(remote), "nosuch")
    with pytest.raises(NotFound, match="no worker nosuch"):
        await verbs.commit_worktree(Context(remote), "Found it", "nosuch")


async def test_a_repeated_request_spawns_and_mails_once(remote: Fleet, fleet: Fleet) -> None:
    once, _ = await remote.once("one", b"")
    task = await once.spawn("scout", "Look")
    assert await once.spawn("scout", "Look") == task
    swarm = await fleet.create_swarm("nest")
    made: list[Callable[[Fleet], Awaitable[Any]]] = [
        lambda it: it.create_swarm("hive"),
        lambda it: it.send_mail("scout", "Hello"),
        lambda it: it.hand_off("scout", {"left": "all"}),
        lambda it: it.add_checkpoint("Find it", "now"),
        lambda it: it.post(swarm.id, "status", {"done": "half"}),
        lambda it: it.remember("db", "on port 5432"),
        lambda it: it.remember("db", "on port 5433"),
    ]
    for verb in made:
        key, _ = await remote.once(f"key {await fleet.last_seq()}", b"")
        first, seq = await verb(key), await fleet.last_seq()
        assert (await verb(key)).id == first.id
        assert await fleet.last_seq() == seq


async def test_a_worker_at_a_distance_takes_every_field_of_a_task(remote: Fleet) -> None:
    fields: dict[str, Any] = {
        "labels": ("fast",),
        "budget": Budget(usd=2),
        "lands": "branch",
        "priority": 3,
    }
    task = await remote.spawn("scout", "Look", **fields, checks=["make test"], timeout_s=60)
    assert (task.labels, task.budget, task.lands) == (("fast",), Budget(usd=2), "branch")
    assert (task.priority, task.checks, task.timeout_s) == (3, ("make test",), 60)
    with pytest.raises(Invalid, match="unknown field `colour`"):
        await remote.spawn("other", "Look", colour="red")


async def test_errors_are_the_same_classes_at_a_distance(remote: Fleet, fleet: Fleet) -> None:
    with pytest.raises(NotFound, match="no task nosuch") as missing:
        await remote.get("nosuch")
    assert missing.value.hint
    (task,) = await fleet.add([Draft(title="Greet")])
    await fleet.edit(task.id, priority=5)
    with pytest.raises(Outdated):
        await remote.expecting(task.version).cancel(task.id)
    once, _ = await remote.once("key", b"")
    (added,) = await once.add([Draft(title="Once")])
    assert [each.id for each in await once.add([Draft(title="Once")])] == [added.id]
    for asked in [remote.load([]), remote.forget([])]:
        with pytest.raises(Refused, match="at a distance"):
            await asked


async def test_a_wrong_token_and_a_server_that_is_away_are_told_apart(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_TOKEN", "wrong")
    with pytest.raises(Unauthenticated):
        async with open_fleet(served.url):
            pass
    served.process.terminate()
    await asyncio.to_thread(served.process.wait, BOUND_S)
    with pytest.raises(Unreachable, match="does not answer"):
        async with open_fleet(served.url):
            pass


@pytest.mark.slow
async def test_work_is_reviewed_and_landed_at_a_distance(
    home: Path, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(home, "--agents=1") as server:
        monkeypatch.setenv("FLEET_TOKEN", server.token)
        async with open_fleet(server.url) as remote, asyncio.timeout(60):
            draft = {"coder": "scripted", "prompt": script("note Use tabs.", "write a.txt hi")}
            (task,) = await remote.add([Draft(title="Greet", lands="review", **draft)])  # type: ignore[arg-type]
            async for seen in remote.watch([task.id], within=60):
                settled = seen.settled
            assert settled
            assert [item.kind for item in await remote.inbox()] == ["review"]
            assert "+hi" in await verbs.diff(remote, task.id)
            assert "Use tabs." in (await verbs.notes(remote, task.id)).knowledge
            assert "a.txt" in await verbs.run_log(Context(remote), task.id, 50)
            await verbs.land(Context(remote), task.id)
            while (await remote.get(task.id)).state != "completed":
                await remote.changed(await remote.last_seq(), within=1)


COMMANDS = (
    ("list", "--all"),
    ("list", "--all", "--json"),
    ("ready",),
    ("status", "--json"),
    ("inbox",),
    ("agents",),
    ("log", "-n", "5"),
    ("workflow", "list"),
    ("workers",),
    ("workers", "--json"),
    ("swarms",),
    ("mail", "scout"),
    ("handoffs", "scout"),
    ("checkpoints", "scout"),
    ("output", "scout"),
    ("blackboard", "nosuch"),
    ("cost",),
    ("show", "TASK"),
    ("show", "nosuch"),
    ("cancel", "nosuch"),
)


@pytest.mark.slow
async def test_commands_print_the_same_at_a_distance(served: Served, fleet: Fleet) -> None:
    await filled(fleet)
    task = (await fleet.list(TaskQuery()))[0].id
    token = {"FLEET_TOKEN": served.token}
    for words in COMMANDS:
        args = [task if word == "TASK" else word for word in words]
        here = await asyncio.to_thread(program, *args)
        there = await asyncio.to_thread(program, "--server", served.url, *args, env=token)
        if words != ("status", "--json"):
            assert there == here, words
        assert there.code == here.code, there.err


async def test_a_command_of_this_machine_is_refused_with_a_server(served: Served) -> None:
    refused = await asyncio.to_thread(program, "--server", served.url, "run")
    assert (refused.code, "works on this machine only" in refused.err) == (2, True)


@pytest.mark.parametrize("name", ["FLEET_SERVER", "CLAUDE_FLEET_URL"])
def test_a_variable_that_names_a_server_is_never_ignored_silently(
    name: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    for command in COMMAND_NAMES.keys() - AT_A_DISTANCE - OF_THIS_MACHINE:
        refused = cli(command)
        assert (refused.code, "works on this machine only" in refused.err) == (2, True), command
        assert f"`env -u {name} fleet {command}" in refused.err
        assert cli(command, "--help").code == 0
    assert cli("coders").code == 0


@pytest.mark.slow
async def test_teams_tokens_and_numbers_are_those_of_the_server(
    served: Served, fleet: Fleet, tmp_path: Path
) -> None:
    there = {
        "FLEET_SERVER": served.url,
        "FLEET_TOKEN": served.token,
        "FLEET_HOME": str(tmp_path / "elsewhere"),
    }

    async def said(*words: str) -> str:
        done = await asyncio.to_thread(program, *words, env=there)
        assert done.code == 0, done.err
        return done.out

    await said("team", "create", "web")
    assert [team.name for team in await fleet.teams()] == ["web"]
    assert '"team":"web"' in (await said("token", "create", "web", "ada", "--json")).replace(
        " ", ""
    )
    assert [token.handle for token in await fleet.tokens()] == ["ada"]
    assert await said("health") == f"ok; served at {served.url}\n"
    await fleet.add([Draft(title="Greet")])
    assert "tasks pending" in await said("metrics")
    assert not (tmp_path / "elsewhere").exists()
