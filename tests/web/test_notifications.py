"""Notifications: of what needs somebody, once, in one page, and only if they asked for them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from codefleet.domain.model import Draft, Task
from codefleet.fleet import Fleet
from codefleet.served import browser_address
from tests.doors.http.conftest import Served
from tests.faults.conftest import until
from tests.web.visits import BOUND_MS

pytestmark = pytest.mark.slow

ASK = "```fleet\nask Which port? | 8080 | 9090\n```"
WATCHED = """
window.notified = [];
window.requests = 0;
window.Notification = class {
  static get permission() {
    return localStorage.getItem("granted") ? "granted" : "default";
  }
  static async requestPermission() {
    window.requests += 1;
    localStorage.setItem("granted", "yes");
    return "granted";
  }
  constructor(title, { body, tag }) {
    window.notified.push({ title, body, tag, click: () => this.onclick() });
  }
  close() {}
};
const real = document.hasFocus.bind(document);
document.hasFocus = () => !window.isElsewhere && real();
window.look = (isElsewhere) => {
  window.isElsewhere = isElsewhere;
  dispatchEvent(new Event(isElsewhere ? "blur" : "focus"));
};
"""


@pytest.fixture
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    """A browser that writes down what it would notify of, since this one has no desktop."""
    context = await browser.new_context()
    context.set_default_timeout(BOUND_MS)
    await context.add_init_script(WATCHED)
    yield context
    await context.close()


async def opened(context: BrowserContext, served: Served, fleet: Fleet) -> Page:
    page = await context.new_page()
    await page.goto(browser_address(served.url, await fleet.sign_in_code()))
    await expect(page.locator("[data-connection=live]")).to_be_visible()
    return page


async def ask(fleet: Fleet, title: str) -> Task:
    (task,) = await fleet.add([Draft(title=title, prompt=ASK)])
    return task


async def notified(page: Page) -> list[str]:
    said: list[dict[str, Any]] = await page.evaluate("notified.map(({ title }) => ({ title }))")
    return [each["title"] for each in said]


async def test_nobody_is_notified_or_asked_before_they_want_it(
    context: BrowserContext, served: Served, fleet: Fleet
) -> None:
    page = await opened(context, served, fleet)
    await page.evaluate("look(true)")
    await ask(fleet, "Choose a port")
    await expect(page.get_by_role("button", name="9090")).to_be_visible()
    assert await page.evaluate("requests") == 0
    assert await notified(page) == []
    await page.evaluate("look(false)")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("notify me")
    await page.keyboard.press("Enter")
    bell = page.get_by_role("button", name="Notifications")
    await expect(bell).to_have_attribute("aria-pressed", "true")
    assert await page.evaluate("requests") == 1
    await bell.click()
    await expect(bell).to_have_attribute("aria-pressed", "false")


async def test_what_needs_you_is_told_once_while_you_are_elsewhere_and_opens_at_a_click(
    context: BrowserContext, served: Served, fleet: Fleet
) -> None:
    page = await opened(context, served, fleet)
    await page.get_by_role("button", name="Notifications").click()
    await ask(fleet, "Seen at once")
    await known(page, 1)
    await page.evaluate("look(true)")
    task = await ask(fleet, "Choose a port")
    await until(lambda: notified(page))
    assert await notified(page) == ["Question: Choose a port"]
    assert await page.evaluate("notified[0].body") == "Which port?"
    await page.evaluate("notified[0].click()")
    await expect(page.get_by_role("heading", name="Choose a port")).to_be_visible()
    assert page.url == f"{served.url}/task/{task.id}"
    await page.reload()
    await expect(page.get_by_role("heading", name="Choose a port")).to_be_visible()
    await page.evaluate("look(true)")
    await ask(fleet, "Another")
    await until(lambda: notified(page))
    assert await notified(page) == ["Question: Another"]


async def test_of_several_pages_one_notifies_and_none_while_one_is_looked_at(
    context: BrowserContext, served: Served, fleet: Fleet
) -> None:
    pages = [await opened(context, served, fleet) for _ in range(3)]
    await pages[0].get_by_role("button", name="Notifications").click()
    for page in pages:
        bell = page.get_by_role("button", name="Notifications")
        await expect(bell).to_have_attribute("aria-pressed", "true")
    for page in pages[:2]:
        await page.evaluate("look(true)")
    await ask(fleet, "Seen in the third")
    await known(pages[0], 1)
    await pages[2].evaluate("look(true)")
    await ask(fleet, "Seen in none")
    await known(pages[0], 2)
    assert await told_by(pages) == ["Question: Seen in none"]
    (teller,) = [page for page in pages if await notified(page)]
    await teller.close()
    others = [page for page in pages if page is not teller]
    await ask(fleet, "Told by another")
    await known(others[0], 3)
    assert await told_by(others) == ["Question: Told by another"]


async def test_a_conflict_is_told_once_for_both_of_its_tasks(
    context: BrowserContext, served: Served, fleet: Fleet
) -> None:
    page = await opened(context, served, fleet)
    await page.get_by_role("button", name="Notifications").click()
    await page.evaluate("look(true)")
    await fleet.add([conflicting("red"), conflicting("blue")])
    await until(lambda: notified(page))
    assert await notified(page) == ["Conflict"]
    await page.evaluate("notified[0].click()")
    await expect(page.get_by_label("Conflict in README.md")).to_be_visible()
    assert await notified(page) == ["Conflict"]


def conflicting(word: str) -> Draft:
    steps = f"edit README.md 'A shop' 'A {word} shop'\ncommit Paint it\nwait 600"
    return Draft(title=f"Paint it {word}", prompt=f"```fleet\n{steps}\n```")


async def known(page: Page, many: int) -> None:
    """Wait until the browser has seen to so many things, whether it notified of them or not."""
    things = "JSON.parse(localStorage.getItem('notified of') ?? '[]').length"

    async def has_seen_to_it() -> bool:
        return bool(await page.evaluate(things) == many)

    await until(has_seen_to_it)


async def told_by(pages: list[Page]) -> list[str]:
    return [title for page in pages for title in await notified(page)]
