"""Text search: scanning tasks and using the word index find the same."""

import random
from collections.abc import Callable, Sequence

import pytest

from codefleet.domain import search
from codefleet.domain.errors import Stale
from codefleet.domain.lifecycle import Verb, move
from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.ports import Store, TaskQuery, Write
from codefleet.store import text_search
from tests.store.samples import add, completed, event, get, ids, take, task

WAYS = {"by looking": (1000, 10_000), "by looking further": (10, 10_000), "by the index": (1, 0)}
SOME_WORDS = ["mail", "mailer", "login", "log", "parse", "parser", "cache", "invoice", "ui", "db"]


@pytest.fixture(params=WAYS, autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    first, most = WAYS[request.param]
    monkeypatch.setattr(text_search, "FIRST", first)
    monkeypatch.setattr(text_search, "MOST", most)


async def found(store: Store, text: str) -> list[str]:
    return await ids(store, TaskQuery(text=text))


async def test_a_word_finds_the_tasks_with_a_word_that_begins_so(store: Store) -> None:
    await add(
        store,
        task("title", title="Move the Mailer"),
        task("prompt", prompt="Extract the mailers, and test them."),
        task("label", labels=("email", "mail-order")),
        task("other", title="Blackmail"),
    )
    assert await found(store, "mail") == ["title", "prompt", "label"]
    assert await found(store, "MAILER") == ["title", "prompt"]
    assert await found(store, "mailers") == ["prompt"]
    assert await found(store, "ail") == []


async def test_all_words_must_be_there_in_any_order(store: Store) -> None:
    await add(
        store,
        task("both", title="Login fails", prompt="The cache is stale."),
        task("one", title="Login"),
        task("none"),
    )
    assert await found(store, "cache login") == ["both"]
    assert await found(store, "log, in fail!") == []
    assert await found(store, "login login") == ["both", "one"]


async def test_a_word_of_two_letters_is_only_itself(store: Store) -> None:
    await add(store, task("a", title="The UI of it"), task("b", title="Uighur"), task("c"))
    assert await found(store, "ui") == ["a"]


async def test_words_of_all_alphabets_are_found_whatever_their_case(store: Store) -> None:
    await add(
        store,
        task("german", title="ÄRGER in der Straße"),
        task("greek", title="ΣΊΣΥΦΟΣ"),
        task("chinese", title="修复登录错误"),
        task("accent", title="Open the cafe\u0301"),
    )
    assert await found(store, "ärger STRASSE") == ["german"]
    assert await found(store, "σίσυφος") == ["greek"]
    assert await found(store, "登录") == ["chinese"]
    assert await found(store, "CAFÉ") == ["accent"]


async def test_signs_are_nothing_to_search_for(store: Store) -> None:
    await add(store, task("a", prompt='100% of "it" -- OR NOT (x*)'), task("b", title="Do it"))
    assert await found(store, "%%") == []
    assert await found(store, 'NOT "100%"') == ["a"]
    assert await found(store, "x*) OR") == ["a"]
    assert await found(store, "' & \\ :* it") == ["a", "b"]


async def test_only_the_beginning_of_a_long_prompt_is_searched(store: Store) -> None:
    long = "early " + "x" * search.READ + " late " + "y " * 450_000
    unspaced = "".join(chr(0x4E00 + number % 20_000) for number in range(1_000_000))
    await add(store, task("long", prompt=long), task("unspaced", prompt=unspaced), task("other"))
    assert await found(store, "early") == ["long"]
    assert await found(store, "late") == []
    assert await found(store, unspaced[search.READ - 2 : search.READ]) == ["unspaced"]


async def test_an_edit_changes_what_a_task_is_found_by(store: Store) -> None:
    await add(store, task("a", title="Old words"), task("b", title="Old too"), task("c"))
    edited = (await get(store, "a")).evolve(title="New words", version=1)
    await store.write(Write(tasks=[edited]))
    assert await found(store, "old") == ["b"]
    assert await found(store, "new words") == ["a"]
    relabelled = edited.evolve(labels=("urgent",), needs=("c",), version=2)
    await store.write(Write(tasks=[relabelled]))
    assert await found(store, "urgent") == ["a"]
    assert await get(store, "a") == relabelled


async def test_a_refused_edit_changes_nothing_that_is_found(store: Store) -> None:
    await add(store, task("a", title="Old words"), task("b"))
    late = task("a", title="New words", version=2)
    with pytest.raises(Stale):
        await store.write(Write(tasks=[late], events=[event()]))
    assert await found(store, "old") == ["a"]
    assert await found(store, "new") == []


async def test_what_happens_to_a_task_leaves_its_words_alone(store: Store) -> None:
    await add(store, task("a", title="Mend the mailer"), task("b"), task("c", title="Mend it"))
    await store.write(completed(await take(store)))
    await add(store, move(await get(store, "c"), Verb.CANCEL))
    assert await found(store, "mend") == ["a", "c"]
    done = TaskQuery(text="mend", states=[State.COMPLETED, State.RUNNING])
    assert await ids(store, done) == ["a"]
    assert await ids(store, TaskQuery(text="mend", states=[State.PENDING])) == []


async def test_what_was_erased_is_not_found_and_what_was_loaded_is(
    store: Store, connect: Callable[[], Store]
) -> None:
    await add(store, task("a", title="Mend the mailer"), task("b"))
    rows = [row async for row in store.export()]
    await store.erase(event("fleet.reset"))
    assert await found(store, "mailer") == []
    await store.load(rows)
    assert await found(store, "mailer") == ["a"]
    assert await found(connect(), "mailer") == ["a"]


def some_tasks(chance: random.Random) -> list[Task]:
    return [
        task(
            f"t{number}",
            title=" ".join(chance.sample(SOME_WORDS, 3)),
            priority=chance.randint(1, 5),
            repo=chance.choice(["shop", "mail"]),
            labels=chance.sample(["fast", "slow"], chance.randint(0, 2)),
            paused=chance.random() < 0.2,
        )
        for number in range(60)
    ]


def fits(query: TaskQuery, each: Task) -> bool:
    words = each.title.split()
    asked = str(query.text).split()
    return (
        all(any(w == a if len(a) < 3 else w.startswith(a) for w in words) for a in asked)
        and (not query.states or each.state in query.states)
        and query.repo in (None, each.repo)
        and (query.label is None or query.label in each.labels)
        and not (query.ready and (each.paused or each.state is not State.PENDING))
    )


def expected(query: TaskQuery, tasks: Sequence[Task]) -> Sequence[str]:
    order = list(enumerate(tasks))
    order.sort(key=lambda pair: -pair[0] if query.newest_first else (-pair[1].priority, pair[0]))
    return [each.id for _, each in order if fits(query, each)][: query.limit]


@pytest.mark.parametrize("seed", range(2))
async def test_a_search_has_the_filters_the_order_and_the_limit_of_every_reading(
    store: Store, seed: int
) -> None:
    chance = random.Random(seed)
    given = some_tasks(chance)
    await add(store, *given)
    stopped = chance.sample(given, 20)
    await add(store, *[move(each, Verb.CANCEL, paused=False) for each in stopped])
    stored = {each.id: each for each in await store.tasks(TaskQuery())}
    tasks = [stored[each.id] for each in given]
    for _ in range(80):
        query = TaskQuery(
            text=" ".join(chance.sample([*SOME_WORDS, "pars", "inv"], chance.randint(1, 2))),
            states=chance.choice([(), (State.PENDING,), (State.CANCELLED, State.PENDING)]),
            repo=chance.choice([None, None, "mail"]),
            label=chance.choice([None, None, "fast"]),
            ready=chance.random() < 0.2,
            limit=chance.choice([None, 0, 1, 2, 3, 30]),
            newest_first=chance.random() < 0.4,
        )
        assert await ids(store, query) == expected(query, tasks), query
