"""A served fleet with scripted agents, and a page of it in a real browser, signed in."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from codefleet.fleet import Fleet
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.doors.http.conftest import Served, serving
from tests.faults.conftest import kill_agents
from tests.gitrepo import make_repo
from tests.web.chromium import OPTIONS, chromium
from tests.web.sample import Sample, serve_sample
from tests.web.visits import BOUND_MS, errors_of, new_page, sign_in
from web.tools.build import build

SETTINGS = 'coder = "scripted"\ndurability = "normal"\nrest_s = 0.0\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "fleet.toml").write_text(SETTINGS)
    return tmp_path / "home"


@pytest.fixture
async def fleet(home: Path, tmp_path: Path) -> AsyncIterator[Fleet]:
    """The fleet behind the page."""
    async with open_fleet(home, create=True) as opened:
        await register(opened, make_repo(tmp_path / "shop", {"README.md": "A shop.\n"}).path)
        yield opened
        kill_agents(home)


@pytest.fixture
def served(home: Path, fleet: Fleet) -> Iterator[Served]:
    build()
    with serving(home, "--agents=2") as server:
        yield server


@pytest.fixture(scope="module")
def sample() -> Iterator[Sample]:
    """The sample fleet of `make serve`, at work."""
    build()
    with serve_sample() as served:
        yield served


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    program = chromium()
    expect.set_options(timeout=BOUND_MS)
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=program, args=OPTIONS)
        yield opened
        await opened.close()


@pytest.fixture
async def page(browser: Browser, served: Served, fleet: Fleet) -> AsyncIterator[Page]:
    """The dashboard, signed in by a code; any error in its console fails the test."""
    page = await new_page(browser)
    wrong = errors_of(page)
    await sign_in(page, served, fleet)
    yield page
    assert wrong == []
