"""The dashboard in a real Chromium: what it loads, how soon it shows changes, how much it bears.

Beside it stand a bare page that only listens, the same requests without a page, and the goals.
"""

import asyncio
import gzip
import random
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from playwright.async_api import Browser, BrowserContext, Page, Request, async_playwright
from tests.web.chromium import OPTIONS, chromium

from bench import dashboard_scripts as scripts
from bench import filling, http
from bench.row import Row
from codefleet.domain.events import event
from codefleet.domain.model import Event, Task
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery, Write
from codefleet.served import browser_address
from codefleet.wiring import DATABASE, open_fleet
from web.tools import build

SCRIPTS_KB = 300
READY_MS = 1000
SEEN_MS = 100
SHARED_MS = 1000
LONGEST_MS = 100
FLAT = 1.1
BATCH = 500
WARM_UP = 10_000
WITHIN_MS = 120_000
LOOK_AGAIN_S = 0.02
COMPLETED = 0.85
"""The share of tasks that are done: see `bench.history`."""


class Size(NamedTuple):
    """How much is measured."""

    tasks: int
    loads: int
    edits: int
    scrolls: int
    events: int


FULL = Size(tasks=10_000, loads=7, edits=60, scrolls=120, events=100_000)
QUICK = Size(tasks=1000, loads=1, edits=5, scrolls=10, events=2000)


class Bench(NamedTuple):
    """A served fleet, and a browser that is signed in to it."""

    fleet: Fleet
    url: str
    browser: Browser
    context: BrowserContext
    size: Size

    async def open(self, path: str, ready: str) -> Page:
        """A page, as soon as something is on it."""
        page = await self.context.new_page()
        page.set_default_timeout(WITHIN_MS)
        await page.goto(self.url + path)
        await page.locator(ready).first.wait_for()
        return page

    async def open_bare(self) -> Page:
        """An empty page of the same server that only listens to the log."""
        page = await self.context.new_page()
        page.set_default_timeout(WITHIN_MS)
        await page.goto(f"{self.url}/health")
        await page.evaluate(scripts.LISTEN)
        await _value(page, "() => window.isListening")
        return page


def measure(quick: bool) -> Iterator[Row]:
    """Size, start, events, scrolling and memory."""
    build.build()
    size = QUICK if quick else FULL
    filled = http.serving("ours", lambda home: _fill(home, size.tasks))
    with filled as server, asyncio.Runner() as runner:
        rows = _measured(server, size)
        while row := runner.run(_next(rows)):
            yield row


async def _next(rows: AsyncIterator[Row]) -> Row | None:
    return await anext(rows, None)


def _fill(home: Path, tasks: int) -> None:
    home.mkdir(mode=0o700)
    filling.into_sqlite(home / DATABASE, tasks)


async def _measured(server: http.Server, size: Size) -> AsyncIterator[Row]:
    async with _signed_in(server, size) as bench:
        for measured in (
            *(_loading, _reading, _events, _between_browsers),
            *(_scrolling, _panning, _remembering),
        ):
            async for row in measured(bench):
                yield row


@asynccontextmanager
async def _signed_in(server: http.Server, size: Size) -> AsyncIterator[Bench]:
    url = f"http://127.0.0.1:{server.port}"
    program = chromium()
    async with open_fleet(server.home) as fleet, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=list(OPTIONS))
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        bench = Bench(fleet, url, browser, context, size)
        page = await context.new_page()
        await page.goto(browser_address(url, await fleet.sign_in_code()))
        await page.locator("[data-connection=live]").wait_for()
        await page.close()
        yield bench
        await browser.close()


async def _loading(bench: Bench) -> AsyncIterator[Row]:
    """The first page, each time in a browser that has seen nothing but its cookie."""
    took = [await _load(bench) for _ in range(bench.size.loads)]
    assets = (build.PAGE / "assets").glob("*.js")
    every = sum(len(gzip.compress(file.read_bytes())) for file in assets) / 1000
    first = took[0].kilobytes
    yield Row("JavaScript of the first page, gzipped, of 300 KB", first, SCRIPTS_KB, "KB", 1.0)
    yield Row("JavaScript of all pages, beside the first", every, first, "KB", None)
    yield Row("first page usable, of 1 s", median(t.ms for t in took), READY_MS, "ms", 1.0)


class Load(NamedTuple):
    """What the first page weighs, and how soon it can be used."""

    kilobytes: float
    ms: float


async def _load(bench: Bench) -> Load:
    context = await bench.browser.new_context(storage_state=await bench.context.storage_state())
    await context.add_init_script(scripts.when_there("[data-connection=live]", "main section"))
    page = await context.new_page()
    asked: list[Request] = []
    page.on("requestfinished", lambda request: asked.append(request))
    await page.goto(bench.url)
    ms = await _value(page, "() => window.thereAfter")
    sizes = [await each.sizes() for each in asked if each.resource_type == "script"]
    await context.close()
    return Load(sum(each["responseBodySize"] for each in sizes) / 1000, ms)


async def _reading(bench: Bench) -> AsyncIterator[Row]:
    """All tasks on the board, beside the same requests and nothing else."""
    bare = await bench.open_bare()
    raw = float(await bare.evaluate(scripts.READ_ALL))
    await bare.close()
    page = await bench.context.new_page()
    await page.add_init_script(scripts.WHEN_ALL_ARE_COUNTED % bench.size.tasks)
    await page.goto(f"{bench.url}/board")
    ours = await _value(page, "() => window.countedAfter")
    await page.close()
    what = f"a board of {bench.size.tasks:,} tasks opened, beside the requests alone"
    yield Row(what, ours, raw, "ms", None)


async def _events(bench: Bench) -> AsyncIterator[Row]:
    """From before the write to the DOM: a new title on its card, or a number on the bare page."""
    (task,) = await bench.fleet.list(TaskQuery(ready=True, limit=1))
    bare = await bench.open_bare()
    raw = await _seen(bench, bare, task, "bare")
    await bare.close()
    page = await bench.open("/board", f"[data-row='{task.id}']")
    ours = await _seen(bench, page, task, "page")
    await page.close()
    what = f"a change on the board of {bench.size.tasks:,} tasks, p50"
    yield Row(f"{what}, beside a bare page", ours, raw, "ms", None)
    yield Row(f"{what}, of 100 ms", ours, SEEN_MS, "ms", 1.0)


async def _seen(bench: Bench, page: Page, task: Task, where: str) -> float:
    await page.evaluate(scripts.NOTE_CHANGES)
    chance, late = random.Random(1), []
    for number in range(bench.size.edits):
        text = f"Change {number}!"
        begin = time.time()
        await bench.fleet.edit(task.id, title=f"{text} ({where})")
        late.append(await _value(page, "text => window.seen[text]", text) - 1000 * begin)
        await asyncio.sleep(chance.uniform(0.1, 0.5))
    return median(late)


async def _between_browsers(bench: Bench) -> AsyncIterator[Row]:
    """From a click in one browser to what another one shows."""
    (task,) = await bench.fleet.list(TaskQuery(ready=True, limit=1))
    other = await bench.browser.new_context(storage_state=await bench.context.storage_state())
    clicked = await bench.open(f"/task/{task.id}", _button("Pause"))
    shown = await other.new_page()
    await shown.goto(f"{bench.url}/task/{task.id}")
    await shown.locator(_button("Pause")).wait_for()
    took = []
    for _ in range(max(1, bench.size.edits // 6)):
        for button, next_one in (("Pause", "Resume"), ("Resume", "Pause")):
            await shown.evaluate(scripts.NOTE_BUTTON, next_one)
            begin = time.time()
            await clicked.locator(_button(button)).click()
            took.append(await _value(shown, "() => window.buttonThere") - 1000 * begin)
            await clicked.locator(_button(next_one)).wait_for()
    await clicked.close()
    await other.close()
    what = "a click in one browser seen in another"
    yield Row(f"{what}, p50, of 1 s", median(took), SHARED_MS, "ms", 1.0)
    yield Row(f"{what}, slowest, of 1 s", max(took), SHARED_MS, "ms", 1.0)


def _button(name: str) -> str:
    return f"role=button[name=/^{name}/]"


async def _scrolling(bench: Bench) -> AsyncIterator[Row]:
    page = await bench.open("/board", "[aria-label=Completed] [data-row]")
    many = f"{round(bench.size.tasks * COMPLETED):,}"
    await page.locator("[aria-label=Completed] h3", has_text=many).wait_for()
    await page.locator("[aria-label=Completed] [data-row]").first.hover()
    await page.wait_for_load_state("networkidle")
    await page.evaluate(scripts.NOTE_LONG_TASKS)
    for _ in range(bench.size.scrolls):
        await page.mouse.wheel(0, 1500)
        await page.evaluate(scripts.NEXT_FRAME)
    longest = float(await page.evaluate(scripts.LONGEST_TASK))
    await page.close()
    what = f"longest task while {bench.size.tasks:,} tasks are scrolled, of 100 ms"
    yield Row(what, longest, LONGEST_MS, "ms", 1.0)


async def _panning(bench: Bench) -> AsyncIterator[Row]:
    """The graph of all tasks that need another or are needed: one in ten."""
    page = await bench.open("/graph?unfold=true", "article[data-row]")
    for _ in range(4):
        await page.keyboard.press("-")
    await page.mouse.move(640, 400)
    await page.wait_for_load_state("networkidle")
    await page.evaluate(scripts.NOTE_LONG_TASKS)
    await page.mouse.down()
    for step in range(bench.size.scrolls):
        await page.mouse.move(640 - 4 * step, 400 - 2 * step)
        await page.evaluate(scripts.NEXT_FRAME)
    await page.mouse.up()
    for step in range(bench.size.scrolls // 4):
        await page.mouse.wheel(0, 120 if step % 8 < 4 else -120)
        await page.evaluate(scripts.NEXT_FRAME)
    longest = float(await page.evaluate(scripts.LONGEST_TASK))
    await page.close()
    what = f"longest task while a graph of {bench.size.tasks // 10:,} is moved, of 100 ms"
    yield Row(what, longest, LONGEST_MS, "ms", 1.0)


async def _remembering(bench: Bench) -> AsyncIterator[Row]:
    """The page's own memory on the board, before and after many events."""
    page = await bench.open("/board", "[data-row]")
    tasks = await bench.fleet.list(TaskQuery(limit=1000))
    warm_up = min(WARM_UP, bench.size.events)
    await _happen(bench, page, tasks, warm_up)
    before = await _heap_mb(page)
    await _happen(bench, page, tasks, bench.size.events)
    after = await _heap_mb(page)
    await page.close()
    yield Row(f"memory after {bench.size.events:,} events, of before", after, before, "MB", FLAT)


async def _happen(bench: Bench, page: Page, tasks: Sequence[Task], many: int) -> None:
    """Events of all tasks in turn, no faster than the page hears them."""
    store = bench.fleet.core.store
    for first in range(0, many, BATCH):
        now = await store.now()
        some: list[Event] = []
        for number in range(first, first + BATCH):
            task = tasks[number % len(tasks)]
            kind = "task.edited" if number % 10 == 0 else "run.said"
            some.append(event(kind, now, f"Something happened, {number}", task=task))
        told = await store.write(Write(events=some))
        await _value(page, scripts.HAS_HEARD, told[-1].seq)


async def _value(page: Page, script: str, given: object = None) -> float:
    """What the script says as soon as it says something; Playwright's own waiting needs `eval`."""
    async with asyncio.timeout(WITHIN_MS / 1000):
        while not (found := await page.evaluate(script, given)):  # noqa: ASYNC110  # of the page
            await asyncio.sleep(LOOK_AGAIN_S)
    return float(found)


async def _heap_mb(page: Page) -> float:
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("HeapProfiler.collectGarbage")
    used = await devtools.send("Runtime.getHeapUsage")
    await devtools.detach()
    return float(used["usedSize"]) / 1e6
