"""What people do about agents that work together: conflicts, seats, workflows, swarms."""

import re

import pytest
from playwright.async_api import Browser, Page, expect

from codefleet.domain.model import Draft
from codefleet.domain.words import LandingMode
from codefleet.fleet import Fleet
from codefleet.runner import verbs
from tests.doors.http.conftest import Served
from tests.web.visits import go_to, new_page, sign_in_with

pytestmark = pytest.mark.slow

GATED = """\
name: paint
stages:
  - name: choose
    prompt: |
      ```fleet
      result {"status": "completed_no_changes", "summary": "Blue is calm."}
      ```
  - name: approve
    needs: [choose]
    gate: "{choose.summary} Go on?"
  - name: paint
    needs: [approve]
    prompt: |
      ```fleet
      write wall.txt blue
      result completed Painted the wall
      ```
"""


def draft(title: str, word: str) -> Draft:
    """Work on the first line of the README, which goes on until it is stopped."""
    steps = f"edit README.md 'A shop' 'A {word} shop'\ncommit {title}\nsay Done so far.\nwait 600"
    prompt = f"```fleet\n{steps}\n```"
    return Draft(title=title, prompt=prompt, lands=LandingMode.REVIEW)


async def test_both_sides_of_a_conflict_are_shown_and_one_is_cancelled(
    page: Page, fleet: Fleet
) -> None:
    await fleet.add([draft("Paint it red", "red"), draft("Paint it blue", "blue")])
    await go_to(page, "Conflicts")
    conflict = page.get_by_label("Conflict in README.md")
    for word in ("red", "blue"):
        line = conflict.locator("[data-kind='+']", has_text=f"A {word} shop.")
        await expect(line).to_be_visible()
    await expect(conflict.locator("[data-collides=true]")).to_have_count(1)
    await conflict.get_by_role("button", name="Cancel").first.click()
    await expect(page.get_by_text("Nothing collides.")).to_be_visible()


async def test_a_collision_is_shown_on_both_tasks_until_one_is_cancelled(
    page: Page, served: Served, fleet: Fleet
) -> None:
    red, blue = await fleet.add([draft("Paint it red", "red"), draft("Paint it blue", "blue")])
    await go_to(page, "Board")
    for task in (red, blue):
        mark = page.locator(f"[data-row='{task.id}']").get_by_role("link", name="conflict")
        await expect(mark).to_have_attribute("title", re.compile("the same lines of README.md"))
    for task, other in ((red, blue), (blue, red)):
        await page.goto(f"{served.url}/task/{task.id}")
        note = page.locator("[data-conflict]")
        await expect(note).to_contain_text("README.md")
        await expect(note.get_by_role("link", name=other.title)).to_be_visible()
    await page.locator("[data-conflict]").get_by_role("link", name="Compare").click()
    await expect(page.get_by_label("Conflict in README.md")).to_be_visible()
    await page.go_back()
    await fleet.cancel(red.id)
    await expect(page.locator("[data-conflict]")).to_have_count(0)


async def test_an_agent_is_paused_from_its_seat_and_the_fleet_as_a_whole(
    page: Page, fleet: Fleet
) -> None:
    (task,) = await fleet.add([draft("Paint it red", "red")])
    await go_to(page, "Agents")
    seat = page.locator("[data-state=working]")
    await expect(seat.get_by_text("Done so far.")).to_be_visible()
    await page.get_by_role("button", name="Pause the fleet").click()
    await expect(page.get_by_text("nothing new starts")).to_be_visible()
    await seat.get_by_role("button", name="Pause", exact=True).click()
    await expect(seat).to_have_count(0)
    assert (await fleet.get(task.id)).paused
    await page.get_by_role("button", name="Resume the fleet").click()
    await expect(page.get_by_role("button", name="Pause the fleet")).to_be_visible()


async def test_a_workflow_is_pasted_and_its_gate_answered_in_place(
    page: Page, fleet: Fleet
) -> None:
    await go_to(page, "Workflows")
    await expect(page.get_by_text("No workflow yet.")).to_be_visible()
    await page.keyboard.press("s")
    await page.get_by_label("Plan, as YAML or JSON").fill(GATED)
    await page.get_by_role("button", name="Start", exact=True).click()
    needs_you = page.get_by_role("region", name="Needs you")
    await expect(needs_you.get_by_text("Blue is calm. Go on?")).to_be_visible()
    await page.get_by_role("button", name="approve").click()
    results = page.get_by_label("Results")
    await expect(results.get_by_text("Painted the wall")).to_be_visible()
    await page.get_by_role("button", name="Clean up").click()
    await expect(page.get_by_label("Cleaned up")).to_be_visible()
    (flow,) = await fleet.workflows()
    assert flow.workflow.name == "paint"


async def test_a_plan_that_is_wrong_is_refused_with_the_sentence_of_the_core(
    browser: Browser, served: Served
) -> None:
    page = await new_page(browser)
    await sign_in_with(page, served, served.token)
    await page.goto(f"{served.url}/workflows?start=true")
    await page.get_by_label("Plan, as YAML or JSON").fill(GATED.replace("[choose]", "[chose]"))
    await page.get_by_role("button", name="Start", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("stage 2 (approve)")


async def test_a_swarm_is_made_talks_and_is_killed(page: Page, fleet: Fleet) -> None:
    await go_to(page, "Swarms")
    await page.get_by_role("button", name="New swarm").click()
    await page.get_by_label("Name").fill("dates")
    await page.get_by_role("button", name="Create").click()
    await page.get_by_role("link", name="dates").click()
    await page.get_by_role("button", name="Spawn a worker").click()
    await page.get_by_label("Handle").fill("scout")
    await page.get_by_label("Prompt").fill("```fleet\nsay I look around.\nwait 600\n```")
    await page.get_by_role("button", name="Spawn", exact=True).click()
    await page.get_by_role("button", name="Output").click()
    await expect(page.locator("pre")).to_be_visible()
    await page.get_by_label("Post", exact=True).fill("Use ISO 8601.")
    await page.get_by_role("button", name="Post", exact=True).click()
    post = page.get_by_role("article").filter(has_text="Use ISO 8601.")
    await post.get_by_role("button", name="Mark as read").click()
    await expect(post.get_by_role("img", name="read", exact=True)).to_be_visible()
    await page.get_by_label("Filter by type").select_option("status")
    await expect(post).to_have_count(0)
    await page.get_by_label("Filter by type").select_option("directive")
    await post.get_by_role("button", name="Archive").click()
    await expect(post).to_have_count(0)
    await page.get_by_role("button", name="Kill…").click()
    await page.get_by_role("button", name="Kill", exact=True).click()
    await expect(page.get_by_text("killed", exact=False).first).to_be_visible()
    assert await fleet.swarms() == []


async def test_the_work_of_a_worker_is_committed_before_it_ends(page: Page, fleet: Fleet) -> None:
    steps = "write wall.txt blue\nsay I paint.\nwait 600"
    task = await fleet.spawn(handle="painter", prompt=f"```fleet\n{steps}\n```")
    await page.goto(f"{page.url}swarms?tab=workers")
    await page.get_by_role("button", name="Output").click()
    await expect(page.locator("pre")).to_contain_text("I paint.")
    await page.get_by_role("button", name="Commit…").click()
    await page.get_by_label("Message", exact=True).fill("Paint the wall")
    await page.get_by_role("button", name="Commit", exact=True).click()
    await expect(page.get_by_text("1 commit ahead of the trunk")).to_be_visible()
    assert "wall.txt" in await verbs.diff(fleet, task.id)


async def test_mail_is_written_and_a_checkpoint_accepted(page: Page, fleet: Fleet) -> None:
    await fleet.add_checkpoint("Dates in ISO 8601", "The parser is done", author="parser")
    await go_to(page, "Swarms")
    await page.get_by_role("link", name="Mail and handoffs").click()
    await page.get_by_role("button", name="Write").click()
    await page.get_by_label("To", exact=True).fill("human")
    await page.get_by_label("Text").fill("The parser keeps time zones.")
    await page.get_by_role("button", name="Send").click()
    await page.get_by_role("button", name="Mark as read").click()
    await expect(page.get_by_role("img", name="read", exact=True)).to_be_visible()
    await page.goto(f"{page.url.split('?')[0]}?tab=checkpoints&handle=parser")
    await page.get_by_role("button", name="Accept…").click()
    await page.get_by_label("Who goes on: a handle").fill("tester")
    await page.get_by_role("button", name="Accept", exact=True).click()
    await expect(page.get_by_text("accepted by tester")).to_be_visible()
    assert (await fleet.worker("tester")).handle == "tester"
