"""What people do on the board: carry cards, filter them, keep a view, and look at very many."""

import asyncio
import re
from collections.abc import Callable

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from codefleet.domain.model import Draft, Task
from codefleet.domain.words import Role, State
from codefleet.fleet import Fleet
from codefleet.served import browser_address
from tests.doors.http.conftest import Served
from tests.web.visits import BOUND_MS, go_to

pytestmark = pytest.mark.slow

MANY = 1500


async def waiting(fleet: Fleet, *titles: str) -> list[Task]:
    """Tasks that no agent starts."""
    return list(await fleet.add([Draft(title=title, assignee="nobody") for title in titles]))


def card(page: Page, task: Task, column: str = "") -> Locator:
    """Its card, if it is in this column."""
    within = page.get_by_label(column, exact=True) if column else page
    return within.locator(f"[data-row='{task.id}']")


def place(page: Page, name: str) -> Locator:
    return page.locator(f"[data-place='{name}']")


async def lift(page: Page, task: Task) -> None:
    """Pick a card up and wait until the core has said where it may go."""
    await card(page, task).hover()
    await page.mouse.down()
    await page.mouse.move(600, 500, steps=4)
    await expect(page.locator("[data-takes^='it']").first).to_be_visible()


async def put(page: Page, name: str) -> None:
    """Drop the card that was picked up."""
    there = place(page, name)
    box = await there.bounding_box()
    assert box
    await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    await expect(there).to_have_attribute("data-takes", "it, here")
    await page.mouse.up()


async def until(fleet: Fleet, task: Task, condition: Callable[[Task], bool]) -> None:
    """Wait for the core, which the page does not wait for before it shows a change."""
    async with asyncio.timeout(BOUND_MS / 1000):
        async for _ in fleet.follow(after=0):
            if condition(await fleet.get(task.id)):
                return


async def test_a_card_is_dragged_to_where_the_core_lets_it_go(page: Page, fleet: Fleet) -> None:
    (task,) = await waiting(fleet, "Paint the fence")
    await go_to(page, "Board")
    way: list[tuple[str, str, Callable[[Task], bool]]] = [
        ("paused", "Paused", lambda now: now.paused),
        ("waiting", "Waiting", lambda now: not now.paused),
        ("cancelled", "Cancelled", lambda now: now.state is State.CANCELLED),
        ("waiting", "Waiting", lambda now: now.state is State.PENDING),
    ]
    for name, column, arrived in way:
        await lift(page, task)
        await expect(place(page, "completed")).to_have_attribute("data-takes", "nothing")
        await put(page, name)
        await expect(card(page, task, column)).to_be_visible()
        await expect(page.locator("[data-takes]")).to_have_count(0)
        await until(fleet, task, arrived)
    await expect(page).to_have_url(re.compile("/board$"))  # a drag is no click


async def test_a_card_is_dragged_to_another_priority_of_its_column(
    page: Page, fleet: Fleet
) -> None:
    first, second = await waiting(fleet, "Paint the fence", "Mend the roof")
    await go_to(page, "Board")
    await lift(page, second)
    await expect(place(page, "priority 3")).to_have_text("Priority 3 · now")
    await put(page, "priority 5")
    await expect(card(page, second)).to_contain_text("P5")
    cards = page.get_by_label("Waiting", exact=True).locator("[data-row]")
    await expect(cards.first).to_have_attribute("data-row", second.id)
    await until(fleet, second, lambda now: now.priority == 5)
    assert (await fleet.get(first.id)).priority == 3


async def test_escape_puts_a_card_back(page: Page, fleet: Fleet) -> None:
    (task,) = await waiting(fleet, "Paint the fence")
    await go_to(page, "Board")
    await lift(page, task)
    await page.keyboard.press("Escape")
    await expect(page.locator("[data-takes]")).to_have_count(0)
    box = await place(page, "cancelled").bounding_box()
    assert box
    await page.mouse.move(box["x"] + 8, box["y"] + 80)
    await page.mouse.up()
    await expect(card(page, task, "Waiting")).to_be_visible()
    assert (await fleet.get(task.id)).state is State.PENDING


async def test_keys_carry_a_card_as_a_pointer_does(page: Page, fleet: Fleet) -> None:
    (task,) = await waiting(fleet, "Paint the fence")
    await go_to(page, "Board")
    await expect(card(page, task)).to_be_visible()
    await page.keyboard.press("j")
    await expect(card(page, task)).to_have_attribute("aria-current", "true")
    await page.keyboard.press("?")
    for words in ("Pick up the card", "Priority 5", "The column to the right"):
        await expect(page.get_by_role("dialog").get_by_text(words)).to_be_visible()
    await page.keyboard.press("Escape")
    await page.keyboard.press("4")
    await expect(card(page, task)).to_contain_text("P4")
    await page.keyboard.press("Space")
    status = page.get_by_role("status").filter(has_text="puts it back")
    await expect(status).to_contain_text("Choose a place")
    await page.keyboard.press("h")
    await expect(status).to_contain_text("Cancelled: Cancel")
    await page.keyboard.press("l")
    await expect(status).to_contain_text("Paused: Pause")
    await page.keyboard.press("Enter")
    await expect(card(page, task, "Paused")).to_be_visible()
    await until(fleet, task, lambda now: now.paused)


async def test_a_refused_change_is_taken_back_with_the_cores_own_words(
    browser: Browser, served: Served, fleet: Fleet
) -> None:
    (task,) = await waiting(fleet, "Paint the fence")
    await fleet.cancel(task.id)
    page = await browser.new_page()  # whose console may tell of a refusal
    await page.goto(browser_address(served.url, await fleet.sign_in_code()))
    await go_to(page, "Board")
    await expect(card(page, task, "Cancelled")).to_be_visible()
    await page.keyboard.press("j")
    await page.keyboard.press("5")
    told = page.get_by_role("status")
    await expect(told.get_by_text(f"{task.id} is cancelled")).to_be_visible()
    await expect(told.get_by_text("add a new task instead")).to_be_visible()
    await expect(card(page, task)).to_contain_text("P3")
    await page.close()


async def test_a_visitor_who_may_only_look_can_drop_nothing(
    browser: Browser, served: Served, fleet: Fleet
) -> None:
    await fleet.create_team("till")
    _, text = await fleet.create_token("till", "ada", Role.MONITOR)
    (task,) = await fleet.add([Draft(title="Paint the fence", assignee="nobody", team="till")])
    page = await browser.new_page()
    await page.goto(f"{served.url}/board")
    await page.get_by_label("paste your token").fill(text)
    await page.get_by_role("button", name="Sign in").click()
    await card(page, task).hover()
    await page.mouse.down()
    await page.mouse.move(600, 500, steps=4)
    await expect(page.get_by_text("It may go nowhere")).to_be_visible()
    await expect(page.locator("[data-takes^='it']")).to_have_count(0)
    await page.mouse.up()
    await page.keyboard.press("j")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog").get_by_text("Pick up the card")).to_be_visible()
    await expect(page.get_by_role("dialog").get_by_text("Priority 5")).to_have_count(0)
    await page.close()


async def test_a_view_is_saved_opened_and_deleted(page: Page, fleet: Fleet) -> None:
    await fleet.add(
        [
            Draft(title="Extract the mailer", labels=("mail",), assignee="nobody"),
            Draft(title="Fix the parser", labels=("bug",), assignee="nobody"),
        ]
    )
    await go_to(page, "Board")
    await page.get_by_label("Filter by label").select_option("mail")
    await page.get_by_label("Filter by words").fill("extract")
    await expect(page).to_have_url(re.compile(r"label=mail.*text=extract|text=extract.*label=mail"))
    waits = page.get_by_label("Waiting", exact=True).locator("[data-row]")
    await expect(waits).to_have_count(1)
    await page.get_by_role("button", name="Save view").click()
    await page.get_by_label("Name", exact=True).fill("Mail only")
    await page.get_by_role("button", name="Save", exact=True).click()
    view = page.get_by_role("button", name="Mail only", exact=True)
    await expect(view).to_have_attribute("aria-pressed", "true")
    await page.goto(page.url.partition("?")[0])
    await expect(waits).to_have_count(2)
    await view.click()
    await expect(waits).to_have_count(1)
    await page.keyboard.press("g")
    await page.keyboard.press("n")
    await page.keyboard.press("Control+k")
    await page.get_by_label("Search pages, tasks and commands").fill("mail only")
    await page.keyboard.press("Enter")
    await expect(waits).to_have_count(1)
    await page.get_by_label("Delete the view Mail only").click()
    await expect(view).to_have_count(0)
    await page.reload()
    await expect(waits).to_have_count(1)
    await expect(view).to_have_count(0)


async def test_very_many_tasks_are_a_short_page_and_the_last_can_be_carried(
    page: Page, fleet: Fleet
) -> None:
    tasks = await waiting(fleet, *(f"Task {number}" for number in range(MANY)))
    await go_to(page, "Board")
    column = page.get_by_label("Waiting", exact=True)
    await expect(column.get_by_role("heading")).to_contain_text("1,500")
    assert await page.locator("[data-row]").count() < 100
    last = card(page, tasks[-1])
    bottom = "list => list.scrollTop = list.scrollHeight"
    await page.locator(f"[data-row='{tasks[0].id}'] >> xpath=../..").evaluate(bottom)
    await expect(last).to_be_visible()
    await lift(page, tasks[-1])
    await put(page, "priority 5")
    await expect(card(page, tasks[-1])).to_be_hidden()  # it is at the top now
    await until(fleet, tasks[-1], lambda now: now.priority == 5)
