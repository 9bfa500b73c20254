"""The sample fleet of `make serve`, and every page of it in every look."""

import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple

import httpx2
from playwright.async_api import Browser, Page

from tests.web.visits import BOUND_MS

OPENED = re.compile(r"open (http://\S+)/#code=(\S+)")
READY_WITHIN_S = 90.0
PAGES = {
    "now": "/",
    **{name: f"/{name}" for name in ("board", "graph", "timeline", "inbox", "conflicts", "agents")},
    **{name: f"/{name}" for name in ("workflows", "swarms", "costs", "repos", "teams")},
    **{name: f"/{name}" for name in ("coders", "settings")},
    "search": "/search?q=words",
}
TABS = ("live", "diff", "evidence", "runs", "notes", "events", "cost")
REVIEWED = "Greet whoever starts the program"


class Look(NamedTuple):
    """How a page is looked at."""

    theme: str
    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.theme}-{self.width}"


DESKTOP, PHONE = (1280, 800), (390, 844)
LOOKS = tuple(Look(theme, *size) for size in (DESKTOP, PHONE) for theme in ("light", "dark"))


class Sample(NamedTuple):
    """A served sample fleet, the cookie of somebody who is signed in, and its pages by name."""

    url: str
    cookie: tuple[str, str]
    pages: Mapping[str, str]


@contextmanager
def serve_sample() -> Iterator[Sample]:
    """A sample fleet at work, as soon as it has something of everything."""
    argv = [sys.executable, "-m", "codefleet", "demo", "--serve"]
    env = {**os.environ, "FLEET_HOST": "laptop"}
    pipe, out = subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(argv, env=env, stdout=pipe, stderr=out, text=True) as server:
        try:
            assert server.stdout
            lines = map(OPENED.search, server.stdout)
            url, code = next(found.groups() for found in lines if found)
            with httpx2.Client(base_url=url, headers={"Origin": url}, timeout=BOUND_MS) as client:
                client.post("/session", json={"code": code}).raise_for_status()
                _wait_for_work(client)
                yield Sample(url, next(iter(client.cookies.items())), _pages(client))
        finally:
            server.terminate()
            server.communicate(timeout=60)


def _wait_for_work(client: httpx2.Client) -> None:
    """Wait for reviews, questions, the gate of the workflow, landings and a conflict."""
    until = time.monotonic() + READY_WITHIN_S
    while True:
        board = _read(client, "/board")
        kinds = [need["kind"] for need in board["needs"]]
        is_ready = "review" in kinds and kinds.count("question") >= 3 and board["landed"]
        if is_ready and _read(client, "/conflicts"):
            return
        assert time.monotonic() < until, board
        _read(client, f"/events/changed?after={board['seq']}&within=5")


def _pages(client: httpx2.Client) -> Mapping[str, str]:
    """Every page, with those of a task, a repo, a workflow and a swarm."""
    tasks = _read(client, "/tasks?state=review")["tasks"]
    task = next(each["id"] for each in tasks if each["title"] == REVIEWED)
    repo = _read(client, "/repos")[0]["name"]
    flow = _read(client, "/workflows")[0]["workflow"]["id"]
    swarm = _read(client, "/swarms")[0]["id"]
    return {
        **PAGES,
        **{f"task-{tab}": f"/task/{task}?tab={tab}" for tab in TABS},
        "task-split": f"/task/{task}?tab=diff&view=split",
        "repo": f"/repos/{repo}",
        "workflow": f"/workflows/{flow}",
        "swarm": f"/swarms/{swarm}",
    }


def _read(client: httpx2.Client, path: str) -> Any:
    return client.get(f"/api/v1{path}").raise_for_status().json()


@asynccontextmanager
async def looking(browser: Browser, sample: Sample, look: Look) -> AsyncIterator[Page]:
    """A page in that look, signed in."""
    context = await browser.new_context(
        viewport={"width": look.width, "height": look.height},
        color_scheme="dark" if look.theme == "dark" else "light",
        reduced_motion="reduce",
    )
    name, value = sample.cookie
    await context.add_cookies([{"name": name, "value": value, "url": sample.url}])
    page = await context.new_page()
    page.set_default_timeout(BOUND_MS)
    yield page
    await context.close()


async def show(page: Page, sample: Sample, name: str) -> None:
    """Open a page, and wait until it has read what it shows."""
    await page.goto(sample.url + sample.pages[name])
    await page.locator("[data-connection=live]").wait_for()
    await page.wait_for_load_state("networkidle")
