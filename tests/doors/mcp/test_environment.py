"""What the environment of a local client says: its team and its handle, but never its role."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codefleet.domain.access import NO_TOKEN, Holder
from codefleet.domain.words import Role
from codefleet.fleet import Fleet
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.doors.conftest import program
from tests.doors.mcp.conftest import connected
from tests.gitrepo import SampleRepo

TEAM = ("--toolsets", "team")
NAMED = {"CLAUDE_FLEET_TEAM": "web", "CLAUDE_CODE_AGENT_NAME": "desk"}
PROMOTED = {"CLAUDE_CODE_AGENT_TYPE": "team-lead"}


@pytest.fixture
async def fleet(home: Path, repo: SampleRepo) -> AsyncIterator[Fleet]:
    async with open_fleet(home, create=True) as opened:
        await register(opened, repo.path)
        await opened.pause()
        for team in ("web", "ops"):
            await opened.create_team(team)
        yield opened


async def test_a_local_human_acts_as_a_lead_of_the_named_team_and_sees_no_other(
    fleet: Fleet,
) -> None:
    other = await fleet.create_swarm("ours", team="ops")
    async with connected(*TEAM, CLAUDE_CODE_AGENT_TYPE="monitor", **NAMED) as call:
        swarm = await call("swarm_create", name="hive")
        assert swarm["team"] == "web"
        await call.refused("swarm_kill", swarm_id=other.id)
        post = {"swarm_id": swarm["id"], "message_type": "status", "payload": {}}
        assert (await call("blackboard_post", **post))["sender"] == "desk"
    made = [event.by for event in await fleet.events() if event.kind == "swarm.created"]
    assert made == ["human", "desk@web"]


async def test_with_a_token_the_role_is_that_of_the_token_whatever_the_variables_say(
    fleet: Fleet,
) -> None:
    bob = await fleet.create_token("web", "bob", Role.WORKER)
    async with connected(*TEAM, FLEET_TOKEN=bob.text, **NAMED, **PROMOTED) as call:
        refused = await call.refused("swarm_create", name="hive")
        claimed = await call("team_claim", file="src/**")
    assert refused["problem"] == "bob@web may not manage swarms: the role of this token is worker"
    assert claimed["claimed"]
    assert (await fleet.events())[-1].by == "bob@web"


async def test_a_token_of_another_team_or_of_nobody_opens_no_door(fleet: Fleet) -> None:
    eve = await fleet.create_token("ops", "eve", Role.TEAM_LEAD)
    for token, why in ((eve.text, "not of the team web"), ("wrong", "does not belong")):
        told = program("mcp", env={**NAMED, "FLEET_TOKEN": token})
        assert told.code != 0
        assert why in told.err


async def test_a_team_that_does_not_exist_opens_no_door(fleet: Fleet) -> None:
    told = program("mcp", env={"CLAUDE_FLEET_TEAM": "nosuch"})
    assert told.code != 0
    assert "no team nosuch" in told.err


async def test_a_member_without_a_token_has_none_that_could_expire(fleet: Fleet) -> None:
    lead = Holder(token=NO_TOKEN, handle="desk", team="web", role=Role.TEAM_LEAD)
    assert await fleet.acting_as(lead).check_token() is None
