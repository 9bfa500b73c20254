"""Comments on work in review: collected, sent back with it, closed by the decision."""

import asyncio

import pytest

from codefleet.domain.errors import Invalid, NotFound, Refused
from codefleet.domain.model import Decision, Draft, Task
from codefleet.domain.words import LandingMode, State
from codefleet.fleet import Fleet
from codefleet.runner.context import Context
from codefleet.runner.loop import Loop
from tests.doors.http.conftest import BOUND_S

PROMPT = """\
```fleet
write greeting.txt <<END
Hello
END
```
"""


@pytest.fixture
async def work(fleet: Fleet) -> Task:
    """A task whose work waits for a review."""
    (task,) = await fleet.add(
        [Draft(title="Greet", prompt=PROMPT, coder="scripted", lands=LandingMode.REVIEW)]
    )
    loop = Loop(Context(fleet), agents=1)
    running = asyncio.create_task(loop.run())
    async with asyncio.timeout(BOUND_S):
        async for event in fleet.follow():
            if event.kind == "task.submitted":
                break
    loop.stop()
    await running
    return await fleet.get(task.id)


async def test_work_that_is_sent_back_takes_all_comments_along(fleet: Fleet, work: Task) -> None:
    assert work.state is State.REVIEW
    await fleet.comment(work.id, "Say whom.", "greeting.txt", 1, quote="Hello")
    await fleet.comment(work.id, "And end with a dot.", "greeting.txt", 1)
    back = await fleet.reject(work.id)
    assert back.state is State.PENDING
    assert "greeting.txt, line 1:\n> Hello\nSay whom." in back.note
    assert "And end with a dot." in back.note
    (review,) = await fleet.reviews(work.id)
    assert review.decision is Decision.SENT_BACK
    assert review.commit
    with pytest.raises(Refused):
        await fleet.comment(work.id, "Too late.", "greeting.txt")


async def test_a_comment_can_be_withdrawn(fleet: Fleet, work: Task) -> None:
    review = await fleet.comment(work.id, "Say whom.", "greeting.txt", 1)
    left = await fleet.withdraw_comment(work.id, review.comments[0].id)
    assert left.comments == ()
    with pytest.raises(NotFound):
        await fleet.withdraw_comment(work.id, review.comments[0].id)
    with pytest.raises(Invalid, match="needs a reason"):
        await fleet.reject(work.id)
    again = await fleet.comment(work.id, "Say whom.", "greeting.txt", 1)
    assert again.id == review.id


async def test_comments_at_the_same_moment_are_all_kept(fleet: Fleet, work: Task) -> None:
    said = [fleet.comment(work.id, f"Comment {n}", "greeting.txt", n) for n in range(8)]
    await asyncio.gather(*said)
    (review,) = await fleet.reviews(work.id)
    assert {each.line for each in review.comments} == set(range(8))


async def test_landing_closes_the_review(fleet: Fleet, work: Task) -> None:
    await fleet.comment(work.id, "Well done.", "greeting.txt")
    await fleet.land(work.id)
    (review,) = await fleet.reviews(work.id)
    assert review.decision is Decision.LANDED
