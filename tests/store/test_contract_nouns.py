"""The contract: runs, questions, conflicts, repos, runners, lanes, settings; out, in and gone."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from codefleet.domain import lifecycle
from codefleet.domain.errors import Cycle, Invalid, NotFound, Refused, Stale
from codefleet.domain.model import (
    Conflict,
    Lane,
    Outcome,
    Question,
    QuestionId,
    Repo,
    RunId,
    Runner,
    RunnerId,
    TaskId,
    Usage,
)
from codefleet.ports import Store, TaskQuery, Write
from tests.store.kinds import KINDS
from tests.store.samples import LEASE, START, StillClock, add, claim, completed, event, take, task


def question(name: str = "q1") -> Question:
    return Question(
        id=QuestionId(name), task=TaskId("a"), run=RunId("a.1"), text="Which?", asked_at=START
    )


def conflict(name: str = "c1") -> Conflict:
    pair = (TaskId("a"), TaskId("b"))
    return Conflict(id=name, tasks=pair, paths=("x.py",), found="probe", found_at=START)


REPO = Repo(name="shop", path="/src/shop", trunk="main")
LANE = Lane(repo="shop", holder=RunnerId("r1"), fence=1, lease_until=START + LEASE)
RUNNER = Runner(
    id=RunnerId("r1"), host="here", pid=1, pid_started=2.5, seats=("x", "y"), seen_at=START
)
SMALL = [
    Write(questions=[question()]),
    Write(conflicts=[conflict()]),
    Write(repos=[REPO]),
    Write(lanes=[LANE]),
    Write(runners=[RUNNER]),
]


def next_version(step: Write) -> Write:
    """The same nouns, one version on."""
    return Write(
        questions=[noun.evolve(version=1) for noun in step.questions],
        conflicts=[noun.evolve(version=1) for noun in step.conflicts],
        repos=[noun.evolve(version=1) for noun in step.repos],
        lanes=[noun.evolve(version=1) for noun in step.lanes],
        runners=[noun.evolve(version=1) for noun in step.runners],
    )


@pytest.mark.parametrize(
    "first", SMALL, ids=lambda step: next(f for f in step._fields if getattr(step, f))
)
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
    assert await store.questions() == [question()]
    assert await store.conflicts() == [conflict()]
    assert await store.repos() == [REPO]
    assert await store.lanes() == [LANE]
    assert await store.runners() == [RUNNER]


async def test_open_questions_are_those_without_an_answer(store: Store) -> None:
    await store.write(Write(questions=[question("q1"), question("q2")]))
    answered = question("q1").evolve(answer="red", answered_at=START, version=1)
    await store.write(Write(questions=[answered]))
    assert [one.id for one in await store.questions(open_only=True)] == ["q2"]
    assert await store.questions(ids=[QuestionId("q1")]) == [answered]
    assert await store.questions(ids=[QuestionId("q1")], open_only=True) == []


async def test_conflicts_are_read_since_a_moment(store: Store) -> None:
    late = conflict("c2").evolve(found_at=START + timedelta(hours=1))
    await store.write(Write(conflicts=[conflict("c1"), late]))
    assert await store.conflicts(since=START + timedelta(minutes=1)) == [late]


async def test_a_forgotten_runner_is_gone(store: Store) -> None:
    await store.write(Write(runners=[RUNNER]))
    await store.forget_runner(RUNNER.id)
    assert await store.runners() == []


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


async def test_spending_counts_runs_that_ended_since_and_those_that_go_on(
    store: Store, clock: StillClock
) -> None:
    await add(store, task("old"), task("new"), task("live"))
    for hours, tokens in ((0, 1), (2, 10), (2, 100)):
        claimed = await take(store)
        usage = Usage(input_tokens=tokens, output_tokens=1, cached_tokens=2, cost_usd=0.5)
        run = claimed.run.evolve(usage=usage, version=1)
        await store.write(Write(runs=[run]))
        if claimed.task.id != "live":
            now = START + timedelta(hours=hours)
            await store.write(Write(runs=[lifecycle.end(run, Outcome.SUBMITTED, now)]))
    spent = await store.spent_since(START + timedelta(hours=1))
    assert spent == Usage(input_tokens=110, output_tokens=2, cached_tokens=4, cost_usd=1.0)
    nothing = await store.spent_since(START + timedelta(hours=9))
    assert nothing.input_tokens == 100


async def test_nothing_was_spent_in_an_empty_store(store: Store) -> None:
    assert await store.spent_since(START) == Usage()


async def fill(store: Store) -> None:
    """Some of every noun: a task completed, one running, one pending, one blocked."""
    await add(store, task("a"), task("b"), task("c", needs=("a",)), task("d", needs=("b", "c")))
    await store.write(completed(await take(store)))
    await take(store)
    for step in SMALL:
        await store.write(step)
    await store.write(Write(settings={"colour": 'a "blue" one'}, events=[event(text="\u2028")]))


async def test_an_export_read_back_is_the_same_store(
    store: Store, clock: StillClock, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    await fill(store)
    exported = [row async for row in store.export()]
    kind = request.node.callspec.params["place"]
    (tmp_path / "copy").mkdir()
    copy = KINDS[kind].open(KINDS[kind].place(tmp_path / "copy"), clock)
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


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        (("planet", "{}"), Invalid, "line 2: 'planet'"),
        (("task", '{"id": "x"}'), Invalid, "line 2: this is no task"),
        (("task", "not json"), Invalid, "line 2: this is no task"),
        (("setting", '{"name": 1}'), Invalid, "line 2: this is no setting"),
        (("task", task("x", needs=("ghost",)).model_dump_json()), NotFound, "no task ghost"),
        (("task", task("x", needs=("x",)).model_dump_json()), Cycle, "x"),
        (("event", event().evolve(seq=1).model_dump_json()), Invalid, "twice"),
    ],
)
async def test_a_bad_import_is_refused_and_leaves_nothing(
    store: Store, row: tuple[str, str], error: type[Exception], words: str
) -> None:
    good = ("event", event().evolve(seq=1).model_dump_json())
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
    assert (await store.runners(), await store.lanes()) == ([], [])
    assert await store.counts() == {}
    assert [(one.kind, one.seq) for one in await store.events()] == [("fleet.reset", last + 1)]
    (told,) = await store.write(Write(events=[event()]))
    assert told.seq == last + 2
