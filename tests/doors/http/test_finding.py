"""Finding by words, and how the fleet has done."""

from datetime import timedelta

import httpx2

from codefleet.domain.access import AgentOf
from codefleet.domain.model import Draft, RunId
from codefleet.domain.words import Role
from codefleet.fleet import Fleet
from codefleet.fleet import trends as reading


async def test_tasks_memories_and_events_are_found_by_beginnings_of_words(
    owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    (task,) = await fleet.add([Draft(title="Extract the mailer")])
    await fleet.remember("mailer", "It sends at night.")
    await fleet.add([Draft(title="Paint the shed")])
    found = (await owner.get("/find", params={"query": "mail"})).json()
    assert [each["id"] for each in found["tasks"]] == [task.id]
    assert [each["key"] for each in found["memories"]] == ["mailer"]
    assert [each["kind"] for each in found["events"]] == ["memory.stored", "task.added"]
    assert [each["id"] for each in found["about"]] == [task.id]
    assert (await owner.get("/find", params={"query": "..."})).json()["tasks"] == []


async def test_members_find_only_what_is_their_teams_and_they_may_read(fleet: Fleet) -> None:
    await fleet.create_team("till")
    await fleet.create_team("web")
    await fleet.add([Draft(title="Extract the mailer", team=team) for team in ("till", "web")])
    _, text = await fleet.create_token("till", "ada", Role.NOTIFIER)
    await fleet.remember("mailer", "It sends at night.")
    found = await (await fleet.with_token(text)).find("mailer")
    assert [task.team for task in found.tasks] == ["till"]
    assert (found.memories, found.questions) == ((), ())
    assert {each.task for each in found.events} == {found.tasks[0].id}


async def test_an_agent_finds_no_questions_of_others(fleet: Fleet) -> None:
    await fleet.add([Draft(title="Extract the mailer")])
    found = await fleet.acting_as(AgentOf(run=RunId("k3m9x2pa.1"))).find("mailer")
    assert (len(found.tasks), found.questions) == (1, ())


async def test_the_log_is_read_from_the_beginning_of_the_period(fleet: Fleet) -> None:
    tasks = await fleet.add([Draft(title=f"Task {n}") for n in range(5)])
    for task in tasks[:2]:
        await fleet.cancel(task.id)
    found = await fleet.trends(hours=1)
    assert sum(each.added for each in found.flow) == 5
    assert sum(each.cancelled for each in found.flow) == 2
    events = await fleet.events()
    after = events[3].at + timedelta(microseconds=1)
    earlier = [each.seq for each in events if each.at < after]
    assert await reading._seq_at(fleet.core, after) == earlier[-1]
    assert await reading._seq_at(fleet.core, events[0].at) == 0
