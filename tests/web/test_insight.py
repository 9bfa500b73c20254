"""What people find out in the dashboard: costs, things by words, settings, and coders."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from codefleet.domain.model import Draft
from codefleet.domain.words import Role
from codefleet.fleet import Fleet
from tests.doors.http.conftest import Served
from tests.web.visits import errors_of, go_to, new_page, sign_in, sign_in_with

pytestmark = pytest.mark.slow

WORK = """\
```fleet
usage input=1000 output=200 cost=0.25
write greeting.txt <<END
Hello
END
commit Greet
```
"""


async def test_a_task_that_lands_shows_up_in_the_costs_without_a_reload(
    page: Page, fleet: Fleet
) -> None:
    await go_to(page, "Costs")
    await expect(page.get_by_text("No task ended in this period.")).to_be_visible()
    await expect(page.get_by_text("fleet config set day_budget_usd 20")).to_be_visible()
    await fleet.add([Draft(title="Greet", prompt=WORK)])
    summary = page.get_by_label("Summary")
    await expect(summary).to_contain_text("100 %")
    scores = page.get_by_label("Success and time by coder and model")
    await expect(scores.get_by_role("cell", name="scripted")).to_be_visible()
    await expect(page.get_by_role("img", name="Tasks that ended by hour")).to_be_visible()
    await expect(page.get_by_label("Recent activity")).to_contain_text("task.completed")
    await page.keyboard.press("3")
    await expect(page).to_have_url(re.compile(r"/costs\?hours=720$"))
    await expect(page.get_by_role("img", name="Tasks that ended by day")).to_be_visible()


async def test_words_find_everything_and_the_address_has_the_query(
    page: Page, fleet: Fleet
) -> None:
    (task,) = await fleet.add([Draft(title="Extract the mailer", assignee="nobody")])
    await fleet.remember("mailer", "<b>It</b> sends at night.")
    await page.keyboard.type("gf")
    await page.get_by_label("Search for words").fill("mail")
    tasks = page.get_by_label("Tasks", exact=True)
    await expect(tasks.locator("mark")).to_have_text("mail")
    await expect(page.get_by_label("Knowledge")).to_contain_text("<b>It</b> sends at night.")
    await expect(page.get_by_label("Events")).to_contain_text("task.added")
    await expect(page).to_have_url(re.compile(r"/search\?q=mail$"))
    await page.reload()
    await expect(tasks.locator("mark")).to_have_text("mail")
    await page.keyboard.press("/")
    await expect(page.get_by_label("Search for words")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.get_by_label("Search for words")).to_have_value("mail")
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile(f"/task/{task.id}$"))


async def test_a_setting_is_changed_where_it_stands(page: Page, home: Path) -> None:
    await go_to(page, "Settings")
    row = page.locator("[data-row=attempts]")
    await expect(row).to_be_visible()
    await page.keyboard.press("/")
    await page.keyboard.type("how often attempts")
    await expect(page.locator("[data-row]")).to_have_count(1)
    await page.keyboard.press("Escape")
    await expect(page.get_by_label("Filter by words")).to_have_value("how often attempts")
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await page.get_by_label("New value of attempts").fill("5")
    await page.keyboard.press("Enter")
    await expect(row.get_by_role("button", name="Edit attempts")).to_have_text("5")
    await expect(row).to_contain_text("fleet.toml")
    assert "attempts = 5" in (home / "fleet.toml").read_text()
    await row.get_by_role("button", name="Edit attempts").click()
    await row.get_by_role("button", name="Remove").click()
    await expect(row).to_have_attribute("data-source", "default")


async def test_a_bad_value_is_refused_in_place_with_the_sentence_of_the_core(
    browser: Browser, served: Served, fleet: Fleet
) -> None:
    page = await new_page(browser)
    await sign_in(page, served, fleet)
    await go_to(page, "Settings")
    await page.get_by_role("button", name="Edit attempts").click()
    await page.get_by_label("New value of attempts").fill("many")
    await page.get_by_role("button", name="Save").click()
    refused = page.locator("[data-row=attempts]").get_by_role("alert")
    await expect(refused).to_contain_text("attempts should be a whole number")
    await expect(page.get_by_label("New value of attempts")).to_have_value("many")


async def test_coders_are_shown_with_the_command_that_installs_them(page: Page) -> None:
    await go_to(page, "Coders")
    await expect(page.get_by_role("status").first).to_contain_text("fleet")
    claude = page.locator("[data-coder=claude]")
    await expect(claude).to_contain_text("claude is not installed here")
    await expect(claude.get_by_role("button", name="Copy npm install")).to_be_visible()
    await expect(page.get_by_label("The machine")).to_contain_text("Python")


async def test_a_member_sees_neither_settings_nor_the_machine(
    browser: Browser, served: Served, fleet: Fleet
) -> None:
    await fleet.create_team("till")
    _, text = await fleet.create_token("till", "ada", Role.MONITOR)
    page = await new_page(browser)
    await sign_in_with(page, served, text)
    wrong = errors_of(page)
    for name in ("Settings", "Coders"):
        await go_to(page, name)
        await expect(page.get_by_text("for the fleet's owner")).to_be_visible()
    await go_to(page, "Costs")
    await expect(page.get_by_label("Summary")).to_be_visible()
    assert wrong == []
