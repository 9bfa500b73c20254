"""How work is reviewed: its diff in both views, in colours, file by file, and the conversation."""

import json
import re

import pytest
from playwright.async_api import Locator, Page, expect

from codefleet.domain.model import Draft, Task
from codefleet.domain.words import LandingMode
from codefleet.fleet import Fleet
from tests.doors.http.conftest import Served
from tests.web.test_stories import prompt_of_last_run

pytestmark = pytest.mark.slow

REPAINT = """\
```fleet
edit README.md 'A shop' 'A red shop'
commit Repaint
on attempt 2
say I have read your comments.
edit README.md 'red' 'blue'
commit Repaint in blue
```
"""
TWO_FILES = """\
```fleet
write a.py <<END
def first(): return 1
END
write b.py <<END
def second(): return 2
END
commit Count
on attempt 2
write b.py <<END
def second(): return 3
END
commit Count on
```
"""
CODE = """\
```fleet
write greeting.py <<END
def greet(name):
    return f"<img src=x onerror=alert(1)>{name}"
END
commit Greet
```
"""
WORK = """\
````fleet
say <<END
I begin with this:
```py
def greet(name): ...
```
END
shell echo one && echo two
write greeting.py <<END
def greet(name): return name
END
commit Greet
````
"""
LINES = 1500


async def in_review(page: Page, fleet: Fleet, prompt: str, title: str = "Repaint") -> Task:
    """Open the diff of work that waits for its review."""
    (task,) = await fleet.add([Draft(title=title, prompt=prompt, lands=LandingMode.REVIEW)])
    row = page.locator("[data-kind=review]", has_text=title)
    await row.get_by_role("link", name="Review", exact=True).click()
    await expect(page.locator("[data-kind='+']").first).to_be_visible()
    return task


async def comment(page: Page, line: Locator, said: str) -> None:
    await line.hover()
    await line.get_by_role("button", name="Comment on line").click()
    await page.get_by_label("Your comment").fill(said)
    await page.get_by_role("button", name="Comment", exact=True).click()
    await expect(page.get_by_label("Your comment")).to_have_count(0)
    await expect(page.get_by_text(said)).to_be_visible()


async def test_both_sides_of_a_split_diff_take_comments_that_reach_the_agent(
    page: Page, fleet: Fleet
) -> None:
    task = await in_review(page, fleet, REPAINT)
    await page.get_by_role("button", name="Split").click()
    await expect(page).to_have_url(re.compile("view=split"))
    await comment(page, page.locator("[data-kind='-']"), "Keep what was here.")
    await comment(page, page.locator("[data-kind='+']"), "Not red.")
    await page.keyboard.press("v")
    await expect(page.get_by_role("button", name="Unified")).to_have_attribute(
        "aria-pressed", "true"
    )
    await expect(page).not_to_have_url(re.compile("view=split"))
    for said in ("Keep what was here.", "Not red."):
        await expect(page.get_by_text(said)).to_be_visible()
    await expect(page.get_by_text("2 comments on the work of")).to_be_visible()
    await page.get_by_role("button", name="Send back").click()
    await expect(page.locator("[data-kind='+']", has_text="A blue shop.")).to_be_visible()
    prompt = await prompt_of_last_run(fleet, task)
    for said in ("line 1, before your change:", "Keep what was here.", "line 1:", "Not red."):
        assert said in prompt


async def test_a_browser_remembers_the_view_and_a_phone_has_only_one(
    page: Page, fleet: Fleet, served: Served
) -> None:
    task = await in_review(page, fleet, REPAINT)
    await page.keyboard.press("v")
    await expect(page).to_have_url(re.compile("view=split"))
    await page.goto(f"{served.url}/task/{task.id}?tab=diff")
    await expect(page).to_have_url(re.compile("view=split"))
    split = page.get_by_role("button", name="Split")
    await expect(split).to_have_attribute("aria-pressed", "true")
    await page.keyboard.press("?")
    await expect(page.get_by_text("Unified or side by side")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.set_viewport_size({"width": 390, "height": 800})
    await expect(split).to_be_hidden()
    lines = page.locator("[data-kind]", has=page.locator("code"))
    added, removed = [await lines.nth(at).bounding_box() for at in (0, 1)]
    assert added is not None
    assert removed is not None
    assert added["y"] != removed["y"]


async def test_what_is_written_stays_when_the_view_changes(page: Page, fleet: Fleet) -> None:
    await in_review(page, fleet, REPAINT)
    line = page.locator("[data-kind='+']")
    await line.hover()
    await line.get_by_role("button", name="Comment on line 1").click()
    await page.get_by_label("Your comment").fill("Half a thought")
    await page.get_by_role("button", name="Split").click()
    await expect(page.get_by_label("Your comment")).to_have_value("Half a thought")


async def test_code_has_colours_and_stays_text(page: Page, fleet: Fleet) -> None:
    await in_review(page, fleet, CODE, "Greet")
    keyword = page.locator("[data-kind='+'] code span", has_text="def")
    await expect(keyword).to_have_text("def")
    line = page.locator("[data-line='2'] code")
    assert await line.inner_text() == '    return f"<img src=x onerror=alert(1)>{name}"'
    assert await page.locator("main img[src]").count() == 0
    inks = await page.evaluate(
        "[...document.querySelectorAll('[data-line] code, [data-line] code span')]"
        ".map((each) => getComputedStyle(each).color)"
    )
    assert len({*inks}) > 3


async def test_a_long_file_is_text_until_one_comes_near(page: Page, fleet: Fleet) -> None:
    body = "\n".join(f"line_{number} = {number}" for number in range(1, LINES + 1))
    await in_review(page, fleet, f"```fleet\nwrite long.py <<END\n{body}\nEND\ncommit Long\n```")
    await expect(page.get_by_label("long.py")).to_contain_text(f"line_{LINES} = {LINES}")
    rows = page.locator("[data-line]")
    assert await rows.count() < LINES / 2
    last = page.locator(f"[data-line='{LINES}']")
    await expect(last).to_have_count(0)
    await page.locator("pre", has_text=f"line_{LINES} ").last.scroll_into_view_if_needed()
    await expect(last.locator("code span", has_text=str(LINES)).last).to_be_attached()
    await last.hover()
    await expect(last.get_by_role("button", name=f"Comment on line {LINES}")).to_be_visible()


async def test_keys_go_from_file_to_file_and_only_what_changes_is_unseen_again(
    page: Page, fleet: Fleet
) -> None:
    await in_review(page, fleet, TWO_FILES, "Count")
    files = page.get_by_label("Files").get_by_role("button")
    seen = page.get_by_role("checkbox", name="seen")
    for key, at in (("n", 0), ("n", 1), ("p", 0)):
        await page.keyboard.press(key)
        await expect(files.nth(at)).to_have_attribute("aria-current", "true")
    await page.keyboard.press("x")
    await expect(seen.nth(0)).to_be_checked()
    await page.keyboard.press("n")
    await page.keyboard.press("x")
    await expect(seen.nth(1)).to_be_checked()
    await expect(page.get_by_text("2 seen")).to_be_visible()
    await page.get_by_label("What should change, in all").fill("Count to three.")
    await page.get_by_role("button", name="Send back").click()
    await expect(page.locator("[data-kind='+']", has_text="return 3")).to_be_visible()
    await expect(seen.nth(0)).to_be_checked()
    await expect(seen.nth(1)).not_to_be_checked()


async def test_the_file_one_is_at_is_in_sight_also_in_a_long_list(page: Page, fleet: Fleet) -> None:
    steps = "\n".join(f"write part{number:02}.py 'x = {number}'" for number in range(40))
    await in_review(page, fleet, f"```fleet\n{steps}\ncommit Parts\n```", "Parts")
    for _ in range(35):
        await page.keyboard.press("n")
    name = "part34.py"
    await expect(page.get_by_label("Files").get_by_role("button", name=name)).to_be_in_viewport()
    await expect(page.get_by_role("region", name=name).locator("header")).to_be_in_viewport()


async def test_a_run_reads_as_a_conversation_whose_lines_unfold(page: Page, fleet: Fleet) -> None:
    draft = Draft(
        title="Greet",
        prompt=WORK,
        checks=("test -f greeting.py", "echo all is well"),
        lands=LandingMode.REVIEW,
    )
    await fleet.add([draft])
    await page.locator("[data-kind=review]").get_by_role("link", name="Greet").click()
    log = page.get_by_role("log")
    await expect(log.get_by_text("I begin with this:", exact=True)).to_be_visible()
    await expect(log.locator("pre span span", has_text="def")).to_have_text("def")
    await log.get_by_text("echo one && echo two").first.click()
    await expect(log.locator("pre", has_text="echo one && echo two")).to_be_visible()
    await log.locator("summary", has_text="greeting.py").first.click()
    await expect(log.locator("[data-kind='+']", has_text="def greet(name)")).to_be_visible()
    checks = log.get_by_label("Checks").get_by_role("listitem")
    await expect(checks).to_have_count(2)
    await expect(checks.nth(0)).to_contain_text("passed")
    await checks.nth(1).locator("summary").click()
    await expect(checks.nth(1).locator("pre")).to_have_text("all is well\n")


async def test_what_an_agent_thinks_is_folded_and_a_call_shows_what_came_out(
    page: Page, fleet: Fleet
) -> None:
    lines: list[dict[str, object]] = [
        {"type": "thought", "text": "Where can it be?\nLet me look."},
        {"type": "tool", "name": "shell", "detail": "ls", "call": "c1"},
        {"type": "tool", "name": "shell", "detail": "pwd", "call": "c2"},
        {"type": "tool", "name": "shell", "done": True, "call": "c1", "result": "README.md"},
    ]
    argv = ["printf", "%s\\n", *map(json.dumps, lines)]
    look = Draft(title="Look", coder="command", options={"argv": argv}, max_attempts=1)
    await fleet.add([look])
    await page.get_by_role("link", name="Look").first.click()
    log = page.get_by_role("log")
    thought = log.get_by_text("Let me look.")
    await expect(thought).to_be_hidden()
    await log.get_by_text("Thinks: Where can it be?").click()
    await expect(thought).to_be_visible()
    await log.locator("summary", has_text="ls").click()
    await expect(log.locator("details", has_text="ls").locator("pre").last).to_have_text(
        "README.md"
    )


async def test_following_lets_go_when_one_scrolls_up(page: Page, fleet: Fleet) -> None:
    await fleet.add([Draft(title="Recite", prompt="```fleet\nrecite 200 100\nwait 600\n```")])
    await page.get_by_role("link", name="Recite").first.click()
    log, follow = page.get_by_role("log"), page.get_by_label("Follow")
    await expect(log.get_by_text("line 200 of 200")).to_be_in_viewport()
    await log.hover()
    await page.mouse.wheel(0, -600)
    await expect(follow).not_to_be_checked()
    await follow.check()
    await expect(log.get_by_text("line 200 of 200")).to_be_in_viewport()
    await page.get_by_label("Raw output").check()
    await expect(page.locator("pre", has_text="line 200 of 200")).to_be_visible()
