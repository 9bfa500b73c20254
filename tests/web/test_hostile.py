"""Hostile text in every field is text: nothing runs, leaves, is injected, or breaks the layout."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, Page, expect

from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from tests.doors.http.conftest import BOUND_S, Served
from tests.web.conftest import SETTINGS
from tests.web.hostile import BIDI, MARKUP, SIGN, STATES, WICKED, Talk, Tasks, add_talk, add_tasks
from tests.web.visits import new_page, sign_in, until_live

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

WIDTHS = (1280, 390)
INJECTED = "img[src=x], iframe, b, i, script:not([src]), [onerror], [href^=javascript]"
READ = "main => main.innerText + [...main.querySelectorAll('input')].map((it) => it.value).join()"
SPILLS = "() => document.documentElement.scrollWidth > innerWidth"
REORDERS = """() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (texts.nextNode()) {
        const { data, parentElement: parent } = texts.currentNode;
        if (!/[\\u202a-\\u202e\\u2066-\\u2069]/.test(data)) continue;
        if (parent.closest("[dir=auto]")) continue;
        const { unicodeBidi, display } = getComputedStyle(parent);
        if (unicodeBidi === "normal" && display === "inline") found.push(parent.outerHTML);
    }
    return found;
}"""
"""Where a bidirectional override would reach beyond its own element."""
NEXT_FRAME = "() => new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)))"
RESPONSIVE_S = 10.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir(mode=0o700)
    settings = f"model = '{MARKUP} {BIDI}'\n{SETTINGS}"
    (tmp_path / "home" / "fleet.toml").write_text(settings)
    return tmp_path / "home"


@pytest.fixture
async def tasks(fleet: Fleet, served: Served) -> Tasks:
    """Tasks whose agents have said and made what is hostile."""
    added = await add_tasks(fleet)
    await settle(fleet, added)
    await fleet.answer(added.answered.id, WICKED)
    await fleet.send(added.asking.id, WICKED)
    await fleet.comment(added.reviewed.id, WICKED, "output.txt", 1)
    return added


@pytest.fixture
async def talk(fleet: Fleet) -> Talk:
    return await add_talk(fleet)


@pytest.fixture
def outside(page: Page, served: Served) -> Iterator[list[str]]:
    """The addresses that the page asks outside of its server."""
    asked: list[str] = []
    own = (served.url, served.url.replace("http:", "ws:"))
    page.on("request", lambda it: asked.append(it.url) if not it.url.startswith(own) else None)
    page.on("websocket", lambda it: asked.append(it.url) if not it.url.startswith(own) else None)
    yield asked
    assert asked == []


async def test_on_no_page_is_hostile_text_more_than_text(
    page: Page, served: Served, tasks: Tasks, talk: Talk, outside: list[str]
) -> None:
    pages = ["/", "/board", "/graph?all=true", "/inbox", "/workflows", f"/workflows/{talk.flow}"]
    pages += ["/swarms", f"/swarms/{talk.swarm}", "/swarms?tab=workers", "/settings"]
    pages += ["/swarms?tab=mail&handle=human", "/swarms?tab=checkpoints&handle=human"]
    pages += ["/search?q=onerror"]
    tabs = ("live", "diff", "evidence", "runs", "notes", "events")
    pages += [f"/task/{tasks.reviewed.id}?tab={tab}" for tab in tabs]
    pages += [f"/task/{tasks.answered.id}?tab=notes", f"/task/{tasks.asking.id}?tab=live"]
    for path in pages:
        await harmless(page, served.url + path)
        await expect(page.get_by_role("main")).to_contain_text(SIGN)


async def test_hostile_text_in_an_address_is_only_text(
    page: Page, served: Served, tasks: Tasks, outside: list[str]
) -> None:
    wicked = quote(f"{MARKUP} {BIDI}", safe="")
    for path in (
        *(f"/search?q={wicked}", f"/board?text={wicked}&repo={wicked}&label={wicked}"),
        *(
            f"/graph?at={wicked}",
            f"/timeline?span={wicked}&until={wicked}",
            f"/costs?hours={wicked}",
        ),
        *(f"/conflicts?open={wicked}", f"/nowhere/{wicked}"),
        *(f"/settings?text={wicked}", f"/workflows?start={wicked}", f"/swarms?tab={wicked}"),
        f"/task/{tasks.reviewed.id}?tab={wicked}",
    ):
        await harmless(page, served.url + path)
    for path in (f"/search?q={wicked}", f"/board?text={wicked}"):
        await page.goto(served.url + path)
        box = page.get_by_role("main").get_by_role("searchbox")
        await expect(box).to_have_value(f"{MARKUP} {BIDI}")


async def test_what_the_core_refuses_in_an_address_is_only_text(
    browser: Browser, served: Served, fleet: Fleet
) -> None:
    page = await new_page(browser)
    await sign_in(page, served, fleet)
    wicked = quote(MARKUP, safe="")
    for path in (f"/swarms?tab=mail&handle={wicked}", f"/task/{wicked}", f"/swarms/{wicked}"):
        await harmless(page, served.url + path)


async def test_a_megabyte_of_text_leaves_the_page_responsive(
    page: Page, served: Served, tasks: Tasks, outside: list[str]
) -> None:
    for tab in ("live", "diff", "evidence", "runs", "notes", "events"):
        await harmless(page, f"{served.url}/task/{tasks.long.id}?tab={tab}")
        async with asyncio.timeout(RESPONSIVE_S):
            await page.keyboard.press("?")
            await page.get_by_role("dialog", name="Keys").wait_for()
            await page.evaluate(NEXT_FRAME)


async def harmless(page: Page, url: str) -> None:
    """Open a page, and see that nothing in it has become more than text."""
    for width in WIDTHS:
        await page.set_viewport_size({"width": width, "height": 800})
        await page.goto(url)
        await until_live(page)
        await page.wait_for_load_state("networkidle")
        assert (url, await page.locator(INJECTED).count()) == (url, 0)
        assert (url, await page.evaluate("window.owned")) == (url, None)
        assert (url, width, await page.evaluate(SPILLS)) == (url, width, False)
        assert (url, await page.evaluate(REORDERS)) == (url, [])


async def settle(fleet: Fleet, tasks: Tasks) -> None:
    """Wait until the agents have come to their ends."""
    wanted = dict(zip((task.id for task in tasks), STATES, strict=True))
    async with asyncio.timeout(2 * BOUND_S):
        while {it.id: it.state for it in await fleet.list(TaskQuery(ids=[*wanted]))} != wanted:
            await asyncio.sleep(0.05)
