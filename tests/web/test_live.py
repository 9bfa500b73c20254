"""The page keeps up: with other people, and with a server that goes away."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, Route, expect

from codefleet.domain.model import Draft, Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.served import browser_address
from tests.doors.http.conftest import BOUND_S, Served, serving
from tests.script import script
from tests.web.visits import go_to, new_page, sign_in, until_live

pytestmark = pytest.mark.slow

CARDS = """sections => Object.fromEntries(
    sections.map((section) => [
        section.getAttribute("aria-label"),
        [...section.querySelectorAll("[data-row]")]
            .map((card) => `${card.dataset.row} ${card.querySelector("a").innerText.trim()}`)
            .sort(),
    ]).filter(([, cards]) => cards.length)
)"""


async def test_two_browsers_see_what_the_other_does(
    page: Page, browser: Browser, served: Served, fleet: Fleet
) -> None:
    other = await new_page(browser)
    await sign_in(other, served, fleet)
    await go_to(other, "Board")
    await page.get_by_role("button", name="New task").first.click()
    await page.get_by_label("Title").fill("Paint the fence")
    await page.get_by_label("Prompt").fill(script("wait 600"))
    await page.get_by_role("button", name="Add task").click()
    await expect(other.get_by_label("Running").get_by_text("Paint the fence")).to_be_visible()
    await other.get_by_role("link", name="Paint the fence").click()
    await other.get_by_role("button", name="Pause").click()
    await expect(page.get_by_role("img", name="paused")).to_be_visible()
    await page.get_by_title("Edit the title").click()
    await page.get_by_label("Title", exact=True).fill("Paint the gate")
    await page.keyboard.press("Enter")
    await expect(other.get_by_role("heading", name="Paint the gate")).to_be_visible()
    await other.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("img", name="cancelled")).to_be_visible()


async def test_nothing_is_missing_after_a_server_was_killed_while_the_page_was_open(
    page: Page, fleet: Fleet, served: Served, tmp_path: Path
) -> None:
    sign = tmp_path / "go"
    work, first, second, third = await fleet.add(
        [
            Draft(title="Greet", prompt=patient(sign)),
            *(Draft(title=f"Wait {number}", assignee="nobody") for number in (1, 2, 3)),
        ]
    )
    await open_events(page, work)
    await page.evaluate("window.isTheSamePage = true")
    await expect(page.get_by_text("I begin.", exact=True)).to_be_visible()
    served.process.kill()
    await expect(page.get_by_text("The server does not answer.")).to_be_visible()
    await fleet.edit(first.id, title="Wait longer")
    await fleet.cancel(second.id)
    await fleet.pause(third.id)
    await fleet.add([Draft(title=f"Meanwhile {n}", assignee="nobody") for n in range(5)])
    sign.touch()
    with serving(fleet.home, f"--port={served.url.rpartition(':')[2]}", "--agents=2"):
        await until_live(page)
        await expect(page.get_by_role("img", name="completed")).to_be_visible()
        await same(lambda: seqs_on(page), lambda: seqs_of(fleet, work))
        await go_to(page, "Board")
        await same(lambda: cards_on(page), lambda: cards_of(fleet))
        assert await page.evaluate("window.isTheSamePage")


async def test_what_could_not_be_read_is_read_once_the_server_is_back(
    page: Page, fleet: Fleet, served: Served
) -> None:
    await fleet.add([Draft(title="Before", assignee="nobody")])
    await go_to(page, "Board")
    await expect(page.get_by_label("Waiting").get_by_text("Before")).to_be_visible()
    await page.route("**/api/v1/**", lose)
    async with page.expect_event("requestfailed", lambda it: "/api/v1/tasks" in it.url):
        await fleet.add([Draft(title="Unread", assignee="nobody")])
    await page.unroute("**/api/v1/**")
    served.process.kill()
    await expect(page.get_by_text("The server does not answer.")).to_be_visible()
    with serving(fleet.home, f"--port={served.url.rpartition(':')[2]}"):
        await until_live(page)
        await expect(page.get_by_label("Waiting").get_by_text("Unread")).to_be_visible()


async def test_a_page_that_could_not_be_loaded_is_offered_again(
    browser: Browser, served: Served, fleet: Fleet
) -> None:
    page = await new_page(browser)
    await page.route("**/assets/costs*", lose)
    await sign_in(page, served, fleet)
    await page.get_by_role("link", name="Costs").click()
    await expect(page.get_by_text("This page could not be loaded.")).to_be_visible()
    await page.unroute("**/assets/costs*")
    await page.get_by_role("button", name="Load it again").click()
    await expect(page.get_by_role("heading", name="Costs", level=1)).to_be_visible()
    await expect(page.get_by_text("This page could not be loaded.")).to_have_count(0)


async def test_a_code_that_signs_nobody_in_says_so(browser: Browser, served: Served) -> None:
    page = await new_page(browser)
    await page.goto(browser_address(served.url, "deadbeef"))
    await expect(page.get_by_role("heading", name="Sign in to codefleet")).to_be_visible()
    await expect(page.get_by_role("status").get_by_text("code")).to_be_visible()


async def test_what_was_typed_for_a_new_task_is_there_when_the_form_opens_again(
    page: Page,
) -> None:
    await page.keyboard.press("c")
    await page.get_by_label("Title").fill("Paint the fence")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.keyboard.press("c")
    await expect(page.get_by_label("Title")).to_have_value("Paint the fence")


def patient(sign: Path) -> str:
    """Work that goes on when the sign is given, whoever watches it by then."""
    return script("say I begin.", f"wait until {sign} 600", "say I go on.", "write hi.txt Hello")


async def lose(route: Route) -> None:
    await route.abort()


async def open_events(page: Page, task: Task) -> None:
    """From the board, so that the page knows all tasks."""
    await go_to(page, "Board")
    await page.get_by_role("link", name=task.title).click()
    await page.get_by_role("link", name="Events", exact=True).click()


async def seqs_on(page: Page) -> list[int]:
    return [int(text) for text in await page.locator("[data-seq]").all_inner_texts()]


async def seqs_of(fleet: Fleet, task: Task) -> list[int]:
    events = await fleet.events(task=task.id, limit=1000)
    return sorted((event.seq for event in events), reverse=True)


async def cards_on(page: Page) -> dict[str, list[str]]:
    found: dict[str, list[str]] = await page.locator("main section").evaluate_all(CARDS)
    return found


async def cards_of(fleet: Fleet) -> dict[str, list[str]]:
    """The board as it should be."""
    found: dict[str, list[str]] = {}
    for task in await fleet.list(TaskQuery()):
        waits = "Paused" if task.paused else "Waiting"
        column = waits if task.state is State.PENDING else task.state.capitalize()
        found.setdefault(column, []).append(f"{task.id} {task.title}")
    return {column: sorted(cards) for column, cards in found.items()}


async def same(
    shown: Callable[[], Awaitable[object]], true: Callable[[], Awaitable[object]]
) -> None:
    """Wait until the page shows what is true."""
    try:
        async with asyncio.timeout(BOUND_S):
            while await shown() != await true():
                await asyncio.sleep(0.05)
    except TimeoutError:
        assert await shown() == await true()
