"""How people come to the dashboard, and from page to page."""

from playwright.async_api import Browser, ConsoleMessage, Page, expect

from codefleet.fleet import Fleet
from codefleet.served import browser_address
from tests.doors.http.conftest import Served

BOUND_MS = 30_000


async def new_page(browser: Browser) -> Page:
    """A page with cookies of its own, as in another browser."""
    page = await browser.new_page()
    page.set_default_timeout(BOUND_MS)
    return page


def errors_of(page: Page) -> list[str]:
    """What goes wrong in a page from here on."""
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if _is_error(said) else None)
    return wrong


def _is_error(said: ConsoleMessage) -> bool:
    """The browser itself tells of refused requests, and of a server that is away.

    A diff may be asked for as its work goes.
    """
    is_told = said.location["url"].endswith("/diff") or "net::ERR_" in said.text
    return said.type == "error" and not is_told


async def sign_in(page: Page, served: Served, fleet: Fleet) -> None:
    """As the human at the machine, by a code."""
    await page.goto(browser_address(served.url, await fleet.sign_in_code()))
    await until_live(page)


async def sign_in_with(page: Page, served: Served, token: str) -> None:
    """As whoever has this token."""
    await page.goto(served.url)
    await page.get_by_label("paste your token").fill(token)
    await page.get_by_role("button", name="Sign in").click()
    await until_live(page)


async def signed_in(browser: Browser, served: Served, token: str) -> Page:
    """A page of whoever has this token, in a browser of its own."""
    page = await new_page(browser)
    await sign_in_with(page, served, token)
    return page


async def until_live(page: Page) -> None:
    """Wait until the page knows all that has happened."""
    await expect(page.locator("[data-connection=live]")).to_be_visible()


async def go_to(page: Page, name: str) -> None:
    """Open a page from the navigation."""
    await page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()
    await expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
