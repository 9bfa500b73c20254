"""A member of one team sees nothing of another, whichever verb it asks."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

from codefleet.domain.access import OWNER, AgentOf
from codefleet.domain.errors import FleetError, Forbidden, Invalid, NotFound
from codefleet.domain.events import OUTPUT
from codefleet.domain.model import Draft, Event, RunId, Runner, RunnerId, Task
from codefleet.domain.words import LandingMode, Role
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import TaskQuery, Write
from codefleet.runner import verbs
from codefleet.runner.context import Context
from codefleet.runner.landing.approval import approve
from tests.gitrepo import SampleRepo
from tests.script import script
from tests.stories.conftest import Crew
from tests.stories.teams import Work, fill, member, plan, started

Call = Callable[[Fleet, Work], Awaitable[object]]


class Teams(NamedTuple):
    """Two teams in one fleet, and what belongs to each."""

    fleet: Fleet
    web: Work
    ops: Work

    @property
    def secrets(self) -> set[str]:
        """What tells that the team web exists or works."""
        work = self.web
        names = {work.running.id, work.waiting.id, work.run.id, work.flow.id, *work.flow.tasks}
        names |= {work.talk.swarm.id, work.talk.post.id, work.talk.mail.id}
        return {
            *names,
            work.talk.checkpoint.id,
            "scout-web",
            "src/web",
            "of web",
            "agent-web",
            "at web",
            "Hello web",
            "@web",
            "'web'",
        }


@pytest.fixture
async def teams(fleet: Fleet) -> Teams:
    return Teams(fleet, await fill(fleet, "web"), await fill(fleet, "ops"))


async def listed(items: AsyncIterator[object]) -> list[object]:
    return [item async for item in items]


async def followed(fleet: Fleet) -> list[object]:
    """As many events as there are to see."""
    many, found = len(await fleet.events()), list[object]()
    async for event in fleet.follow():
        found.append(event)
        if len(found) >= many:
            break
    return found


async def watched(fleet: Fleet, work: Work) -> list[object]:
    return await listed(fleet.watch([work.running.id], within=0))


READS: dict[str, Call] = {
    "agents": lambda fleet, work: fleet.agents(),
    "checkpoint": lambda fleet, work: fleet.checkpoint(work.talk.checkpoint.id),
    "checkpoints": lambda fleet, work: fleet.checkpoints("ann"),
    "collect_workflow": lambda fleet, work: fleet.collect_workflow(work.flow.id, every=True),
    "cost": lambda fleet, work: fleet.cost(by=("task",), since=work.run.started_at),
    "counts": lambda fleet, work: fleet.counts(),
    "crew": lambda fleet, work: fleet.crew(),
    "dependencies": lambda fleet, work: fleet.dependencies(),
    "details": lambda fleet, work: fleet.details(work.running.id),
    "moves": lambda fleet, work: fleet.moves(work.running.id),
    "reviews": lambda fleet, work: fleet.reviews(work.running.id),
    "events": lambda fleet, work: fleet.events(),
    "failed_since": lambda fleet, work: fleet.failed_since(0),
    "family_of": lambda fleet, work: fleet.family_of(work.flow.id),
    "file_claims": lambda fleet, work: fleet.file_claims(),
    "find": lambda fleet, work: fleet.find("Secret of web"),
    "find_runs": lambda fleet, work: fleet.find_runs([work.run.id]),
    "follow": lambda fleet, work: followed(fleet),
    "get": lambda fleet, work: fleet.get(work.running.id),
    "handoffs": lambda fleet, work: fleet.handoffs("desk"),
    "heartbeats": lambda fleet, work: fleet.heartbeats([]),
    "inbox": lambda fleet, work: fleet.inbox(),
    "is_archived": lambda fleet, work: fleet.is_archived(work.running.id),
    "last_runs": lambda fleet, work: fleet.last_runs([work.running]),
    "left": lambda fleet, work: fleet.left(),
    "list": lambda fleet, work: fleet.list(TaskQuery()),
    "mail": lambda fleet, work: fleet.mail("desk"),
    "memories": lambda fleet, work: fleet.memories(),
    "members": lambda fleet, work: fleet.members(str(work.running.team)),
    "open_conflicts": lambda fleet, work: fleet.open_conflicts(),
    "permit_reading": lambda fleet, work: fleet.permit_reading(work.running.id),
    "read_post": lambda fleet, work: fleet.read_post(work.talk.post.id),
    "read_posts": lambda fleet, work: fleet.read_posts(work.talk.swarm.id),
    "recall": lambda fleet, work: fleet.recall("db"),
    "repos": lambda fleet, work: fleet.repos(),
    "rests": lambda fleet, work: fleet.rests(),
    "runs_during": lambda fleet, work: fleet.runs_during(
        work.run.started_at, work.run.started_at + timedelta(seconds=1)
    ),
    "runs_of": lambda fleet, work: fleet.runs_of(work.running.id),
    "search": lambda fleet, work: fleet.search("Secret of web"),
    "search_memory": lambda fleet, work: fleet.search_memory("port"),
    "shared_files": lambda fleet, work: fleet.shared_files(),
    "similar": lambda fleet, work: fleet.similar("Secret of web"),
    "trends": lambda fleet, work: fleet.trends(),
    "status": lambda fleet, work: fleet.status(),
    "story": lambda fleet, work: listed(fleet.story()),
    "swarm": lambda fleet, work: fleet.swarm(work.talk.swarm.id),
    "swarms": lambda fleet, work: fleet.swarms(all=True),
    "team": lambda fleet, work: fleet.team(str(work.running.team)),
    "teams": lambda fleet, work: fleet.teams(),
    "watch": watched,
    "why": lambda fleet, work: why_all(fleet),
    "worker": lambda fleet, work: fleet.worker("scout-web"),
    "workers": lambda fleet, work: fleet.workers(),
    "workflow": lambda fleet, work: fleet.workflow(work.flow.id),
    "workflows": lambda fleet, work: fleet.workflows(),
}
WRITES: dict[str, Call] = {
    "accept_checkpoint": lambda fleet, work: fleet.accept_checkpoint(work.talk.checkpoint.id),
    "add": lambda fleet, work: fleet.add([Draft(title="More", needs=(work.running.id,))]),
    "alert": lambda fleet, work: fleet.alert("Fire", work.running.id),
    "answer": lambda fleet, work: fleet.answer(work.running.id, "yes"),
    "archive": lambda fleet, work: fleet.archive(older_than=timedelta(0)),
    "archive_posts": lambda fleet, work: fleet.archive_posts(
        work.talk.swarm.id, ids=[work.talk.post.id]
    ),
    "cancel": lambda fleet, work: fleet.cancel(work.running.id),
    "cancel_workflow": lambda fleet, work: fleet.cancel_workflow(work.flow.id),
    "create_swarm": lambda fleet, work: fleet.create_swarm("Mine", team="web"),
    "create_team": lambda fleet, work: fleet.create_team("other"),
    "create_token": lambda fleet, work: fleet.create_token("web", "eve", Role.WORKER),
    "dismiss": lambda fleet, work: fleet.dismiss("scout-web"),
    "edit": lambda fleet, work: fleet.edit(work.waiting.id, title="Mine"),
    "export": lambda fleet, work: listed(fleet.export()),
    "forget": lambda fleet, work: fleet.forget(()),
    "invite": lambda fleet, work: fleet.invite("web", Role.WORKER),
    "invite_again": lambda fleet, work: fleet.invite_again("i-web"),
    "token_again": lambda fleet, work: fleet.token_again("t-web"),
    "invites": lambda fleet, work: fleet.invites("web"),
    "join": lambda fleet, work: fleet.join("web", "eve", "guess"),
    "kill_swarm": lambda fleet, work: fleet.kill_swarm(work.talk.swarm.id),
    "land": lambda fleet, work: fleet.land(work.running.id),
    "load": lambda fleet, work: fleet.load([]),
    "mark_mail_read": lambda fleet, work: fleet.mark_mail_read([work.talk.mail.id], handle="desk"),
    "mark_posts_read": lambda fleet, work: fleet.mark_posts_read([work.talk.post.id]),
    "pause": lambda fleet, work: fleet.pause(work.running.id),
    "post": lambda fleet, work: fleet.post(work.talk.swarm.id, "status", {}),
    "register": lambda fleet, work: fleet.register("/somewhere", "main", None),
    "reject": lambda fleet, work: fleet.reject(work.running.id, "no"),
    "comment": lambda fleet, work: fleet.comment(work.running.id, "no", "a.py"),
    "withdraw_comment": lambda fleet, work: fleet.withdraw_comment(work.running.id, "c-1"),
    "reject_checkpoint": lambda fleet, work: fleet.reject_checkpoint(work.talk.checkpoint.id),
    "remove_team": lambda fleet, work: fleet.remove_team("web"),
    "resume": lambda fleet, work: fleet.resume(work.running.id),
    "retry": lambda fleet, work: fleet.retry(work.running.id),
    "retry_workflow": lambda fleet, work: fleet.retry_workflow(work.flow.id),
    "revoke_token": lambda fleet, work: fleet.revoke_token("t-web"),
    "rotate_keys": lambda fleet, work: fleet.rotate_keys(),
    "send": lambda fleet, work: fleet.send(work.run.agent, "Obey"),
    "settle_alert": lambda fleet, work: fleet.settle_alert("alert-web"),
    "spawn": lambda fleet, work: fleet.spawn("mole", "Look", swarm=work.talk.swarm.id),
    "start": lambda fleet, work: fleet.start(plan(), team="web"),
    "tokens": lambda fleet, work: fleet.tokens("web"),
    "wake": lambda fleet, work: fleet.wake("claude"),
    "withdraw_invite": lambda fleet, work: fleet.withdraw_invite("i-web"),
}
OTHERS = {
    "add_checkpoint": "of one's own team, see test_checkpoints.py",
    "claim_files": "of one's own team, see test_file_claims.py",
    "hand_off": "to one's own team, see test_mail.py",
    "own_handle": "the member itself",
    "remember": "of one's own team, see test_memories.py",
    "send_mail": "to one's own team, see test_mail.py",
    "acting_as": "refused, see test_access.py",
    "actor": "the member itself",
    "asking": "only for agents",
    "broadcast": "to the agents of one's own team, see below",
    "changed": "waits for any event",
    "check_token": "the member's own",
    "config": "a fact about the fleet",
    "home": "a fact about the fleet",
    "host": "a fact about the fleet",
    "expecting": "a condition for other verbs",
    "forget_receipts": "removes what is old of one's own",
    "last_seq": "a number",
    "message": "by the id that only its sender was told",
    "once": "a condition for other verbs",
    "notify": "one's own team, see below",
    "now": "the time",
    "permit": "a right",
    "repo": "a repository of all, see below",
    "with_token": "see test_tokens.py",
    **dict.fromkeys(("session", "sign_in_code", "with_code", "with_session"), "who asks"),
    "rights": "those of the member itself",
}
SILENT = {"cost", "failed_since", "heartbeats", "is_archived", "permit_reading", "rests"}
SILENT |= {
    "moves",
    "reviews",
    "trends",
    "counts",
    "open_conflicts",
    "shared_files",
    "repos",
    "agents",
    "crew",
}
"""What names nothing of a team's, here."""


async def why_all(fleet: Fleet) -> object:
    return await fleet.why(await fleet.list(TaskQuery()))


async def told(call: Call, fleet: Fleet, work: Work) -> str:
    """Everything that a call tells, or how it is refused."""
    try:
        return repr(await call(fleet, work))
    except FleetError as refused:
        return f"{refused.hint}"  # the problem repeats what was asked for


def test_every_verb_is_known_here() -> None:
    verbs = {name for name in dir(Fleet) if not name.startswith("_")}
    assert verbs == READS.keys() | WRITES.keys() | OTHERS.keys()


async def test_no_read_shows_anything_of_another_team(teams: Teams) -> None:
    stranger = member(teams.fleet, "ops")
    for verb, call in READS.items():
        heard = await told(call, stranger, teams.web)
        assert not [secret for secret in teams.secrets if secret in heard], verb


async def test_the_same_read_shows_the_team_its_own(teams: Teams) -> None:
    for verb in READS.keys() - SILENT:
        heard = await told(READS[verb], member(teams.fleet, "web"), teams.web)
        assert [secret for secret in teams.secrets if secret in heard], verb


async def test_no_write_reaches_another_team(teams: Teams) -> None:
    before = await teams.fleet.events()
    for verb, call in WRITES.items():
        with pytest.raises(FleetError) as refused:
            await call(member(teams.fleet, "ops"), teams.web)
        assert refused.value.status in (401, 403, 404), verb
        assert await teams.fleet.events() == before, verb


async def test_what_needs_the_machine_is_as_blind(teams: Teams) -> None:
    context = Context(member(teams.fleet, "ops"))
    work = teams.web
    calls: list[Awaitable[Any]] = [
        verbs.land(context, work.running.id),
        verbs.diff(context.fleet, work.running.id),
        verbs.diff(context.fleet, work.run.id),
        verbs.run_log(context, work.run.id, 10),
        listed(verbs.cleanup_workflow(context, work.flow.id)),
        listed(verbs.cleanup_task(context, work.running)),
    ]
    for call in calls:
        with pytest.raises(NotFound):
            await call
    with pytest.raises(Forbidden):
        await listed(verbs.gc(context))


async def test_an_id_of_another_team_is_as_unknown_as_any(teams: Teams) -> None:
    stranger = member(teams.fleet, "ops")
    with pytest.raises(NotFound) as real:
        await stranger.get(teams.web.running.id)
    with pytest.raises(NotFound) as made_up:
        await stranger.get("zzzzzzzz")
    assert real.value.problem.replace(teams.web.running.id, "ID") == (
        made_up.value.problem.replace("zzzzzzzz", "ID")
    )
    assert real.value.hint == made_up.value.hint


async def test_asking_for_another_team_by_name_finds_nothing(teams: Teams) -> None:
    stranger = member(teams.fleet, "ops")
    assert await stranger.list(TaskQuery(team="web")) == []
    store = stranger.core.store
    assert await store.counts(team="web") == {}
    assert not await store.events(team="web")
    assert not await store.runs(team="web")


async def test_owner_and_local_human_see_every_team(teams: Teams) -> None:
    for fleet in (teams.fleet, teams.fleet.acting_as(OWNER)):
        titles = {task.title for task in await fleet.list(TaskQuery())}
        assert {"Secret of web", "Secret of ops"} <= titles
        assert len(await fleet.list(TaskQuery(team="web"))) == 4


async def test_the_agent_of_a_team_sees_only_that_team(teams: Teams) -> None:
    agent = teams.fleet.acting_as(AgentOf(run=teams.ops.run.id))
    heard = repr([await agent.list(TaskQuery()), await agent.events(), await agent.status()])
    talk = [await agent.swarms(), await agent.workers(), await agent.memories()]
    heard += repr([*talk, await agent.checkpoints("ann"), await agent.file_claims()])
    own = ("Secret of ops", "Hive of ops", "scout-ops", "port of ops", "Goal of ops", "src/ops")
    assert [word for word in own if word not in heard] == []
    assert not [secret for secret in teams.secrets if secret in heard]
    (child,) = await agent.add([Draft(title="Child")])
    assert child.team == "ops"


async def test_the_agent_of_a_task_without_a_team_sees_only_what_has_none(
    fleet: Fleet, teams: Teams
) -> None:
    (agent,) = await started(fleet, Draft(title="Mine", handle="scout"))
    for verb, call in READS.items():
        heard = await told(call, agent, teams.web)
        assert not [secret for secret in teams.secrets if secret in heard], verb
    assert [task.title for task in await agent.list(TaskQuery())] == ["Mine"]
    assert [worker.handle for worker in await agent.workers()] == ["scout"]
    assert await agent.counts() == {"running": 1}
    assert [repo.name for repo in await agent.repos()] == ["shop"]
    with pytest.raises(Forbidden, match="may not choose the team"):
        await agent.add([Draft(title="Spy", team="web")])
    assert not await agent.events(team="web")
    foreign = Event(at=teams.web.run.started_at, kind="task.asked", task=teams.web.running.id)
    with pytest.raises(NotFound):
        await agent.core.store.write(Write(events=[foreign]))


async def test_an_unknown_run_sees_nothing_of_teams_and_no_output(
    fleet: Fleet, teams: Teams
) -> None:
    (agent,) = await started(fleet, Draft(title="Mine"))
    await fleet.send((await agent.list(TaskQuery()))[0].id, "Mind the gap")
    nobody = fleet.acting_as(AgentOf(run=RunId("gone.1")))
    assert [task.title for task in await nobody.list(TaskQuery())] == ["Mine"]
    assert not {each.kind for each in await nobody.events()} & OUTPUT


async def test_a_team_that_asks_for_another_is_not_told_of_tasks_without_one(
    fleet: Fleet, teams: Teams
) -> None:
    await fleet.add([Draft(title="Mine")])
    stranger = member(teams.fleet, "ops")
    assert await stranger.core.store.counts(team="web") == {}
    assert await stranger.list(TaskQuery(team="")) == []


async def test_the_archive_is_as_blind_as_the_log(fleet: Fleet, teams: Teams) -> None:
    (agent,) = await started(fleet, Draft(title="Mine"))
    for work in (teams.web, teams.ops):
        await member(fleet, str(work.running.team)).send(work.running.id, f"of {work.running.team}")
        await fleet.cancel(work.running.id)
    before = await listed(member(fleet, "web").story())
    moved = await fleet.archive(older_than=timedelta(0))
    assert moved.events
    assert await listed(member(fleet, "web").story()) == before
    assert len(before) > len(await member(fleet, "web").events())
    heard = repr(await listed(member(fleet, "web").story(task=teams.web.running.id)))
    assert "of web" in heard
    assert "of ops" not in repr(await listed(member(fleet, "web").story()))
    worker = await listed(member(fleet, "web", Role.WORKER).story(task=teams.web.running.id))
    assert worker
    assert not {each.kind for each in worker if isinstance(each, Event)} & OUTPUT
    assert not [secret for secret in teams.secrets if secret in repr(await listed(agent.story()))]


async def test_a_message_reaches_only_agents_at_work_for_the_team(teams: Teams) -> None:
    lead = member(teams.fleet, "ops")
    sent = await lead.broadcast("Mind the gap")
    assert [message.agent for message in sent] == ["agent-ops"]
    assert (await lead.send("agent-ops", "You too")).task == teams.ops.running.id
    with pytest.raises(NotFound):
        await lead.send("agent-web", "Obey")


async def test_a_step_that_writes_anything_of_others_is_refused_below_the_verbs(
    teams: Teams,
) -> None:
    store = member(teams.fleet, "ops").core.store
    theirs = teams.web.running
    stolen = theirs.evolve(team="ops", version=theirs.version + 1)
    given_away = teams.ops.waiting.evolve(team="web", version=teams.ops.waiting.version + 1)
    (team,) = [team for team in await teams.fleet.teams() if team.name == "web"]
    steps = [
        Write(tasks=[theirs.evolve(title="Mine", version=theirs.version + 1)]),
        Write(tasks=[stolen]),
        Write(tasks=[given_away]),
        Write(runs=[teams.web.run.evolve(version=teams.web.run.version + 1)]),
        Write(fences={theirs.id: theirs.fence}),
        Write(removed=[teams.web.flow]),
        Write(records=[teams.web.talk.swarm.evolve(version=1)]),
        Write(records=[teams.web.talk.mail.evolve(version=1)]),
        Write(removed=[team]),
        Write(records=await teams.fleet.repos()),
        Write(settings={"paused": "now"}),
        Write(events=[(await teams.fleet.events(task=theirs.id))[0]]),
    ]
    before = await teams.fleet.events()
    for step in steps:
        with pytest.raises((NotFound, Forbidden)):
            await store.write(step)
    assert await teams.fleet.events() == before


async def runner_with(fleet: Fleet, *seats: str) -> None:
    """A live runner with these seats."""
    now = await fleet.core.store.steady()
    runner = Runner(
        id=RunnerId("r-web"), host="lab", pid=1, pid_started=1.0, seats=seats, seen_at=now
    )
    await fleet.core.write(Write(records=[runner]))


async def test_a_message_to_an_idle_seat_could_reach_others_and_is_refused(teams: Teams) -> None:
    await runner_with(teams.fleet, "agent-web", "idle")
    assert (await teams.fleet.send("idle", "Mind")).agent == "idle"
    with pytest.raises(NotFound, match="idle does not work for your team"):
        await member(teams.fleet, "ops").send("idle", "Obey")


async def test_a_seat_that_works_for_others_is_not_there(teams: Teams) -> None:
    await runner_with(teams.fleet, "agent-web", "idle")
    assert [(a.name, a.state) for a in await member(teams.fleet, "ops").agents()] == [
        ("idle", "idle")
    ]
    assert [(a.name, a.state) for a in await member(teams.fleet, "web").agents()] == [
        ("idle", "idle"),
        ("agent-web", "working"),
    ]


async def test_a_collision_with_another_team_names_nothing_of_it(teams: Teams) -> None:
    left, right = teams.web.running.id, teams.ops.running.id
    await Dispatch(teams.fleet).record_conflict(left, right, ["src/till.py"], "running")
    heard = repr(await member(teams.fleet, "ops").events(kinds=["conflict.found"]))
    assert "src/till.py" in heard
    assert left not in heard
    assert await member(teams.fleet, "ops").open_conflicts() == []
    assert [c.tasks for c in await teams.fleet.open_conflicts()] == [tuple(sorted((left, right)))]


async def in_review(fleet: Fleet, crew: Crew, team: str) -> Task:
    """Finished work of a team, on its branch."""
    await fleet.create_team(team)
    draft = Draft(title=f"Work of {team}", prompt=script(f"write {team}.txt hi", "finish"))
    (task,) = await member(fleet, team).add([draft.evolve(lands=LandingMode.REVIEW)])
    await crew.work(agents=1)
    return await fleet.get(task.id)


async def test_a_member_neither_starts_from_nor_lands_the_branch_of_another_team(
    fleet: Fleet, crew: Crew, repo: SampleRepo
) -> None:
    theirs = await in_review(fleet, crew, "web")
    mine = await in_review(fleet, crew, "ops")
    lead = member(fleet, "ops")
    (their_run,) = await fleet.runs_of(theirs.id)
    for base in (str(theirs.branch), str(their_run.made), "no-such-branch"):
        with pytest.raises(Invalid, match="there is no commit"):
            await lead.add([Draft(title="Copy", base=base)])
        with pytest.raises(Invalid, match="there is no commit"):
            await verbs.land(Context(lead), mine.id, base)
    (task,) = await lead.add([Draft(title="Fresh", base="main")])
    assert task.base == repo.git("rev-parse", "main")
    (my_run,) = await fleet.runs_of(mine.id)
    assert (await approve(Context(lead), mine.id, str(my_run.made))).approved
    assert "ops.txt" in await verbs.diff(lead, mine.id)
    with pytest.raises(NotFound):
        await verbs.diff(lead, theirs.id)


async def test_an_idle_stream_of_a_team_does_not_read_the_others_events_again(
    teams: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead, asked = member(teams.fleet, "ops"), list[int]()
    events = teams.fleet.core.whole_store.events

    async def noted(**filters: Any) -> Any:
        asked.append(filters.get("after", 0))
        return await events(**filters)

    monkeypatch.setattr(teams.fleet.core.whole_store, "events", noted)
    stream = lead.follow(after=await teams.fleet.last_seq())
    await member(teams.fleet, "web").add([Draft(title="Theirs")])
    await member(teams.fleet, "ops").add([Draft(title="Mine")])
    assert (await anext(stream)).text == "Mine"
    assert asked == sorted(asked)
