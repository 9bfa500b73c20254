"""The contract: a lone surrogate is refused with a clear message and affects nothing else."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from codefleet.domain.errors import Invalid
from codefleet.domain.model import Question, QuestionId, Repo, RunId, TaskId, Workflow
from codefleet.ports import Store, TaskQuery, Write
from tests.store.samples import claim, event, task

HALF = "\ud800"
READINGS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "a task": lambda store: store.tasks(TaskQuery(ids=[TaskId(HALF)])),
    "tasks of a repo": lambda store: store.tasks(TaskQuery(repo=HALF)),
    "tasks with a label": lambda store: store.tasks(TaskQuery(label=HALF)),
    "what begins so": lambda store: store.matching(HALF),
    "who needs it": lambda store: store.needed_by(TaskId(HALF)),
    "runs": lambda store: store.runs(ids=[RunId(HALF)]),
    "questions": lambda store: store.records(Question, ids=[QuestionId(HALF)]),
    "workflows": lambda store: store.records(Workflow, ids=[HALF]),
    "the log": lambda store: store.events(task=TaskId(HALF)),
}
STEPS = {
    "a task": Write(tasks=[task("b").evolve(id=TaskId(HALF))]),
    "a title": Write(tasks=[task("b").evolve(title=HALF)]),
    "a need": Write(tasks=[task("b").evolve(needs=(HALF,))]),
    "a repo": Write(records=[Repo(name=HALF, path="/src", trunk="main")]),
    "the name of a setting": Write(settings={HALF: "x"}),
    "a setting": Write(settings={"x": HALF}),
    "an event": Write(events=[event(HALF)]),
    "a fence": Write(fences={TaskId(HALF): 1}),
}


@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
async def test_half_a_character_cannot_be_asked_for(
    store: Store, reading: Callable[[Store], Awaitable[object]]
) -> None:
    with pytest.raises(Invalid, match="not text"):
        await reading(store)
    assert await store.last_seq() == 0


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
async def test_half_a_character_is_not_kept_and_harms_no_other_write(
    store: Store, step: Write
) -> None:
    good = [Write(tasks=[task(name)]) for name in ("one", "two")]
    asked = (store.write(each) for each in (good[0], step, good[1]))
    first, refused, last = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(refused, Invalid)
    assert "not text" in refused.problem
    assert not isinstance(first, BaseException)
    assert not isinstance(last, BaseException)
    assert [each.id for each in await store.tasks(TaskQuery())] == ["one", "two"]
    assert await store.settings() == {}
    assert await claim(store) == ["one"]
