"""Reviews: comments on lines of work, collected until it lands or goes back to its agent."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

from codefleet.domain.access import Right
from codefleet.domain.errors import NotFound, Refused
from codefleet.domain.events import event
from codefleet.domain.ids import ReviewId
from codefleet.domain.lifecycle import is_reviewable
from codefleet.domain.model import Comment, Decision, Event, Review, Task
from codefleet.domain.noun import Natural
from codefleet.domain.review import LONGEST_QUOTE, MOST_COMMENTS, CommentText, FilePath
from codefleet.domain.run import last_made
from codefleet.fleet.child_tasks import Families
from codefleet.fleet.core import Core
from codefleet.ports import Store, Write


class Reviews(Families):
    async def reviews(self, ref: str) -> Sequence[Review]:
        """The reviews of a task's work with their comments, oldest first; the last may be open."""
        task = await self.core.get(ref)
        await self.permit_reading(task.id)
        return await self.core.store.records(Review, tasks=[task.id])

    async def comment(
        self,
        ref: str,
        text: CommentText,
        path: FilePath,
        line: Natural = 0,
        removed: bool = False,
        quote: str = "",
    ) -> Review:
        """Comment on a line of work in review; the agent gets all comments when it is sent back."""
        by, quote = str(self.core.actor), quote[:LONGEST_QUOTE]
        about: dict[str, Any] = {"path": path, "line": line, "removed": removed}

        async def step(task: Task) -> Write:
            review = await open_review(self.core.store, task) or await self._new(task)
            if len(review.comments) >= MOST_COMMENTS:
                raise Refused(
                    f"a review has at most {MOST_COMMENTS} comments",
                    hint="send the work back first",
                )
            now = await self.core.store.now()
            said = Comment(id=_new_id("c"), **about, quote=quote, text=text, by=by, at=now)
            told = event("review.commented", now, text, task=task, review=review.id)
            return _noted(task, review, (*review.comments, said), told)

        return await self._changed(ref, step)

    async def withdraw_comment(self, ref: str, comment: str) -> Review:
        """Take a comment out of the open review of a task's work."""

        async def step(task: Task) -> Write:
            review = await open_review(self.core.store, task)
            kept = tuple(each for each in review.comments if each.id != comment) if review else ()
            if review is None or len(kept) == len(review.comments):
                raise NotFound(f"no comment {comment[:80]}", hint="the page of the task lists them")
            now = await self.core.store.now()
            told = event("review.withdrew", now, task=task, review=review.id)
            return _noted(task, review, kept, told)

        return await self._changed(ref, step)

    async def _changed(self, ref: str, step: Callable[[Task], Awaitable[Write]]) -> Review:
        """The open review after a step, which nobody else's step or decision comes in between."""
        task = await self.core.get(ref)
        await self.core.permit(Right.REJECT, task)

        async def in_review(task: Task) -> Write:
            _refuse_others(task)
            return await step(task)

        task = await self.core.change(task.id, in_review)
        review = await open_review(self.core.store, task)
        return review or (await self.core.store.records(Review, tasks=[task.id]))[-1]

    async def _new(self, task: Task) -> Review:
        run = last_made(await self.core.store.runs(tasks=[task.id]))
        now = await self.core.store.now()
        return Review(
            id=ReviewId(_new_id("v")), task=task.id, commit=run.made if run else None, begun_at=now
        )


def _refuse_others(task: Task) -> None:
    if not is_reviewable(task):
        raise Refused(
            f"{task.id} is {task.state}; only work in review can be commented on",
            hint=f"`fleet show {task.id}` shows what it waits for",
        )


def _noted(task: Task, review: Review, comments: tuple[Comment, ...], told: Event) -> Write:
    """The review with these comments. The task changes too: whoever decides has to look again."""
    is_new = not review.comments and not review.version
    after = review.evolve(comments=comments, version=0 if is_new else review.version + 1)
    return Write(tasks=[task.evolve(version=task.version + 1)], records=[after], events=[told])


async def open_review(store: Store, task: Task) -> Review | None:
    """The review of this task that nobody has decided yet."""
    found = await store.records(Review, tasks=[task.id], open_only=True)
    return found[-1] if found else None


async def decided(
    core: Core, task: Task, decision: Decision, now: datetime, text: str = ""
) -> list[Review]:
    """The open review of this task, if there is one, with the decision."""
    review = await open_review(core.store, task)
    if review is None:
        return []
    how = {"decision": decision, "text": text, "by": str(core.actor), "decided_at": now}
    return [review.evolve(**how, version=review.version + 1)]


def _new_id(letter: str) -> str:
    import secrets  # imported here, because it is slow and few commands need it

    return f"{letter}-{secrets.token_hex(6)}"
