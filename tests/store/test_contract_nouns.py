"""The contract: runs, questions, conflicts, repos, runners, lanes, settings; export and reset."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from codefleet.domain.errors import Cycle, Invalid, NotFound, Refused, Stale
from codefleet.domain.model import (
    Alert,
    AlertId,
    Checkpoint,
    CheckpointId,
    Comment,
    Conflict,
    Event,
    FileClaim,
    FileClaims,
    Invite,
    InviteId,
    Lane,
    Member,
    Memory,
    Message,
    MessageId,
    Post,
    PostId,
    PostType,
    Question,
    QuestionId,
    Receipt,
    Repo,
    Rest,
    Review,
    ReviewId,
    RunId,
    Runner,
    RunnerId,
    Swarm,
    SwarmId,
    TaskId,
    Team,
    Token,
    TokenId,
    Usage,
    Workflow,
)
from codefleet.domain.noun import LARGEST
from codefleet.domain.words import Reason, Role
from codefleet.ports import Period, Store, TaskQuery, Write
from tests.store.kinds import KINDS
from tests.store.samples import LEASE, START, StillClock, add, claim, completed, event, take, task


def question(name: str = "q1") -> Question:
    return Question(
        id=QuestionId(name), task=TaskId("a"), run=RunId("a.1"), text="Which?", asked_at=START
    )


def conflict(name: str = "c1") -> Conflict:
    pair = (TaskId("a"), TaskId("b"))
    return Conflict(id=name, tasks=pair, paths=("x.py",), found="probe", found_at=START)


def message(name: str = "m1") -> Message:
    return Message(id=MessageId(name), agent="x", text="Mind the gap", sent_at=START)


def post(name: str = "p1", swarm: str = "s1") -> Post:
    return Post(
        id=PostId(name),
        swarm=SwarmId(swarm),
        sender="scout",
        type=PostType.STATUS,
        payload={"done": [1, "two"]},
        posted_at=START,
    )


def checkpoint(name: str = "k1") -> Checkpoint:
    return Checkpoint(
        id=CheckpointId(name),
        author="scout",
        goal="Mend it",
        now="half way",
        next=("the rest",),
        task=TaskId("a"),
        created_at=START,
    )


MEMORY = Memory(
    id="/shop/scout/db",
    repo="shop",
    handle="scout",
    key="db",
    value="on port 5433",
    stored_at=START,
)
FILES = FileClaims(
    id="/shop",
    repo="shop",
    claims=(FileClaim(path="src/**", handle="scout", claimed_at=START),),
)
SWARM = Swarm(id=SwarmId("s1"), name="hive", created_at=START)
FLOW = Workflow(
    id="w1", name="wf", prompt="Mend it", repo="shop", tasks=(TaskId("a"),), created_at=START
)
REST = Rest(account="claude", reason=Reason.QUOTA, note="limit", since=START)
REPO = Repo(name="shop", path="/src/shop", trunk="main")
LANE = Lane(repo="shop", holder=RunnerId("r1"), fence=1, lease_until=START + LEASE)
RUNNER = Runner(
    id=RunnerId("r1"), host="here", pid=1, pid_started=2.5, seats=("x", "y"), seen_at=START
)
RECEIPT = Receipt(id="k1", request="digest", made=("a",), at=START)
TEAM = Team(name="web", repos=("shop",), created_at=START)
MEMBER = Member(team="web", handle="ann", role=Role.WORKER, joined_at=START)
OPEN: dict[str, Any] = {
    "team": "web",
    "role": Role.WORKER,
    "created_at": START,
    "expires_at": START + LEASE,
}
TOKEN = Token(id=TokenId("t1"), handle="ann", **OPEN)
INVITE = Invite(id=InviteId("i1"), secret_hash="0f", uses=2, **OPEN)
ALERT = Alert(id=AlertId("a1"), team="web", text="It burns", by="eve@web", raised_at=START)
COMMENT = Comment(id="c1", path="till.py", line=3, text="Why?", by="human", at=START)
REVIEW = Review(id=ReviewId("v1"), task=TaskId("a"), comments=(COMMENT,), begun_at=START)
SMALL = [
    Write(records=[question()]),
    Write(records=[conflict()]),
    Write(records=[REPO]),
    Write(records=[LANE]),
    Write(records=[RUNNER]),
    Write(records=[message()]),
    Write(records=[REST]),
    Write(records=[FLOW]),
    Write(records=[RECEIPT]),
    Write(records=[TEAM]),
    Write(records=[MEMBER]),
    Write(records=[TOKEN]),
    Write(records=[INVITE]),
    Write(records=[ALERT]),
    Write(records=[REVIEW]),
    Write(records=[SWARM]),
    Write(records=[post()]),
    Write(records=[checkpoint()]),
    Write(records=[MEMORY]),
    Write(records=[FILES]),
]


def next_version(step: Write) -> Write:
    """The same nouns, one version later."""
    return Write(records=[record.evolve(version=1) for record in step.records])


@pytest.mark.parametrize("first", SMALL, ids=lambda step: type(step.records[0]).__name__.lower())
async def test_every_noun_is_compared_and_set_by_its_version(store: Store, first: Write) -> None:
    second = next_version(first)
    with pytest.raises(Stale):
        await store.write(second)
    await store.write(first)
    with pytest.raises(Stale):
        await store.write(first._replace(events=[event()]))
    await store.write(second)
    with pytest.raises(Stale):
        await store.write(second)
    assert await store.last_seq() == 0


async def test_small_nouns_come_back_as_they_were_given(store: Store) -> None:
    for step in SMALL:
        await store.write(step)
    assert await store.records(Question) == [question()]
    assert await store.records(Conflict) == [conflict()]
    assert await store.records(Review, tasks=[TaskId("a")], open_only=True) == [REVIEW]
    assert await store.records(Repo) == [REPO]
    assert await store.records(Lane) == [LANE]
    assert await store.records(Runner) == [RUNNER]
    assert await store.records(Message) == [message()]
    assert await store.records(Rest) == [REST]
    assert await store.records(Workflow) == await store.records(Workflow, ids=["w1"]) == [FLOW]
    assert await store.records(Workflow, ids=[]) == []
    assert await store.records(Team) == await store.records(Team, ids=["web"]) == [TEAM]
    assert await store.records(Member) == await store.records(Member, ids=["ann@web"]) == [MEMBER]
    assert await store.records(Token) == [TOKEN]
    assert await store.records(Invite) == [INVITE]
    assert await store.records(Alert) == await store.records(Alert, open_only=True) == [ALERT]


async def test_open_messages_are_those_that_no_agent_has_got(store: Store) -> None:
    await store.write(Write(records=[message("m1"), message("m2")]))
    got = message("m1").evolve(delivered_at=START, run=RunId("a.1"), version=1)
    await store.write(Write(records=[got]))
    assert [one.id for one in await store.records(Message, open_only=True)] == ["m2"]
    assert [one.id for one in await store.records(Message)] == ["m1", "m2"]


async def test_mail_is_found_by_the_handle_that_it_is_for(store: Store) -> None:
    mail = [message(f"m{n}").evolve(to=to) for n, to in enumerate(["scout", "lead", "scout"])]
    await store.write(Write(records=[message("m"), *mail]))
    await store.write(Write(records=[mail[0].evolve(delivered_at=START, version=1)]))
    assert [one.id for one in await store.records(Message, of=["scout"])] == ["m0", "m2"]
    unread = await store.records(Message, of=["scout", "lead"], open_only=True)
    assert [one.id for one in unread] == ["m1", "m2"]


async def test_open_questions_are_those_without_an_answer(store: Store) -> None:
    await store.write(Write(records=[question("q1"), question("q2")]))
    answered = question("q1").evolve(answer="red", answered_at=START, version=1)
    await store.write(Write(records=[answered]))
    assert [one.id for one in await store.records(Question, open_only=True)] == ["q2"]
    assert await store.records(Question, ids=[QuestionId("q1")]) == [answered]
    assert await store.records(Question, ids=[QuestionId("q1")], open_only=True) == []


async def test_questions_of_a_task_are_those_that_its_agents_asked(store: Store) -> None:
    mine, other = question("q1"), question("q2").evolve(task=TaskId("b"))
    await store.write(Write(records=[mine, other]))
    assert await store.records(Question, tasks=[TaskId("b")]) == [other]
    assert await store.records(Question, tasks=[TaskId("b"), TaskId("a")]) == [mine, other]
    answered = other.evolve(answer="red", answered_at=START, version=1)
    await store.write(Write(records=[answered]))
    assert await store.records(Question, tasks=[TaskId("b")], open_only=True) == []
    assert await store.records(Question, tasks=[]) == []


async def test_the_posts_of_a_swarm_are_found_without_its_archive(store: Store) -> None:
    await store.write(Write(records=[post("p1"), post("p2"), post("p3", swarm="s2")]))
    await store.write(Write(records=[post("p1").evolve(archived_at=START, version=1)]))
    assert [one.id for one in await store.records(Post, of=["s1"])] == ["p1", "p2"]
    assert [one.id for one in await store.records(Post, of=["s1"], open_only=True)] == ["p2"]
    assert [one.id for one in await store.records(Post, of=["s1", "s2"])] == ["p1", "p2", "p3"]
    assert await store.records(Post, of=[]) == []


async def test_checkpoints_are_found_by_their_author_or_reader_and_by_task(store: Store) -> None:
    other = checkpoint("k2").evolve(to="lead", task=TaskId("b"))
    await store.write(Write(records=[checkpoint("k1"), other]))
    assert [one.id for one in await store.records(Checkpoint, of=["scout"])] == ["k1"]
    assert [one.id for one in await store.records(Checkpoint, of=["lead"])] == ["k2"]
    assert [one.id for one in await store.records(Checkpoint, tasks=[TaskId("b")])] == ["k2"]


async def test_memories_are_found_by_their_repo(store: Store) -> None:
    other = MEMORY.evolve(id="/other/scout/db", repo="other")
    await store.write(Write(records=[MEMORY, other]))
    assert await store.records(Memory, of=["shop"]) == [MEMORY]


async def test_open_swarms_are_those_that_nobody_killed(store: Store) -> None:
    await store.write(Write(records=[SWARM, SWARM.evolve(id=SwarmId("s2"))]))
    await store.write(Write(records=[SWARM.evolve(killed_at=START, version=1)]))
    assert [one.id for one in await store.records(Swarm, open_only=True)] == ["s2"]


async def test_conflicts_are_read_since_a_moment(store: Store) -> None:
    late = conflict("c2").evolve(found_at=START + timedelta(hours=1))
    await store.write(Write(records=[conflict("c1"), late]))
    assert await store.records(Conflict, since=START + timedelta(minutes=1)) == [late]


async def test_a_forgotten_runner_is_gone(store: Store) -> None:
    await store.write(Write(records=[RUNNER]))
    await store.write(Write(removed=[RUNNER]))
    assert await store.records(Runner) == []


async def test_settings_are_set_replaced_and_dropped(store: Store) -> None:
    await store.write(Write(settings={"a": "1", "b": "2"}))
    await store.write(Write(settings={"a": "3", "b": None, "never": None}))
    assert await store.settings() == {"a": "3"}


async def test_runs_are_read_by_id_by_task_and_while_they_live(store: Store) -> None:
    await add(store, task("a"), task("b"))
    first, second = await take(store), await take(store)
    await store.write(completed(first))
    assert [run.id for run in await store.runs()] == ["a.1", "b.1"]
    assert await store.runs(live=True) == [second.run]
    assert await store.runs(ids=[second.run.id]) == [second.run]
    assert [run.id for run in await store.runs(tasks=[TaskId("a")])] == ["a.1"]
    assert await store.runs(ids=[]) == []
    assert await store.runs(tasks=[TaskId("a")], live=True) == []


async def test_runs_are_read_by_the_period_in_which_they_were_at_work(
    store: Store, clock: StillClock
) -> None:
    await add(store, task("a"), task("b"))
    over = completed(await take(store))
    runs = [run.evolve(ended_at=START + timedelta(hours=1)) for run in over.runs]
    await store.write(over._replace(runs=runs))
    clock.advance(hours=2)
    await take(store)

    async def at_work(since: float, until: float) -> list[str]:
        during = Period(START + timedelta(hours=since), START + timedelta(hours=until))
        return [run.id for run in await store.runs(during=during)]

    assert await at_work(-1, 0) == []
    assert await at_work(0, 2) == ["a.1"]
    assert await at_work(1, 3) == ["a.1", "b.1"]
    assert await at_work(1.5, 2) == []
    assert await at_work(4, 5) == ["b.1"]


def used(cost: float, *, hours: float = 0, name: str = "a", **by: str) -> Event:
    """An entry of the ledger."""
    spent = Usage(input_tokens=10, output_tokens=2, cached_tokens=1, cost_usd=cost).plain()
    at = START + timedelta(hours=hours)
    return Event(at=at, kind="run.used", task=TaskId(name), data={**by, **spent})


async def test_the_bill_of_a_time_is_the_sum_of_its_lines(store: Store) -> None:
    lines = [used(0.5), used(1.0, hours=2), used(2.0, hours=3), event("run.said")]
    await store.write(Write(events=lines))
    (sum_,) = await store.spent(since=START + timedelta(hours=1), until=START + timedelta(hours=3))
    assert sum_.usage == Usage(input_tokens=10, output_tokens=2, cached_tokens=1, cost_usd=1.0)
    (rest,) = await store.spent(since=START + timedelta(hours=2))
    assert rest.usage.cost_usd == 3.0
    assert (rest.day, rest.coder, rest.model, rest.repo, rest.task, rest.source) == ("",) * 6


async def test_a_bill_has_a_row_for_each_value_of_what_it_is_by(store: Store) -> None:
    lines = [
        used(1.0, name="a", coder="claude", model="opus", repo="shop", source="reported"),
        used(2.0, name="b", coder="codex", model="gpt", repo="shop", source="priced"),
        used(4.0, name="a", coder="codex", model="gpt", repo="shop", source="priced", hours=24),
    ]
    await store.write(Write(events=lines))
    by_coder = await store.spent(since=START, by=["coder"])
    assert [(row.coder, row.usage.cost_usd) for row in by_coder] == [
        ("claude", 1.0),
        ("codex", 6.0),
    ]
    by_day_and_task = await store.spent(since=START, by=["day", "task"])
    assert [(row.day, row.task, row.usage.cost_usd) for row in by_day_and_task] == [
        ("2026-01-01", "a", 1.0),
        ("2026-01-01", "b", 2.0),
        ("2026-01-02", "a", 4.0),
    ]
    by_rest = await store.spent(since=START, by=["model", "repo", "source"])
    assert [(row.model, row.repo, row.source) for row in by_rest] == [
        ("gpt", "shop", "priced"),
        ("opus", "shop", "reported"),
    ]


async def test_a_bill_of_more_tokens_than_can_be_counted_is_still_a_bill(store: Store) -> None:
    absurd = Usage(input_tokens=2**62, output_tokens=10**20, cost_usd=1e15).plain()
    lines = [Event(at=START, kind="run.used", task=TaskId("a"), data=absurd) for _ in range(3)]
    await store.write(Write(events=lines))
    (bill,) = await store.spent(since=START)
    assert (bill.usage.input_tokens, bill.usage.output_tokens) == (LARGEST, LARGEST)
    assert (bill.usage.cached_tokens, bill.usage.cost_usd) == (0, 3e15)


async def test_nothing_was_spent_in_an_empty_store(store: Store) -> None:
    assert await store.spent(since=START) == []


async def fill(store: Store) -> None:
    """Some of every noun: a completed task, a running, a pending and a blocked one."""
    await add(store, task("a"), task("b"), task("c", needs=("a",)), task("d", needs=("b", "c")))
    await store.write(completed(await take(store)))
    await take(store)
    for step in SMALL:
        await store.write(step)
    await store.write(Write(settings={"colour": 'a "blue" one'}, events=[event(text="\u2028")]))


async def test_an_export_read_back_is_the_same_store(
    store: Store, clock: StillClock, tmp_path: Path, kind: str
) -> None:
    await fill(store)
    exported = [row async for row in store.export()]
    (tmp_path / "copy").mkdir()
    copy = KINDS[kind].open(KINDS[kind].empty(tmp_path / "copy"), clock)
    try:
        await copy.load(exported)
        assert [row async for row in copy.export()] == exported
        assert await copy.events() == await store.events()
        assert await copy.tasks(TaskQuery()) == await store.tasks(TaskQuery())
        assert await copy.counts() == {"completed": 1, "running": 1, "pending": 1, "blocked": 1}
        assert await claim(copy) == ["c"]
        assert await copy.last_seq() == await store.last_seq() + 1
    finally:
        await copy.close()


async def test_lanes_rests_and_tokens_move_with_a_fleet_and_runners_do_not(store: Store) -> None:
    await fill(store)
    moving = [row async for row in store.export(moving=True)]
    exported = {kind async for kind, _ in store.export()}
    assert {kind for kind, _ in moving} - exported == {"lane", "rest", "token", "invite", "receipt"}
    await store.erase(event("fleet.reset"))
    await store.load(moving)
    assert (await store.records(Lane), await store.records(Rest)) == ([LANE], [REST])
    assert (await store.records(Token), await store.records(Invite)) == ([TOKEN], [INVITE])
    assert await store.records(Runner) == []


async def test_an_export_is_one_view_however_long_it_takes(
    connect: Callable[[], Store],
) -> None:
    reader, writer = connect(), connect()
    await fill(reader)
    export = reader.export()
    first = await anext(export)
    await add(writer, task("later"))
    kinds = [first, *[row async for row in export]]
    assert not [text for _, text in kinds if '"later"' in text]


async def test_an_import_needs_a_store_without_work(store: Store) -> None:
    await fill(store)
    exported = [row async for row in store.export()]
    with pytest.raises(Refused, match="empty"):
        await store.load(exported)


async def test_an_imported_log_follows_what_was_already_said(store: Store) -> None:
    await fill(store)
    exported = [row async for row in store.export()]
    before = await store.events()
    await store.erase(event("fleet.reset"))
    (reset,) = await store.events()
    await store.load(exported)
    after = await store.events()
    assert after[0] == reset
    assert [one.kind for one in after[1:]] == [one.kind for one in before]
    assert [one.seq for one in after] == sorted({one.seq for one in after})


async def test_an_imported_moment_counts_in_utc(store: Store) -> None:
    east = START.astimezone(timezone(timedelta(hours=9)))
    told, waits = used(1.0).evolve(seq=1, at=east), task("a").evolve(not_before=east)
    await store.load([("event", told.json()), ("task", waits.json())])
    (bill,) = await store.spent(since=START, until=START + timedelta(hours=1), by=["day"])
    assert (bill.day, bill.usage.cost_usd) == ("2026-01-01", 1.0)
    assert "+09:00" not in "".join([text async for _, text in store.export()])


BEFORE_TIME = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=9)))
HALF = Workflow(
    id="w", name="n", prompt="", repo="shop", tasks=(TaskId("ghost"),), created_at=START
)


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        (("planet", "{}"), Invalid, "line 2: 'planet'"),
        (("task", '{"id": "x"}'), Invalid, "line 2: this is not a valid task"),
        (("task", "not json"), Invalid, "line 2: this is not a valid task"),
        (("setting", '{"name": 1}'), Invalid, "line 2: this is not a valid setting"),
        (("setting", "5"), Invalid, "line 2: this is not a valid setting"),
        (("task", task("../x").json()), Invalid, "line 2: this is not a valid task"),
        (("task", task("..").json()), Invalid, "line 2: this is not a valid task"),
        (
            ("repo", Repo(name="a/../..", path="/x", trunk="main").json()),
            Invalid,
            "is not a valid repo",
        ),
        (
            ("task", task("x").evolve(version=2**63).json()),
            Invalid,
            "line 2: this is not a valid task",
        ),
        (
            ("event", event().evolve(seq=2**63 - 1).json()),
            Invalid,
            "line 2: this is not a valid event",
        ),
        (
            ("event", event().evolve(at=BEFORE_TIME).json()),
            Invalid,
            "line 2: this is not a valid event",
        ),
        (("workflow", HALF.json()), Invalid, "the workflow w has a task ghost"),
        (("task", task("x", needs=("ghost",)).json()), NotFound, "no task ghost"),
        (("task", task("x", needs=("x",)).json()), Cycle, "x"),
        (("event", event().evolve(seq=1).json()), Invalid, "duplicate"),
    ],
)
async def test_a_bad_import_is_refused_and_leaves_nothing(
    store: Store, row: tuple[str, str], error: type[Exception], words: str
) -> None:
    good = ("event", event().evolve(seq=1).json())
    with pytest.raises(error, match=words):
        await store.load([good, row])
    assert [each async for each in store.export()] == []


async def test_erase_forgets_everything_but_that_it_happened_and_the_rise_of_seq(
    store: Store,
) -> None:
    await fill(store)
    last = await store.last_seq()
    await store.erase(event("fleet.reset"))
    assert [kind async for kind, _ in store.export()] == ["event"]
    assert (await store.records(Runner), await store.records(Lane)) == ([], [])
    assert await store.counts() == {}
    assert [(one.kind, one.seq) for one in await store.events()] == [("fleet.reset", last + 1)]
    (told,) = await store.write(Write(events=[event()]))
    assert told.seq == last + 2


async def test_what_is_wrong_with_an_imported_line_is_told_in_our_words(store: Store) -> None:
    wrong = json.dumps({**task("x").plain(), "priority": "high"})
    with pytest.raises(Invalid) as refused:
        await store.load([("task", wrong)])
    assert refused.value.problem == "line 1: this is not a valid task"
    assert refused.value.hint == 'priority: should be a whole number from 1 to 5, not "high"'
