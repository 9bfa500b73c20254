"""Nothing in a page keeps people out who use it differently: axe finds no serious barrier."""

from collections.abc import Sequence

import pytest
from playwright.async_api import Browser, Page

from tests.programs.conftest import at_hand
from tests.web.sample import LOOKS, Look, Sample, looking, show

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FINDINGS = """async () => {
    const found = await axe.run(document, { resultTypes: ["violations"] });
    return found.violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .flatMap(({ id, nodes }) =>
            nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
}"""


@pytest.mark.parametrize("look", LOOKS, ids=str)
async def test_no_page_has_a_serious_barrier(browser: Browser, sample: Sample, look: Look) -> None:
    async with looking(browser, sample, look) as page:
        found = {}
        for name in sample.pages:
            await show(page, sample, name)
            found[name] = await barriers(page)
        assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize("look", LOOKS, ids=str)
async def test_nothing_that_opens_over_a_page_has_a_serious_barrier(
    browser: Browser, sample: Sample, look: Look
) -> None:
    async with looking(browser, sample, look) as page:
        found = {}
        for what, (name, *keys) in OPENED.items():
            await show(page, sample, name)
            for key in keys:
                await page.keyboard.press(key)
            await page.locator("dialog[open], [role=menu]").first.wait_for()
            found[what] = await barriers(page)
        assert {what: about for what, about in found.items() if about} == {}


OPENED = {
    "the palette": ("now", "Control+k"),
    "the form of a new task": ("now", "c"),
    "the help": ("now", "?"),
    "an answer": ("inbox", "j", "a"),
    "a reason": ("task-live", "r"),
    "the menu of a task": ("board", "j", "."),
}
"""What opens over a page, with the page and the keys that open it."""


async def barriers(page: Page) -> Sequence[str]:
    """What axe finds on the page as it is."""
    await page.evaluate(at_hand("axe").read_text())
    found: Sequence[str] = await page.evaluate(FINDINGS)
    return found
