"""What people do in the dashboard, by clicks and keys alone."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, Route, expect

from codefleet.domain.model import Draft, Task
from codefleet.domain.words import LandingMode, State
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.runner.paths import Paths
from tests.script import script
from tests.web.visits import BOUND_MS, go_to

pytestmark = pytest.mark.slow

GREET = """\
```fleet
say I greet.
write greeting.py <<END
def greet(name):
    return "Hello " + name
END
commit Greet
on attempt 2
say I have read your comments.
write greeting.py <<END
def greet(name: str) -> str:
    return f"Hello {name}."
END
commit Greet politely
```
"""
ASK = """\
```fleet
ask Which port? | 8080 | 9090
write port.txt <<END
{{answer}}
END
```
"""


async def landed(page: Page) -> None:
    """Wait until the task on the page is on the trunk."""
    await expect(page.get_by_role("img", name="completed").first).to_be_visible()
    await expect(page.get_by_label("Fields").get_by_text("Landed")).to_be_visible()


@pytest.mark.smoke
async def test_from_an_empty_fleet_to_a_landed_task_by_clicks_alone(
    page: Page, fleet: Fleet
) -> None:
    await expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    await page.get_by_role("button", name="New task").first.click()
    await page.get_by_label("Title").fill("Greet people")
    await page.get_by_label("Prompt").fill(GREET)
    await page.get_by_label("Landing").select_option("review")
    await page.get_by_role("button", name="Add task").click()
    await expect(page.get_by_text("I greet.", exact=True)).to_be_visible()
    await page.get_by_role("link", name="Diff", exact=True).click()
    await page.get_by_role("button", name="Approve and land").click()
    await landed(page)
    (task,) = await fleet.list(TaskQuery())
    assert task.state is State.COMPLETED
    assert task.landed
    await go_to(page, "Now")
    await expect(page.get_by_label("Just landed").get_by_text("Greet people")).to_be_visible()


async def test_a_question_is_answered_where_it_is_shown(page: Page, fleet: Fleet) -> None:
    (task,) = await fleet.add([Draft(title="Choose a port", prompt=ASK)])
    await page.get_by_role("button", name="9090").click()
    await expect(page.get_by_label("Just landed").get_by_text("Choose a port")).to_be_visible()
    assert [it.answer for it in (await fleet.details(task.id)).questions] == ["9090"]


async def test_comments_on_two_lines_reach_the_next_run_and_its_work_lands(
    page: Page, fleet: Fleet
) -> None:
    (task,) = await fleet.add([Draft(title="Greet", prompt=GREET, lands=LandingMode.REVIEW)])
    await page.get_by_role("link", name="Review", exact=True).click()
    for line, said in ((1, "Add types."), (2, "End with a full stop.")):
        await page.locator(f"[data-line='{line}']").hover()
        await page.get_by_role("button", name=f"Comment on line {line}").click()
        await page.get_by_label("Your comment").fill(said)
        await page.get_by_role("button", name="Comment", exact=True).click()
        await expect(page.get_by_label("Your comment")).to_have_count(0)
        await expect(page.get_by_text(said)).to_be_visible()
    await expect(page.get_by_text("2 comments")).to_be_visible()
    await page.get_by_role("button", name="Send back", exact=True).click()
    new = page.locator("[data-kind='+']", has_text='f"Hello {name}."')
    await expect(new).to_be_visible()
    prompt = await prompt_of_last_run(fleet, task)
    assert "greeting.py, line 1:" in prompt
    assert "Add types." in prompt
    assert "End with a full stop." in prompt
    await page.get_by_role("button", name="Approve and land").click()
    await landed(page)


async def test_a_task_is_paused_and_resumed_from_its_page(
    page: Page, fleet: Fleet, tmp_path: Path
) -> None:
    sign = tmp_path / "go"
    prompt = script("say I wait.", f"wait until {sign} 600", "write greeting.txt Hello")
    (task,) = await fleet.add([Draft(title="Greet", prompt=prompt)])
    await page.goto(f"{page.url}task/{task.id}")
    await expect(page.get_by_role("log").get_by_text("I wait.")).to_be_visible()
    moves = page.get_by_role("main").locator("header")
    await moves.get_by_role("button", name="Pause").click()
    await expect(page.get_by_role("img", name="paused")).to_be_visible()
    await expect(moves.get_by_role("button", name="Pause")).to_have_count(0)
    assert (await fleet.get(task.id)).paused
    await go_to(page, "Board")
    await expect(page.get_by_label("Paused").get_by_text("Greet")).to_be_visible()
    await page.go_back()
    sign.touch()
    await moves.get_by_role("button", name="Resume").click()
    await landed(page)
    runs = await fleet.runs_of(task.id)
    assert [run.number for run in runs] == [1, 2]


async def test_keys_alone_lead_from_page_to_page(page: Page, fleet: Fleet) -> None:
    await fleet.add([Draft(title="Wait", assignee="nobody")])
    await expect(page.get_by_label("Next up").get_by_text("Wait", exact=True)).to_be_visible()
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Fields")).to_be_visible()
    await page.keyboard.press(".")
    await expect(page.get_by_role("menuitem", name="Cancel")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.keyboard.type("gb")
    await expect(page.get_by_role("heading", name="Board")).to_be_visible()
    await page.keyboard.press("Control+k")
    await expect(page.get_by_label("Search pages, tasks and commands")).to_be_focused()
    await page.keyboard.type("inbox")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Nothing needs you.")).to_be_visible()


async def prompt_of_last_run(fleet: Fleet, task: Task) -> str:
    *_, run = await fleet.runs_of(task.id)
    return (Paths(fleet.home).run(run) / "prompt.md").read_text()


async def test_the_heading_names_the_page_on_the_screen_while_the_next_one_loads(
    page: Page,
) -> None:
    asked, loaded = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        asked.set()
        await loaded.wait()
        await route.continue_()

    await page.route("**/board-*.js", hold)
    await page.get_by_role("navigation", name="Pages").get_by_role("link", name="Board").click()
    async with asyncio.timeout(BOUND_MS / 1000):
        await asked.wait()
    await expect(page).to_have_url(re.compile("/board$"))
    await expect(page.get_by_role("heading", level=1)).to_have_text("Now")
    loaded.set()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Board")
