"""A token that may only look: no button that the core would refuse, and a core that refuses."""

import asyncio
from collections.abc import Sequence

import pytest
from playwright.async_api import Browser, Page, expect

from codefleet.domain.model import Draft, Swarm, Task
from codefleet.domain.words import LandingMode, Role, State
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from tests.doors.http.conftest import BOUND_S, Served
from tests.script import script
from tests.web.visits import errors_of, new_page, sign_in_with, until_live

pytestmark = pytest.mark.slow

SCRIPTS = {
    State.ASKING: script("ask Which port? | 8080 | 9090"),
    State.REVIEW: script("write hello.txt Hello", "commit Greet"),
    State.FAILED: script("broke unknown I cannot."),
}
PAGES = (
    *("/", "/board", "/graph", "/timeline?span=1h", "/inbox", "/conflicts", "/agents"),
    *("/workflows?start=true", "/swarms", "/swarms?tab=workers", "/swarms?tab=mail"),
    *("/swarms?tab=checkpoints", "/costs", "/search?q=port", "/coders", "/settings"),
)
TABS = ("live", "diff", "evidence", "runs", "notes", "events", "cost")
HARMLESS = {
    *("Search", "Notifications", "Mark as read", "Mark all as read", "Show finished tasks"),
    *("Unified", "Split", "Raise an alert…"),
    *("Earlier", "Later", "1 hour", "6 hours", "1 day", "7 days", "Now", "Zoom in", "Zoom out"),
}
"""Buttons that only change what is shown or has been read, and what monitors are there for."""
BUTTONS = """buttons => buttons
    .filter((button) => button.checkVisibility() && !button.disabled)
    .map((button) => button.ariaLabel || button.firstChild?.textContent?.trim() || "")
"""
ASKED = """async ([method, path, body]) => {
    const headers = body ? { "Content-Type": "application/json" } : {};
    const sent = body ? { body: JSON.stringify(body) } : {};
    const answer = await fetch(`/api/v1${path}`, { method, headers, ...sent });
    const told = await answer.json();
    return [answer.status, told.detail];
}"""
REFUSED: Sequence[tuple[str, str, object, str]] = (
    ("POST", "/tasks", [{"title": "Mine"}], "add tasks"),
    ("PATCH", "/tasks/{task}", {"title": "Mine"}, "edit"),
    ("POST", "/tasks/{task}/pause", None, "pause"),
    ("POST", "/tasks/{task}/cancel", None, "cancel"),
    ("POST", "/tasks/{task}/answer", {"text": "8080"}, "answer"),
    ("POST", "/tasks/{task}/land", {}, "land"),
    ("POST", "/tasks/{task}/reject", {"why": "No."}, "reject"),
    ("POST", "/tasks/{task}/messages", {"text": "Hello"}, "send messages"),
    ("POST", "/pause", None, "pause or resume the whole fleet"),
    ("POST", "/broadcast", {"text": "Hello"}, "send messages to all"),
    ("POST", "/swarms", {"name": "mine"}, "manage swarms"),
    ("POST", "/swarms/{swarm}/kill", None, "manage swarms"),
    ("POST", "/swarms/{swarm}/posts", {"type": "status", "payload": {}}, "talk to other agents"),
    ("POST", "/workers", {"handle": "mine", "prompt": "Look."}, "spawn workers"),
)


@pytest.fixture
async def tasks(fleet: Fleet) -> dict[State, Task]:
    """A task of the team in each state in which others would see a button."""
    await fleet.create_team("till")
    added = await fleet.add(
        [
            Draft(title=f"To be {state}", prompt=prompt, team="till", lands=LandingMode.REVIEW)
            for state, prompt in SCRIPTS.items()
        ]
    )
    return dict(zip(SCRIPTS, added, strict=True))


@pytest.fixture
async def swarm(fleet: Fleet, tasks: dict[State, Task]) -> Swarm:
    made = await fleet.create_swarm("dates", team="till")
    await fleet.post(made.id, "directive", {"text": "Use ISO 8601."})
    return made


@pytest.fixture
async def monitor(browser: Browser, served: Served, fleet: Fleet, tasks: dict[State, Task]) -> Page:
    """The page of a monitor, once the tasks are in their states."""
    _, token = await fleet.create_token("till", "ada", Role.MONITOR)
    page = await new_page(browser)
    await sign_in_with(page, served, token)
    async with asyncio.timeout(BOUND_S):
        while {task.state for task in await fleet.list(TaskQuery())} != SCRIPTS.keys():
            await asyncio.sleep(0.05)
    return page


async def test_a_monitor_sees_no_button_that_it_may_not_press(
    monitor: Page, served: Served, tasks: dict[State, Task], swarm: Swarm
) -> None:
    wrong = errors_of(monitor)
    of_tasks = (f"/task/{task.id}?tab={tab}" for task in tasks.values() for tab in TABS)
    found = {}
    for path in (*PAGES, f"/swarms/{swarm.id}", *of_tasks):
        await monitor.goto(served.url + path)
        await until_live(monitor)
        await monitor.wait_for_load_state("networkidle")
        buttons = set(await monitor.locator("button").evaluate_all(BUTTONS))
        found[path] = buttons - HARMLESS
    assert {path: buttons for path, buttons in found.items() if buttons} == {}
    assert wrong == []


async def test_neither_the_menu_nor_the_palette_offers_a_monitor_what_it_may_not_do(
    monitor: Page, served: Served, tasks: dict[State, Task]
) -> None:
    await monitor.goto(f"{served.url}/task/{tasks[State.REVIEW].id}")
    await expect(monitor.get_by_label("Fields")).to_be_visible()
    await monitor.keyboard.press(".")
    await expect(monitor.get_by_role("menuitem")).to_have_text(["Open"])
    await monitor.keyboard.press("Escape")
    await monitor.keyboard.press("Control+k")
    found = monitor.get_by_role("option")
    await monitor.keyboard.type("task")
    await expect(found.filter(has_text="New task")).to_have_count(0)
    await monitor.get_by_label("Search pages, tasks and commands").fill("fleet")
    await expect(found.filter(has_text="the fleet")).to_have_count(0)


async def test_the_server_refuses_a_monitor_whatever_its_page_asks(
    monitor: Page, fleet: Fleet, tasks: dict[State, Task], swarm: Swarm
) -> None:
    before = await fleet.last_seq()
    task = tasks[State.REVIEW]
    for method, path, body, right in REFUSED:
        at = path.format(task=task.id, swarm=swarm.id)
        status, said = await monitor.evaluate(ASKED, [method, at, body])
        sentence = f"ada@till may not {right}: the role of this token is monitor"
        assert (path, status, said) == (path, 403, sentence)
    assert await fleet.last_seq() == before
