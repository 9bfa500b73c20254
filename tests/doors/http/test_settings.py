"""The settings over HTTP: the owner sees and changes them, and nobody else."""

from pathlib import Path

import httpx2
import pytest

from codefleet.config import KEYS
from codefleet.domain.access import OWNER, AgentOf
from codefleet.domain.errors import BadConfig, Forbidden, Invalid, NotFound
from codefleet.domain.model import RunId
from codefleet.domain.views import Setting
from codefleet.domain.words import Role
from codefleet.fleet import Fleet
from codefleet.runner import verbs


async def shown(fleet: Fleet) -> dict[str, Setting]:
    return {each.key: each for each in await verbs.settings(fleet.acting_as(OWNER))}


async def test_every_setting_says_where_its_value_comes_from(
    fleet: Fleet, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_ATTEMPTS", "7")
    await verbs.configure(fleet, "agents", "5")
    found = await shown(fleet)
    assert {*KEYS} - {"coders", "repos", "prices", "windows"} <= found.keys()
    assert (found["agents"].value, found["agents"].default) == ("5", "3")
    assert found["agents"].source == f"home: {home / 'fleet.toml'}"
    assert (found["attempts"].value, found["attempts"].overridden_by) == ("7", "FLEET_ATTEMPTS")
    assert found["timeout_s"].source == "default"
    assert found["durability"].choices == ("full", "normal")
    assert found["agents"].meaning == "How many agents `fleet run` runs at once."


async def test_what_is_changed_holds_at_once_and_can_be_removed(fleet: Fleet) -> None:
    changed = await verbs.configure(fleet, "day_budget_usd", "20")
    assert (changed.value, fleet.config.day_budget_usd) == ("20.0", 20.0)
    assert (await verbs.configure(fleet, "day_budget_usd", "")).source == "default"
    assert fleet.config.day_budget_usd is None


async def test_tables_are_shown_entry_by_entry_and_can_be_typed_as_shown(fleet: Fleet) -> None:
    price = "{ input = 1.0, output = 2.0 }"
    await verbs.configure(fleet, "prices.large.1", price)
    await verbs.configure(fleet, "repos.shop.landing", "review")
    found = await shown(fleet)
    assert found["repos.shop.landing"].value == "review"
    again = await verbs.configure(fleet, "prices.large.1", found["prices.large.1"].value)
    assert again.value == found["prices.large.1"].value


async def test_secrets_are_masked_and_a_mask_is_not_taken_for_a_value(fleet: Fleet) -> None:
    await verbs.configure(fleet, "coders.command.env", "{ API_KEY = 'hunter2hunter2' }")
    await verbs.configure(fleet, "store_direct", "postgresql://me:hunter2@lab/fleet")
    found = await shown(fleet)
    assert "hunter2" not in str(found)
    assert found["coders.command.env"].value == '{ API_KEY = "***" }'
    assert found["store_direct"].value == "postgresql://me:***@lab/fleet"
    for key in ("coders.command.env", "store_direct"):
        with pytest.raises(Invalid, match=r"is how .* is shown, not its value"):
            await verbs.configure(fleet, key, found[key].value)


@pytest.mark.parametrize(
    ("key", "value", "error", "told"),
    [
        ("agents", "many", BadConfig, "agents should be a whole number from 1 to 256"),
        ("agnets", "5", BadConfig, "there is no setting 'agnets'"),
        ("coder", "nobody", NotFound, "no coder 'nobody'"),
        ("coders.claude.modle", "opus", BadConfig, "the coder claude has no option modle"),
    ],
)
async def test_a_bad_value_is_refused_and_the_file_stays(
    fleet: Fleet, home: Path, key: str, value: str, error: type[Exception], told: str
) -> None:
    await verbs.configure(fleet, "attempts", "4")
    before = (home / "fleet.toml").read_text()
    with pytest.raises(error, match=told):
        await verbs.configure(fleet.acting_as(OWNER), key, value)
    assert (home / "fleet.toml").read_text() == before


async def test_members_and_agents_neither_see_nor_change_settings(fleet: Fleet) -> None:
    await fleet.create_team("till")
    _, text = await fleet.create_token("till", "ada", Role.TEAM_LEAD)
    agent = fleet.acting_as(AgentOf(run=RunId("k3m9x2pa.1")))
    for other in (await fleet.with_token(text), agent):
        for asked in (verbs.settings, verbs.coders):
            with pytest.raises(Forbidden, match="for the fleet's owner"):
                await asked(other)
        with pytest.raises(Forbidden, match="may not change settings"):
            await verbs.configure(other, "checks", "make test")


async def test_the_owner_changes_a_setting_over_http(owner: httpx2.AsyncClient, home: Path) -> None:
    changed = await owner.post("/settings", json={"key": "checks", "value": "make test"})
    assert changed.json()["value"] == '["make test"]'
    assert 'checks = ["make test"]' in (home / "fleet.toml").read_text()
    refused = await owner.post("/settings", json={"key": "agents", "value": "-3"})
    assert (refused.status_code, "not -3" in refused.json()["detail"]) == (422, True)


async def test_coders_say_if_their_program_is_here(owner: httpx2.AsyncClient) -> None:
    found = {each["name"]: each for each in (await owner.get("/coders")).json()}
    assert (found["claude"]["program"], found["claude"]["path"]) == ("claude", None)
    assert found["claude"]["trouble"].startswith("claude is not installed here: install it (`npm ")
    assert "coders.acp.argv" in found["acp"]["trouble"]
    assert found["scripted"]["trouble"] == ""
