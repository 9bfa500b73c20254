"""What the agent of a run reads of others: lists and states, and no output but what is for it."""

from codefleet.domain.model import Draft
from codefleet.fleet import Fleet
from codefleet.fleet.own_run import OwnRun
from codefleet.ports import TaskQuery, Write
from tests.stories.teams import started


async def test_an_agent_finds_in_the_log_what_it_may_read_elsewhere(fleet: Fleet) -> None:
    scout, other = await started(
        fleet, Draft(title="Look", handle="scout"), Draft(title="Hide", handle="other")
    )
    swarm = await fleet.create_swarm("hive")
    for agent, name in ((scout, "scout"), (other, "other")):
        await OwnRun(agent).report(f"{name} at work")
        await agent.post(swarm.id, "status", {"for": f"all, by {name}"})
        await agent.post(swarm.id, "status", {"for": f"lead, by {name}"}, target="lead")
        await agent.send_mail("desk", f"letter of {name}")
        await agent.add_checkpoint(f"note of {name}", "half way", to="lead")
    await fleet.send_mail("scout", "letter to scout", sender="lead")
    await fleet.send_mail("other", "letter to other", sender="lead")
    await fleet.post(swarm.id, "status", {"scout": "for your eyes"}, target="scout")
    (child,) = await scout.add([Draft(title="Below")])
    await fleet.send(child.id, "order to the child")
    heard = repr(await scout.events())
    own = ["scout at work", "all, by scout", "lead, by scout", "letter of scout", "note of scout"]
    given = ["letter to scout", "for your eyes", "order to the child", "all, by other"]
    assert [words for words in (*own, *given) if words not in heard] == []
    private = ["other at work", "lead, by other", "letter of other", "letter to other"]
    assert [words for words in (*private, "note of other") if words in heard] == []
    everything = repr(await fleet.events())
    assert [words for words in private if words not in everything] == []


async def test_an_agent_pages_through_the_log_without_gaps(fleet: Fleet) -> None:
    scout, other = await started(fleet, Draft(title="Look"), Draft(title="Hide"))
    for number in range(30):
        await OwnRun(other).report(f"hidden {number}")
        if number % 10 == 0:
            await OwnRun(scout).report(f"shown {number}")
    whole = await scout.events(kinds=["run.progress"])
    assert [each.text for each in whole] == ["shown 0", "shown 10", "shown 20"]
    pages = [await scout.events(kinds=["run.progress"], limit=1)]
    while pages[-1]:
        last = pages[-1][0].seq
        pages.append(await scout.events(kinds=["run.progress"], limit=1, after=last))
    assert [each for page in pages for each in page] == whole
    assert await scout.events(kinds=["run.progress"], limit=2, newest=True) == whole[1:]
    assert await scout.events(kinds=["run.progress"], limit=9, newest=True) == whole


async def test_the_run_of_a_stranger_shows_an_agent_no_output(fleet: Fleet) -> None:
    scout, other = await started(fleet, Draft(title="Look"), Draft(title="Hide"))
    for agent in (scout, other):
        run = await agent.asking()
        assert run
        await fleet.core.write(Write(runs=[run.evolve(said="words", version=run.version + 1)]))
    for agent in (scout, other):
        tasks = [task.id for task in await fleet.list(TaskQuery())]
        said = {run.task: run.said for run in await agent.runs_of(*tasks)}
        run = await agent.asking()
        assert run
        assert said == dict.fromkeys(tasks, "") | {run.task: "words"}
