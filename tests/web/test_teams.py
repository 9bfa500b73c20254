"""What an owner does for others in the dashboard: teams, tokens, repos, alerts and upkeep."""

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from codefleet.domain.model import Draft
from codefleet.domain.words import Role
from codefleet.fleet import Fleet
from tests.doors.http.conftest import Served
from tests.gitrepo import make_repo
from tests.web.visits import go_to, new_page, signed_in, until_live

pytestmark = pytest.mark.slow


async def test_a_token_is_shown_once_signs_its_holder_in_and_out_when_it_is_revoked(
    page: Page, browser: Browser, served: Served, fleet: Fleet
) -> None:
    await go_to(page, "Teams")
    await page.get_by_role("button", name="New team").click()
    await page.get_by_label("Name").fill("till")
    await page.get_by_role("button", name="Create").click()
    await page.get_by_role("button", name="New token").click()
    await page.get_by_label("Handle").fill("ann")
    await page.get_by_label("Role").select_option("monitor")
    await page.get_by_role("button", name="Create").click()
    told = page.get_by_role("dialog", name="The token of ann")
    text = await told.locator("code").inner_text()
    await told.get_by_role("button", name="I have copied it").click()
    await expect(page.get_by_label("Members (1)").get_by_text("ann")).to_be_visible()
    assert text not in await page.content()

    ann = await signed_in(browser, served, text)
    await ann.goto(f"{served.url}/teams")
    await expect(ann.get_by_text("ann, monitor of till")).to_be_visible()
    await expect(ann.get_by_role("button", name="New team")).to_have_count(0)

    (token,) = await fleet.tokens("till")
    await page.get_by_role("button", name=f"Revoke {token.id}").click()
    await expect(page.get_by_label("Tokens (1)").get_by_text("revoked")).to_be_visible()
    await expect(ann.get_by_role("heading", name="Sign in to codefleet")).to_be_visible()


async def test_an_invite_admits_whoever_has_its_secret_until_it_is_withdrawn(
    page: Page, browser: Browser, served: Served, fleet: Fleet
) -> None:
    await fleet.create_team("till")
    await page.goto(f"{served.url}/teams/till")
    await page.get_by_role("button", name="Invite").click()
    await page.get_by_label("How many may join").fill("2")
    await page.get_by_role("dialog").get_by_role("button", name="Invite").click()
    told = page.get_by_role("dialog", name="The secret of the invite")
    secret = await told.locator("code").inner_text()
    await told.get_by_role("button", name="I have copied it").click()
    bob = await new_page(browser)
    await bob.goto(served.url)
    await bob.get_by_role("button", name="I have an invite").click()
    await bob.get_by_label("Team").fill("till")
    await bob.get_by_label("Your handle").fill("bob")
    await bob.get_by_label("Secret of the invite").fill("a guess")
    await bob.get_by_role("button", name="Join").click()
    await expect(bob.get_by_text("this secret admits nobody to till")).to_be_visible()
    await bob.get_by_label("Secret of the invite").fill(secret)
    await bob.get_by_role("button", name="Join").click()
    await until_live(bob)
    await expect(page.get_by_label("Members (1)").get_by_text("bob")).to_be_visible()
    await expect(page.get_by_text("1 more use")).to_be_visible()
    await page.get_by_role("button", name="Withdraw").click()
    await expect(page.get_by_label("Invites (1)")).to_have_count(0)
    assert await fleet.invites("till") == []


async def test_a_team_is_removed_with_a_question_before(
    page: Page, served: Served, fleet: Fleet
) -> None:
    await fleet.create_team("till")
    await page.goto(f"{served.url}/teams/till")
    await page.get_by_role("button", name="Remove…").click()
    await page.get_by_role("button", name="Remove", exact=True).click()
    await expect(page.get_by_text("No team yet")).to_be_visible()
    assert await fleet.teams() == []


async def test_a_repo_is_registered_and_what_is_known_about_it_found(
    page: Page, tmp_path: Path, fleet: Fleet
) -> None:
    folder = make_repo(tmp_path / "till", {"README.md": "A till.\n"}).path
    await go_to(page, "Repos")
    await page.get_by_role("button", name="Register a repo").click()
    await page.get_by_label("Folder on the server's machine").fill(str(folder))
    await page.get_by_role("button", name="Register", exact=True).click()
    await page.get_by_role("link", name="till").click()
    for key, value in (("database", "It listens on port 5433."), ("style", "Tabs.")):
        await page.get_by_role("button", name="Add knowledge").click()
        await page.get_by_label("Key; the same key").fill(key)
        await page.get_by_label("What is so").fill(value)
        await page.get_by_role("button", name="Add", exact=True).click()
        await expect(page.get_by_role("article").filter(has_text=value)).to_be_visible()
    await page.get_by_label("Search the knowledge").fill("port")
    await expect(page.get_by_role("article")).to_have_count(1)
    await page.get_by_role("button", name="Claim files").click()
    await page.get_by_label("Paths or globs").fill("src/**")
    await page.get_by_role("button", name="Claim", exact=True).click()
    await expect(page.get_by_label("Claims on files (1)").get_by_text("src/**")).to_be_visible()
    assert [it.path for it in await fleet.file_claims("till")] == ["src/**"]


async def test_a_folder_that_is_no_repo_is_refused_where_it_was_typed(
    browser: Browser, served: Served
) -> None:
    page = await signed_in(browser, served, served.token)
    await page.goto(f"{served.url}/repos?ask=repo")
    await page.get_by_label("Folder on the server's machine").fill("till")
    await page.get_by_role("button", name="Register", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("is no absolute path")
    await expect(page.get_by_label("Folder on the server's machine")).to_have_value("till")


async def test_a_command_raises_an_alert_that_is_settled_in_the_inbox(
    page: Page, fleet: Fleet
) -> None:
    await page.keyboard.press("Control+k")
    await page.keyboard.type("raise an alert")
    await page.keyboard.press("Enter")
    await page.get_by_label("Raise an alert", exact=True).last.fill("The disk is full")
    await page.get_by_role("button", name="Raise", exact=True).click()
    await go_to(page, "Inbox")
    await expect(page.get_by_text("The disk is full")).to_be_visible()
    await page.get_by_role("button", name="Settle").click()
    await expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    assert await fleet.inbox() == []


async def test_the_palette_offers_only_what_one_may_do(
    page: Page, browser: Browser, served: Served, fleet: Fleet
) -> None:
    await fleet.create_team("till")
    _, text = await fleet.create_token("till", "ann", Role.MONITOR)
    ann = await signed_in(browser, served, text)
    for who, may in ((page, True), (ann, False)):
        await who.keyboard.press("Control+k")
        await expect(who.get_by_role("option", name="Raise an alert…")).to_be_visible()
        for command in ("New task", "New team", "Register a repo", "Clean up…", "Pause the fleet"):
            found = who.get_by_role("option", name=command)
            await expect(found).to_have_count(1 if may else 0)


async def test_a_monitor_sees_only_its_own_team_and_no_button_it_may_not_press(
    browser: Browser, served: Served, fleet: Fleet
) -> None:
    for team in ("till", "web"):
        await fleet.create_team(team)
    _, text = await fleet.create_token("till", "ann", Role.MONITOR)
    await fleet.remember("database", "It listens on port 5433.", repo="shop")
    ann = await signed_in(browser, served, text)
    shown = {"/teams": "Teams (1)", "/teams/till": "Members (1)", "/repos/shop": "Knowledge (0)"}
    for path, section in shown.items():
        await ann.goto(served.url + path)
        await expect(ann.get_by_label(section)).to_be_visible()
        for name in ("New t", "Invite", "Remove", "Register", "Add knowledge", "Claim files"):
            await expect(ann.get_by_role("button", name=name)).to_have_count(0)
    await ann.goto(f"{served.url}/teams/web")
    await expect(ann.get_by_text("no team web")).to_be_visible()


async def test_a_title_that_resembles_an_open_task_shows_that_task(
    page: Page, fleet: Fleet
) -> None:
    await fleet.add([Draft(title="Extract the mailer from checkout", assignee="nobody")])
    await page.keyboard.press("c")
    await page.get_by_label("Title").fill("Extract mailer from the checkout")
    dialog = page.get_by_role("dialog", name="New task")
    await expect(dialog.get_by_text("Is this one of these already?")).to_be_visible()
    await expect(dialog.get_by_text("Extract the mailer from checkout")).to_be_visible()
    await page.get_by_label("Title").fill("Paint the wall")
    await expect(dialog.get_by_text("Is this one of these already?")).to_have_count(0)


async def test_an_export_is_downloaded_and_old_things_are_counted_before_they_go(
    page: Page, fleet: Fleet
) -> None:
    (task,) = await fleet.add([Draft(title="Wait", assignee="nobody")])
    await go_to(page, "Settings")
    async with page.expect_download() as saved:
        await page.get_by_role("link", name="Export the fleet").click()
    lines = Path(await (await saved.value).path()).read_text().splitlines()
    kinds = [json.loads(line) for line in lines]
    assert task.id in [it["body"]["id"] for it in kinds if it["kind"] == "task"]
    await page.get_by_role("button", name="Clean up…").click()
    await expect(page.get_by_text("There is nothing to remove.")).to_be_visible()
    await page.get_by_role("button", name="Close").click()
    await page.get_by_role("button", name="Archive old events…").click()
    await page.get_by_role("button", name="How many?").click()
    await expect(page.get_by_role("dialog").get_by_text("0 events of 0 tasks")).to_be_visible()
