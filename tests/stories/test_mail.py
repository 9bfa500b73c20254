"""Mail between agents: by handle, quoted, to whoever has the handle now or next."""

import asyncio
import json

import pytest

from codefleet.domain.errors import Invalid, NotFound, Refused
from codefleet.domain.model import Draft, Message
from codefleet.fleet import Fleet
from codefleet.runner.paths import Paths
from tests.gitrepo import SampleRepo
from tests.script import script
from tests.stories.conftest import BOUND_S, Crew
from tests.stories.test_swarms import fleet_command
from tests.stories.test_workers import MEMBER, as_agent, claimed, kinds, two_teams


async def prompt_of(fleet: Fleet, task: str) -> str:
    run = (await fleet.runs_of((await fleet.get(task)).id))[-1]
    return (Paths(fleet.home).run(run) / "prompt.md").read_text()


async def test_mail_waits_for_whoever_has_the_handle_next(
    fleet: Fleet, crew: Crew, repo: SampleRepo
) -> None:
    sent = await fleet.send_mail("scout", "the key is\n```\nin the shed", subject="a hint")
    assert (sent.task, sent.run, sent.sender, sent.to) == (None, None, "human", "scout")
    await fleet.spawn("other", script("write other.txt x"))
    task = await fleet.spawn("scout", script("write scout.txt x"))
    await crew.work()
    told = await prompt_of(fleet, task.id)
    assert "Mail from human, another member of your team:\n> Subject: a hint\n> the key is" in told
    assert "\n> in the shed" in told
    assert "in the shed" not in await prompt_of(fleet, (await fleet.worker("other")).task)
    assert await fleet.mail("scout", unread_only=True) == []
    (read,) = await fleet.mail("scout")
    assert read.delivered_at is not None
    assert await kinds(fleet, "message.") == ["message.sent", "message.delivered"]


@pytest.mark.slow
async def test_an_agent_writes_to_another_that_listens_and_it_reads_it_now(
    fleet: Fleet, crew: Crew, repo: SampleRepo
) -> None:
    hears = await fleet.spawn("lead", script("say begun", "listen", "write heard.txt {{message}}"))
    loop = crew.loop(2, until_idle=True)
    running = asyncio.create_task(loop.run())

    async def begun() -> object:
        return await fleet.core.store.events(task=hears.id, kinds=["run.said"])

    await crew.wait_for(begun)
    writes = fleet_command(fleet, "mail-send", "scout", "lead", "found it")
    await fleet.spawn("scout", script(writes, "write scout.txt x"))
    await asyncio.wait_for(running, BOUND_S)
    assert repo.read("main", "heard.txt") == (
        "Mail from scout, another member of your team:\n> found it\n"
    )


async def test_what_is_handed_over_is_listed_and_reaches_the_next_prompt(
    fleet: Fleet, crew: Crew
) -> None:
    context = {"done": ["the API"], "left": "the page"}
    await fleet.hand_off("scout", context, sender="lead")
    (handed,) = await fleet.handoffs("scout")
    assert (handed.sender, handed.context) == ("lead", context)
    assert await fleet.mail("scout") == []
    task = await fleet.spawn("scout", script("write scout.txt x"))
    await crew.work()
    told = await prompt_of(fleet, task.id)
    quoted = "\n".join(f"> {line}" for line in json.dumps(context, indent=1).splitlines())
    assert f"A handoff from lead, another member of your team:\n{quoted}" in told


async def test_mail_that_an_agent_reads_itself_is_not_given_to_it_again(fleet: Fleet) -> None:
    task = await fleet.spawn("scout", "Look")
    (run,) = await claimed(fleet)
    agent = as_agent(fleet, run)
    sent = await fleet.send_mail("scout", "hello", sender="lead")
    assert [m.id for m in await agent.mail(unread_only=True)] == [sent.id]
    for _ in range(2):
        (read,) = await agent.mark_mail_read([sent.id])
        assert (read.run, read.task) == (run.id, task.id)
    assert await agent.mail(unread_only=True) == []
    assert [m.id for m in await agent.mail()] == [sent.id]
    assert await kinds(fleet, "message.") == ["message.sent", "message.delivered"]


async def test_an_agent_without_a_handle_is_reached_by_its_task(fleet: Fleet) -> None:
    (task,) = await fleet.add([Draft(title="Work")])
    (run,) = await claimed(fleet)
    agent = as_agent(fleet, run)
    assert (await agent.send_mail("lead", "hello")).sender == task.id
    await fleet.send_mail(task.id, "hello back", sender="lead")
    assert [m.text for m in await agent.mail()] == ["hello back"]


async def test_an_agent_reads_and_writes_only_its_own_mail(fleet: Fleet) -> None:
    await fleet.spawn("scout", "Look")
    (run,) = await claimed(fleet)
    agent = as_agent(fleet, run)
    sent = await fleet.send_mail("lead", "secret plans")
    for attempt in (
        agent.mail("lead"),
        agent.handoffs("lead"),
        agent.send_mail("x", "obey", sender="lead"),
        agent.hand_off("x", {}, sender="lead"),
        agent.mark_mail_read([sent.id], handle="lead"),
    ):
        with pytest.raises(Refused):
            await attempt
    with pytest.raises(NotFound, match="no mail"):
        await agent.mark_mail_read([sent.id])


async def test_mail_stays_within_its_team(fleet: Fleet) -> None:
    (web, ops), bob = await two_teams(fleet), fleet.acting_as(MEMBER)
    sent = await web.send_mail("scout", "hello")
    assert (sent.team, sent.sender) == ("web", "ann")
    assert await ops.mail("scout") == []
    assert [m.id for m in await web.mail("scout")] == [sent.id]
    await ops.spawn("scout", "Look")
    (run,) = await claimed(fleet)
    task = await fleet.get(run.task)
    assert not sent.is_for(run, task)
    assert (await web.send_mail("scout", "again")).task is None
    with pytest.raises(Refused, match="may not speak for scout"):
        await bob.mail("scout")
    assert await bob.mail() == []


async def test_mail_for_a_team_reaches_the_next_one_of_that_team(fleet: Fleet) -> None:
    web, ops = await two_teams(fleet)
    sent = await fleet.send_mail("late", "hello", sender="lead", team="web")
    handed = await fleet.hand_off("late", {"left": "all"}, team="web")
    for lead in (ops, web):
        await lead.spawn("late", "Look")
    theirs, ours = await claimed(fleet, 2)
    assert not sent.is_for(theirs, await fleet.get(theirs.task))
    for each in (sent, handed):
        assert each.is_for(ours, await fleet.get(ours.task))
    assert (await fleet.send_mail("late", "again", team="web")).task == ours.task
    with pytest.raises(Invalid, match="a worker of several teams"):
        await fleet.send_mail("late", "whom?")


async def test_nobody_names_a_team_that_is_hidden_from_them(fleet: Fleet) -> None:
    web, ops = await two_teams(fleet)
    await fleet.spawn("scout", "Look")
    (run,) = await claimed(fleet)
    for stranger in (ops, as_agent(fleet, run)):
        with pytest.raises(NotFound, match="no team web"):
            await stranger.send_mail("late", "hi", team="web")
    with pytest.raises(NotFound, match="no team nope"):
        await fleet.hand_off("late", {}, team="nope")
    assert (await web.send_mail("late", "hi", team="web")).team == "web"


async def test_a_key_in_mail_is_neither_stored_nor_passed_on(fleet: Fleet) -> None:
    key = "sk-ant-api03-" + "Zx9" * 31
    await fleet.send_mail("scout", f"use {key}")
    await fleet.hand_off("scout", {"env": {"KEY": key}})
    assert not [text async for _, text in fleet.core.store.export() if key in text]


async def test_what_cannot_be_mailed_is_refused(fleet: Fleet) -> None:
    with pytest.raises(Invalid, match="is not a handle"):
        await fleet.send_mail("a b", "hello")
    with pytest.raises(Invalid, match="needs a text"):
        await fleet.send_mail("scout", " ")
    with pytest.raises(Invalid, match="subject: should be a string of at most 200"):
        await fleet.send_mail("scout", "hello", subject="x" * 201)
    with pytest.raises(Invalid, match="at most 64,000 bytes"):
        await fleet.hand_off("scout", {"x": "y" * 70_000})
    assert await fleet.core.store.records(Message) == []
