"""However much agents print: no line is lost, and the log reports what it leaves out."""

import json
import sys
from collections.abc import Awaitable, Callable

import pytest

from codefleet.domain.model import Draft, Event, Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.runner.paths import Paths
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]
HUGE = "print('x' * (40 << 20)); print('done'); open('made.txt', 'w').write('x')"
FLOOD = "for n in range(5000): print('line', n)\nopen('made.txt', 'w').write('x')"


async def said(fleet: Fleet, task: Task) -> list[Event]:
    return list(await fleet.core.store.events(task=task.id, kinds=["run.said"], limit=10_000))


async def test_every_line_of_many_agents_is_told_once_and_in_order(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    steps = ("recite 150 300", "finish --no-changes")
    tasks = [await add(f"Recite {number}", *steps) for number in range(4)]
    await crew.work(agents=4)
    for task in tasks:
        texts = [event.text for event in await said(fleet, task)]
        assert texts == [f"line {n} of 150" for n in range(1, 151)]


async def test_a_flood_is_cut_short_in_the_log_and_whole_in_the_runs_folder(
    fleet: Fleet, crew: Crew
) -> None:
    (task,) = await fleet.add([Draft(title="Flood", coder="command")])
    argv = [sys.executable, "-c", FLOOD]
    await crew.work(coders={"command": {"argv": argv}})
    assert (await fleet.get(task.id)).state is State.COMPLETED
    events = await said(fleet, task)
    left_out = sum(event.data.get("left_out", 0) for event in events)
    told = [event for event in events if "left_out" not in event.data]
    assert len(told) + left_out == 5000
    (run,) = await fleet.core.store.runs(tasks=[task.id])
    log = Paths(fleet.home).run(run) / "stdout.jsonl"
    assert log.read_text().splitlines() == [f"line {n}" for n in range(5000)]
    assert run.said == "line 4999"


async def test_a_line_of_forty_megabytes_keeps_nobody_else_from_being_heard(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    (huge,) = await fleet.add([Draft(title="Huge", coder="command")])
    steps = ("recite 150 300", "finish --no-changes")
    other = await add("Recite", *steps)
    argv = [sys.executable, "-c", HUGE]
    await crew.work(coders={"command": {"argv": argv}}, lease_s=5)
    texts = [event.text for event in await said(fleet, other)]
    assert texts == [f"line {n} of 150" for n in range(1, 151)]
    told = [event.text for event in await said(fleet, huge)]
    assert told[-1] == "done"
    assert set("".join(told[:-1])) == {"x"}
    assert max(map(len, told)) <= 4000
    for task in (huge, other):
        assert (await fleet.get(task.id)).state is State.COMPLETED
        assert len(await fleet.core.store.runs(tasks=[task.id])) == 1


async def test_of_what_a_tool_prints_the_log_keeps_the_end(fleet: Fleet, crew: Crew) -> None:
    (task,) = await fleet.add([Draft(title="Print", coder="command")])
    ended = {"type": "tool", "name": "shell", "done": True, "call": "c1"}
    line = json.dumps({**ended, "result": "x" * 5000 + "the end"})
    await crew.work(coders={"command": {"argv": ["echo", line]}})
    told, *_ = await fleet.events(task=task.id, kinds=["run.result"])  # one for each attempt
    assert told.text == "x" * 993 + "the end"
