"""An `Idempotency-Key` is either kept or refused, and never ignored where something is made."""

from typing import Any

import httpx2
import pytest

from codefleet.api.table import OPERATIONS
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import RunnerId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.team import member_id
from codefleet.domain.words import Role
from codefleet.doors.http.claude_fleet.table import ROUTES
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import TaskQuery
from tests.doors.http.conftest import API, Served

KEY = {"Idempotency-Key": "one"}
REFUSING = {"claude_fleet_post_workflows_ref_start"}


async def test_an_alert_is_raised_once(owner: httpx2.AsyncClient, fleet: Fleet) -> None:
    first, again = [
        await owner.post("/alerts", json={"text": "Smoke"}, headers=KEY) for _ in range(2)
    ]
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert [event.text for event in await fleet.events(kinds=["alert.raised"])] == ["Smoke"]


async def test_a_message_to_a_worker_is_sent_once(
    served: Served, owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    await fleet.spawn("scout", "Look")
    url = f"{served.url}/orchestrate/send/scout"
    first, again = [await owner.post(url, json={"message": "Hi"}, headers=KEY) for _ in range(2)]
    assert (first.status_code, again.json()) == (200, first.json())
    assert len(await fleet.events(kinds=["message.sent"])) == 1


def test_whatever_cannot_keep_a_key_refuses_it() -> None:
    assert {each.name for each in (*OPERATIONS, *ROUTES) if each.refuses_keys} == REFUSING


async def twice(owner: httpx2.AsyncClient, path: str, **said: str) -> Any:
    """What a request answers that is sent twice with the same key."""
    key = {"Idempotency-Key": path}
    first, again = [await owner.post(path, json=said, headers=key) for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 201), again.text
    assert again.json() == first.json()
    return first.json()


async def test_a_broadcast_reaches_each_agent_once(owner: httpx2.AsyncClient, fleet: Fleet) -> None:
    for handle in ("one", "two"):
        await fleet.spawn(handle, "Look")
    seats = [Seat(f"agent-{n}", RunnerId("r"), "lab", "scripted") for n in range(2)]
    await Dispatch(fleet).claim(seats, ClaimFilter())
    sent = await twice(owner, "/broadcast", text="Stop")
    assert [message["agent"] for message in sent] == ["agent-0", "agent-1"]
    assert len(await fleet.events(kinds=["message.sent"])) == 2


async def test_a_directive_is_posted_once(owner: httpx2.AsyncClient, fleet: Fleet) -> None:
    swarm = await fleet.create_swarm("hive")
    assert await twice(owner, "/broadcast", text="Stop", swarm=swarm.id) == []
    assert len(await fleet.read_posts(swarm.id)) == 1


async def test_a_notice_is_given_once(owner: httpx2.AsyncClient, fleet: Fleet) -> None:
    await fleet.notify("Earlier")
    notice = await twice(owner, "/notices", text="Done")
    _earlier, stored = await fleet.events(kinds=["team.notified"])
    assert (notice["seq"], notice["text"]) == (stored.seq, "Done")


async def test_an_invite_is_made_once_and_its_secret_admits(
    owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    await fleet.create_team("web")
    invited = await twice(owner, "/teams/web/invites", role="worker")
    assert [invite.id for invite in await fleet.invites("web")] == [invited["invite"]["id"]]
    assert (await fleet.join("web", "bob", invited["secret"])).token.team == "web"


async def test_a_token_is_made_once_and_its_text_is_valid(
    owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    await fleet.create_team("web")
    made = await twice(owner, "/teams/web/tokens", role="worker", handle="bob")
    assert [token.id for token in await fleet.tokens("web")] == [made["token"]["id"]]
    assert str((await fleet.with_token(made["text"])).actor) == member_id("web", "bob")


async def test_no_secret_is_in_the_store(owner: httpx2.AsyncClient, fleet: Fleet) -> None:
    await fleet.create_team("web")
    token = await twice(owner, "/teams/web/tokens", role="worker", handle="bob")
    invited = await twice(owner, "/teams/web/invites", role="worker")
    stored = "".join([body async for _, body in fleet.core.store.export(moving=True)])
    assert token["token"]["id"] in stored
    assert token["text"] not in stored
    assert invited["secret"] not in stored


async def test_a_secret_that_needs_a_lost_key_is_not_told_again(
    owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    await fleet.create_team("web")
    for path, said in (
        ("/teams/web/invites", {"role": "worker"}),
        ("/teams/web/tokens", {"role": "worker", "handle": "bob"}),
    ):
        key = {"Idempotency-Key": path}
        assert (await owner.post(path, json=said, headers=key)).status_code == 201
        for file in ("invites.key", "tokens.keys"):
            (fleet.home / "keys" / file).unlink(missing_ok=True)
        refused = await owner.post(path, json=said, headers=key)
        assert (refused.status_code, refused.json()["code"]) == (409, "refused"), path
    assert (len(await fleet.invites("web")), len(await fleet.tokens("web"))) == (1, 1)


@pytest.mark.parametrize(
    ("path", "body"),
    [("/tasks", [{"title": "Greet"}]), ("/workers", {"handle": "scout", "prompt": "Look"})],
)
async def test_what_has_left_the_team_is_not_told_again(
    served: Served, fleet: Fleet, path: str, body: Any
) -> None:
    for team in ("web", "ops"):
        await fleet.create_team(team)
    lead = await fleet.create_token("web", "ann", Role.TEAM_LEAD)
    async with httpx2.AsyncClient(
        base_url=served.url + API, headers={"Authorization": f"Bearer {lead.text}"}
    ) as ann:
        made = (await ann.post(path, json=body, headers=KEY)).json()
        (task,) = made if isinstance(made, list) else [made]
        await fleet.edit(task["id"], team="ops")
        again = await ann.post(path, json=body, headers=KEY)
    assert (again.status_code, again.json()["code"]) == (409, "refused")
    assert "you can no longer see what it created" in again.json()["detail"]
    assert len(await fleet.list(TaskQuery())) == 1
