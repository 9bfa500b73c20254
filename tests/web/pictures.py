"""Take the pictures of the dashboard in docs/pictures, from the sample fleet of `make serve`.

`python -m tests.web.pictures` takes them all again.
"""

import asyncio
from pathlib import Path

from playwright.async_api import Browser, async_playwright

from tests.web.chromium import OPTIONS, chromium
from tests.web.sample import LOOKS, PAGES, PHONE, Look, Sample, looking, serve_sample, show
from web.tools.build import build

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
SHOWN = {**{name: name for name in PAGES}, "task": "task-live", "review": "task-diff"}
"""What a picture is called, and the page that it shows."""


def main() -> None:
    build()
    PICTURES.mkdir(exist_ok=True)
    with serve_sample() as sample:
        asyncio.run(_take_all(sample))


async def _take_all(sample: Sample) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=OPTIONS)
        for look in LOOKS:
            await take(browser, sample, look, PICTURES)
        await browser.close()


async def take(browser: Browser, sample: Sample, look: Look, folder: Path) -> None:
    """Take a picture of every page in this look."""
    async with looking(browser, sample, look) as page:
        for name, shown in SHOWN.items():
            await show(page, sample, shown)
            await page.screenshot(path=folder / f"{name}{_suffix(look)}.png")


def _suffix(look: Look) -> str:
    is_phone = (look.width, look.height) == PHONE
    return ("-phone" if is_phone else "") + ("-dark" if look.theme == "dark" else "")


if __name__ == "__main__":
    main()
