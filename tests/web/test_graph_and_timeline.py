"""What waits for what, and who worked when: the graph and the timeline."""

import re

import pytest
from playwright.async_api import Page, expect

from codefleet.domain.model import Draft
from codefleet.fleet import Fleet
from tests.web.visits import go_to

pytestmark = pytest.mark.slow

PAINT = """\
```fleet
ask Which colour? | red | blue
write fence.txt <<END
{{answer}}
END
commit Paint the fence
```
"""


async def test_the_graph_shows_who_waits_and_what_a_failure_holds_up(
    page: Page, fleet: Fleet
) -> None:
    await go_to(page, "Graph")
    await expect(page.get_by_text("No tasks yet.")).to_be_visible()
    floor, walls, roof, _ = await fleet.add(
        [
            Draft(title="Lay the floor", name="floor", assignee="nobody"),
            Draft(title="Build the walls", name="walls", needs=("floor",)),
            Draft(title="Put on the roof", needs=("walls",)),
            Draft(title="Write a letter", assignee="nobody"),
        ]
    )
    await expect(page.get_by_text("critical path of 3")).to_be_visible()
    await expect(page.get_by_role("link", name="1 more without needs")).to_be_visible()
    first = page.locator(f"[data-row='{floor.id}']")
    await expect(first.get_by_text("holds up 2")).to_be_visible()
    await expect(
        page.locator(f"[data-row='{walls.id}']").get_by_role("img", name="blocked")
    ).to_be_visible()
    await fleet.cancel(floor.id)
    await expect(first.get_by_role("img", name="cancelled")).to_be_visible()
    await expect(page.get_by_role("button", name="hold")).to_have_text(re.compile("holds up 2"))
    for key in ("j", "l", "l"):
        await page.keyboard.press(key)
    await expect(page).to_have_url(re.compile(f"at={roof.id}"))
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile(f"/task/{roof.id}"))


async def test_the_timeline_shows_who_worked_when_and_what_landed(page: Page, fleet: Fleet) -> None:
    (task,) = await fleet.add([Draft(title="Paint the fence", prompt=PAINT)])
    await go_to(page, "Timeline")
    await expect(page.get_by_role("button", name="1 hour")).to_be_visible()
    await page.keyboard.press("1")
    await expect(page).to_have_url(re.compile("span=1h"))
    asked = page.get_by_role("link", name="Paint the fence, asked a question")
    await expect(asked).to_be_visible()
    await fleet.answer(task.id, "red")
    landed = page.get_by_role("link", name="Paint the fence, landed")
    await expect(landed).to_be_visible()
    await expect(page.get_by_role("img", name="landed")).to_be_attached()
    await landed.hover()
    await expect(page.get_by_role("status").get_by_text(f"{task.id}.2")).to_be_visible()
    await page.mouse.move(0, 0)
    for _ in range(8):
        await page.keyboard.press("h")
    await expect(page.get_by_text("No agent was at work in this time.")).to_be_visible()
    await expect(page).to_have_url(re.compile("until="))
    await page.reload()
    await expect(page.get_by_text("No agent was at work in this time.")).to_be_visible()
    await page.keyboard.press("0")
    await expect(landed).to_be_visible()
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile(f"/task/{task.id}"))
