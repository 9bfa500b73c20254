"""The contract: with a team, a reading finds only what belongs to that team."""

from datetime import timedelta

import pytest

from codefleet.domain.model import (
    Alert,
    AlertId,
    Conflict,
    Event,
    Lane,
    Member,
    Message,
    MessageId,
    Question,
    QuestionId,
    Repo,
    RunId,
    Runner,
    TaskId,
    Team,
    Usage,
    Workflow,
)
from codefleet.domain.noun import Record
from codefleet.domain.words import Role, State
from codefleet.ports import NO_TEAM, Store, TaskQuery, Write
from tests.store.samples import START, add, completed, event, get, ids, take, task
from tests.store.test_contract_nouns import (
    FILES,
    LANE,
    MEMORY,
    REPO,
    RUNNER,
    SWARM,
    checkpoint,
    post,
)

TEAMS = ("web", "ops", None)


async def fill(store: Store) -> None:
    """A chain of two tasks of each team and of none, the first of each running or completed."""
    for team in TEAMS:
        first = f"{team}1"
        await add(store, task(first, team=team), task(f"{team}2", team=team, needs=(first,)))


async def test_tasks_are_read_by_team(store: Store) -> None:
    await fill(store)
    assert await ids(store, TaskQuery(team="web")) == ["web1", "web2"]
    assert await ids(store, TaskQuery(team="web", ids=[TaskId("ops1"), TaskId("web2")])) == ["web2"]
    assert await ids(store, TaskQuery(team="ops", ready=True)) == ["ops1"]
    assert await ids(store, TaskQuery(team="ops", states=[State.PENDING], limit=1)) == ["ops1"]
    assert await ids(store, TaskQuery(team="none-such")) == []
    assert len(await ids(store, TaskQuery())) == 6


async def test_a_search_finds_only_the_tasks_of_a_team(store: Store) -> None:
    await add(store, *(task(f"{team}", title="Paint it", team=team) for team in TEAMS))
    assert await ids(store, TaskQuery(team="web", text="paint")) == ["web"]
    assert await ids(store, TaskQuery(team="web", text="paint", newest_first=True)) == ["web"]


async def test_the_team_of_a_task_can_change_and_its_counts_with_it(store: Store) -> None:
    await fill(store)
    moved = (await get(store, "None2")).evolve(team="web", version=1)
    await store.write(Write(tasks=[moved]))
    assert await ids(store, TaskQuery(team="web")) == ["web1", "web2", "None2"]
    assert await store.counts(team="web") == {"pending": 1, "blocked": 2}
    assert await store.counts() == {"pending": 3, "blocked": 3}


async def test_counts_are_those_of_the_team_after_every_move(store: Store) -> None:
    await fill(store)
    assert await store.counts(team="web") == {"pending": 1, "blocked": 1}
    claimed = await take(store)
    assert claimed.task.team == "web"
    assert await store.counts(team="web") == {"running": 1, "blocked": 1}
    await store.write(completed(claimed))
    assert await store.counts(team="web") == {"completed": 1, "pending": 1}
    assert await store.counts(team="ops") == {"pending": 1, "blocked": 1}
    assert await store.counts(team="none-such") == {}
    await store.erase(event("fleet.reset"))
    assert await store.counts(team="ops") == {}


async def test_needs_and_prefixes_are_found_only_within_the_team(store: Store) -> None:
    await add(store, task("aa1", team="web"), task("aa2", team="ops", needs=("aa1",)))
    first, second = TaskId("aa1"), TaskId("aa2")
    assert await store.matching("aa", team="web") == [first]
    assert await store.matching("aa") == [first, second]
    assert (await store.unmet([second], team="ops")) == {second: []}
    assert [each.id for each in (await store.unmet([second]))[second]] == [first]
    assert await store.needed_by(first, team="web") == []
    assert await store.needed_by(first, team="ops") == await store.needed_by(first) == [second]


async def test_runs_are_read_by_the_team_of_their_task(store: Store) -> None:
    await fill(store)
    for _ in TEAMS:
        await take(store)
    assert [run.id for run in await store.runs(team="ops")] == ["ops1.1"]
    assert [run.id for run in await store.runs(team="ops", live=True)] == ["ops1.1"]
    assert await store.runs(team="ops", ids=[RunId("web1.1")]) == []
    assert await store.runs(team="ops", tasks=[TaskId("web1")]) == []
    assert len(await store.runs()) == 3


async def test_a_team_has_the_events_of_its_tasks_and_those_that_name_it(store: Store) -> None:
    await fill(store)
    told = [event(task=TaskId(name), text=name) for name in ("web1", "ops1", "None1") * 3]
    named = [event("team.made", data={"team": "web"}), event("fleet.paused")]
    impostor = event(task=TaskId("ops1"), data={"team": "web"})
    await store.write(Write(events=[*told, *named, impostor]))
    seen = await store.events(team="web")
    assert [(one.kind, one.task) for one in seen] == [("noted", "web1")] * 3 + [("team.made", None)]
    page = await store.events(team="web", limit=2)
    assert page == seen[:2]
    assert await store.events(team="web", after=page[-1].seq) == seen[2:]
    assert await store.events(team="web", limit=2, newest=True) == seen[2:]
    assert await store.events(team="web", kinds=["team.made"]) == seen[3:]
    assert await store.events(team="web", task=TaskId("ops1")) == []


async def test_the_bill_of_a_team_is_for_its_tasks(store: Store) -> None:
    await fill(store)
    used = [
        Event(at=START, kind="run.used", task=TaskId(name), data=Usage(cost_usd=cost).plain())
        for name, cost in (("web1", 1.0), ("web2", 2.0), ("ops1", 4.0), ("None1", 8.0))
    ]
    await store.write(Write(events=used))
    (bill,) = await store.spent(since=START, team="web")
    assert bill.usage.cost_usd == 3.0
    by_task = await store.spent(since=START, by=["task"], team="ops")
    assert [(row.task, row.usage.cost_usd) for row in by_task] == [("ops1", 4.0)]
    assert await store.spent(since=START, team="none-such") == []


def asked(name: str, of: str) -> Question:
    return Question(
        id=QuestionId(name), task=TaskId(of), run=RunId(f"{of}.1"), text="?", asked_at=START
    )


def said(name: str, of: str | None) -> Message:
    to = TaskId(of) if of else None
    return Message(id=MessageId(name), agent="x", task=to, text="!", sent_at=START)


def mail(name: str, team: str, of: str | None = None) -> Message:
    return said(name, of).evolve(sender="ann", to="desk", team=team)


def own(sample: Record, team: str) -> list[Record]:
    """The same record as a team's own."""
    return [sample.evolve(id=f"{team}-{sample.plain()['id']}", team=team)]


WITH_A_TEAM: list[Record] = [SWARM, post(), checkpoint(), MEMORY, FILES]


def flow(name: str, *of: str) -> Workflow:
    tasks = tuple(map(TaskId, of))
    return Workflow(id=name, name="n", prompt="", repo="shop", tasks=tasks, created_at=START)


def clash(name: str, left: str, right: str) -> Conflict:
    pair = TaskId(left), TaskId(right)
    return Conflict(id=name, tasks=pair, paths=("x",), found="probe", found_at=START)


def alert(name: str, team: str | None) -> Alert:
    return Alert(id=AlertId(name), team=team, text="Fire", by="human", raised_at=START)


OF_TEAMS: list[tuple[list[Record], list[Record]]] = [
    ([asked("q1", "web1")], [asked("q2", "ops1"), asked("q3", "None1")]),
    (
        [said("m1", "web1"), mail("m4", "web"), mail("m5", "web", "web1")],
        [said("m2", "ops1"), said("m3", None), mail("m6", "ops"), mail("m7", "ops", "ops1")],
    ),
    *((own(each, "web"), [*own(each, "ops"), each]) for each in WITH_A_TEAM),
    ([flow("w1", "web1", "web2")], [flow("w2", "ops1"), flow("w3", "web1", "ops1")]),
    (
        [clash("c1", "web1", "web2")],
        [
            *(clash("c2", "ops1", "ops2"), clash("c3", "ops1", "web1")),
            *(clash("c4", "None1", "web1"), clash("c5", "None1", "None2")),
        ],
    ),
    ([Team(name="web", created_at=START)], [Team(name="ops", created_at=START)]),
    (
        [Member(team="web", handle="ann", role=Role.WORKER, joined_at=START)],
        [Member(team="ops", handle="ann", role=Role.WORKER, joined_at=START)],
    ),
    ([alert("a1", "web")], [alert("a2", "ops"), alert("a3", None)]),
]


@pytest.mark.parametrize(
    ("mine", "others"), OF_TEAMS, ids=lambda records: type(records[0]).__name__.lower()
)
async def test_records_are_read_by_team(
    store: Store, mine: list[Record], others: list[Record]
) -> None:
    await fill(store)
    kind = type(mine[0])
    await store.write(Write(records=[*mine, *others]))
    assert await store.records(kind, team="web") == mine
    assert await store.records(kind, team="none-such") == []
    assert len(await store.records(kind)) == len(mine) + len(others)
    assert await store.records(kind, team=NO_TEAM) == [each for each in others if _is_nobodys(each)]


def _is_nobodys(record: Record) -> bool:
    """Has it no team, and neither have its tasks?"""
    plain = record.plain()
    tasks = [plain.get("task"), *plain.get("tasks", ())]
    named = plain["name"] if isinstance(record, Team) else plain.get("team")
    return named is None and not {*tasks} & {"web1", "web2", "ops1", "ops2"}


async def test_other_filters_of_records_hold_within_the_team(store: Store) -> None:
    await fill(store)
    late = clash("c2", "web1", "web2").evolve(found_at=START + timedelta(hours=1))
    answered = asked("q2", "web2").evolve(answered_at=START)
    await store.write(Write(records=[clash("c1", "web1", "web2"), late]))
    await store.write(Write(records=[asked("q1", "web1"), answered, asked("q3", "ops1")]))
    after = START + timedelta(minutes=1)
    assert await store.records(Conflict, since=after, team="web") == [late]
    assert await store.records(Conflict, since=after, team="ops") == []
    opened = await store.records(Question, open_only=True, team="web")
    assert [one.id for one in opened] == ["q1"]
    assert await store.records(Question, tasks=[TaskId("ops1")], team="web") == []
    assert await store.records(Question, ids=["q3"], team="web") == []
    await store.write(Write(records=[mail("m1", "web"), mail("m2", "ops"), said("m3", "web1")]))
    letters = await store.records(Message, of=["desk"], open_only=True, team="web")
    assert [one.id for one in letters] == ["m1"]


async def test_what_is_the_fleets_no_team_has(store: Store) -> None:
    await store.write(Write(records=[REPO, LANE, RUNNER]))
    for kind in (Repo, Lane, Runner):
        assert await store.records(kind, team="web") == ()
        assert len(await store.records(kind, team=NO_TEAM)) == 1


async def test_what_has_no_team_is_read_alone(store: Store) -> None:
    await fill(store)
    for _ in TEAMS:
        await take(store)
    mine = [TaskId("None1"), TaskId("None2")]
    assert await ids(store, TaskQuery(team=NO_TEAM)) == mine
    assert await ids(store, TaskQuery(team=NO_TEAM, text="None1 web1")) == []
    assert await store.counts(team=NO_TEAM) == {"running": 1, "blocked": 1}
    assert await store.matching("None", team=NO_TEAM) == mine
    assert await store.matching("web", team=NO_TEAM) == []
    assert [each.id for each in (await store.unmet([mine[1]], team=NO_TEAM))[mine[1]]] == mine[:1]
    assert await store.needed_by(mine[0], team=NO_TEAM) == mine[1:]
    assert await store.needed_by(TaskId("web1"), team=NO_TEAM) == []
    assert [run.id for run in await store.runs(team=NO_TEAM)] == ["None1.1"]
    used = [
        Event(at=START, kind="run.used", task=TaskId(name), data=Usage(cost_usd=cost).plain())
        for name, cost in (("web1", 1.0), ("None1", 8.0))
    ]
    named = [event("team.made", data={"team": "web"}), event("fleet.paused")]
    await store.write(Write(events=[*used, *named]))
    (bill,) = await store.spent(since=START, team=NO_TEAM)
    assert bill.usage.cost_usd == 8.0
    seen = await store.events(team=NO_TEAM, newest=True, limit=2)
    assert [(each.kind, each.task) for each in seen] == [
        ("run.used", mine[0]),
        ("fleet.paused", None),
    ]
    assert await store.events(team=NO_TEAM, task=TaskId("web1")) == []
