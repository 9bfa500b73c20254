"""Every page of the sample fleet can be shown as a picture, and fits its screen."""

from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.web.pictures import SHOWN, take
from tests.web.sample import LOOKS, Look, Sample, looking, show

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FITS = """() => [document.documentElement, document.querySelector("main")]
    .every((part) => part.scrollWidth <= part.clientWidth)"""

CUT = """() => [...document.querySelectorAll("body *")]
    .filter((part) => {
        const { textOverflow, webkitLineClamp } = getComputedStyle(part);
        const isCut = (textOverflow === "ellipsis" && part.scrollWidth > part.clientWidth)
            || (webkitLineClamp !== "none" && part.scrollHeight > part.clientHeight + 1);
        return isCut && part.checkVisibility() && !part.closest("[title], svg");
    })
    .map((part) => part.outerHTML.slice(0, 200))"""
"""Texts that are cut off, and that no title shows in full."""


@pytest.mark.parametrize("look", LOOKS[1:3], ids=str)
async def test_a_picture_can_be_taken_of_every_page(
    browser: Browser, sample: Sample, look: Look, tmp_path: Path
) -> None:
    async with looking(browser, sample, look) as page:
        blank = len(await page.screenshot())
    await take(browser, sample, look, tmp_path)
    taken = {picture.name: picture.stat().st_size for picture in tmp_path.iterdir()}
    assert len(taken) == len(SHOWN)
    assert [name for name, size in taken.items() if size < 2 * blank] == []


@pytest.mark.parametrize("look", LOOKS[::2], ids=str)  # a theme changes no sizes
async def test_no_page_scrolls_sideways_or_hides_the_end_of_a_text(
    browser: Browser, sample: Sample, look: Look
) -> None:
    async with looking(browser, sample, look) as page:
        found = {}
        for name in sample.pages:
            await show(page, sample, name)
            found[name] = (await page.evaluate(FITS), await page.evaluate(CUT))
        assert {name: seen for name, seen in found.items() if seen != (True, [])} == {}
