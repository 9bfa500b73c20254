"""Claims on files: advice that others are told about, as long as the claimer's task lasts."""

import asyncio

import pytest

from codefleet.domain.errors import Invalid, Refused
from codefleet.domain.model import Draft, FileClaims
from codefleet.fleet import Fleet
from tests.script import script
from tests.stories.conftest import Crew
from tests.stories.test_mail import prompt_of
from tests.stories.test_workers import as_agent, claimed, kinds, two_teams


async def test_a_claimed_file_is_claimed_by_nobody_else(fleet: Fleet) -> None:
    assert (await fleet.claim_files(["src/mail/**"], handle="one")).claimed
    assert (await fleet.claim_files(["src/mail/**"], handle="one")).claimed
    told = await fleet.claim_files(["docs/a.md", "src/mail/send.py"], handle="two")
    assert not told.claimed
    assert [(it.path, it.handle) for it in told.held_by] == [("src/mail/**", "one")]
    assert [it.path for it in await fleet.file_claims()] == ["src/mail/**"]
    assert (await fleet.claim_files(["docs/a.md"], handle="two")).claimed
    assert len(await kinds(fleet, "files.")) == 3


async def test_of_many_who_claim_a_file_at_once_one_has_it(fleet: Fleet) -> None:
    names = [f"agent{number}" for number in range(8)]
    tries = [fleet.claim_files(["src/till.py"], handle=name) for name in names]
    done = await asyncio.gather(*tries)
    assert [each.claimed for each in done].count(True) == 1
    assert len(await fleet.file_claims("shop")) == 1


async def test_a_claim_ends_with_the_task_of_its_agent(fleet: Fleet) -> None:
    task = await fleet.spawn("scout", "Look")
    (run,) = await claimed(fleet)
    agent = as_agent(fleet, run)
    assert (await agent.claim_files(["src/till.py"])).claimed
    (held,) = await fleet.file_claims()
    assert (held.handle, held.task, held.run) == ("scout", task.id, run.id)
    with pytest.raises(Refused, match="may not speak for lead"):
        await agent.claim_files(["a"], handle="lead")
    await fleet.dismiss("scout")
    assert await fleet.file_claims() == []
    assert (await fleet.claim_files(["src/till.py"], handle="lead")).claimed
    (stored,) = await fleet.core.store.records(FileClaims)
    assert [it.handle for it in stored.claims] == ["lead"]


async def test_an_agent_is_told_what_others_claim(fleet: Fleet, crew: Crew) -> None:
    await fleet.claim_files(["src/till.py"], handle="lead")
    (task,) = await fleet.add([Draft(title="Work", prompt=script("write a.txt x"))])
    await crew.work()
    told = await prompt_of(fleet, task.id)
    assert "Other agents claim these files; leave them alone:\n> src/till.py (by lead)" in told


async def test_each_team_has_claims_of_its_own_and_sees_no_others(fleet: Fleet) -> None:
    web, ops = await two_teams(fleet)
    assert (await web.claim_files(["src/till.py"])).claimed
    assert (await ops.claim_files(["src/**"])).claimed
    assert not (await web.claim_files(["src/**"], handle="two")).claimed
    assert [(it.handle, it.path) for it in await ops.file_claims()] == [("eve", "src/**")]
    assert {(it.handle, it.team) for it in await fleet.file_claims("shop")} == {
        ("ann", "web"),
        ("eve", "ops"),
    }


async def test_an_agent_learns_that_others_claim_a_file_but_not_who_they_are(
    fleet: Fleet, crew: Crew
) -> None:
    web, ops = await two_teams(fleet)
    await ops.claim_files(["src/till.py"])
    await web.claim_files(["docs/**"])
    (task,) = await web.add([Draft(title="Work", prompt=script("write a.txt x"))])
    await crew.work()
    told = await prompt_of(fleet, task.id)
    assert "\n> src/till.py (by somebody outside of your team)" in told
    assert "\n> docs/** (by ann)" in told
    assert "(by eve)" not in told


@pytest.mark.parametrize("bad", [[], ["../x"], ["x"] * 101, ["*a" * 600]])
async def test_what_is_no_claim_is_refused(fleet: Fleet, bad: list[str]) -> None:
    with pytest.raises(Invalid):
        await fleet.claim_files(bad, handle="one")
