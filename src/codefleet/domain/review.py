"""Reviews: what a reviewer says about lines of finished work, and the decision."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from codefleet.domain.ids import ReviewId, TaskId
from codefleet.domain.noun import Instant, Natural, Noun, Record

MOST_COMMENTS = 200
LONGEST_QUOTE = 500

CommentText = Annotated[str, Meta(min_length=1, max_length=10_000)]
FilePath = Annotated[str, Meta(min_length=1, max_length=4096)]


class Decision(StrEnum):
    """How a review ended."""

    LANDED = "landed"
    SENT_BACK = "sent_back"


class Comment(Noun):
    """What somebody says about a line of a file; line 0 stands for the whole file.

    A line that the work `removed` has its number from before.
    """

    id: str
    path: str
    line: Natural = 0
    removed: bool = False
    quote: str = ""
    """The line itself, as the reviewer saw it."""
    text: str
    by: str
    at: Instant


class Review(Record):
    """The comments on a task's work at a commit; open until the work lands or is sent back."""

    id: ReviewId
    task: TaskId
    commit: str | None = None
    comments: tuple[Comment, ...] = ()
    decision: Decision | None = None
    text: str = ""
    by: str = ""
    begun_at: Instant
    decided_at: Instant | None = None
    version: Natural = 0


def reply(review: Review | None, why: str) -> str:
    """What an agent is told about work that is sent back."""
    said = [why.strip()] if why.strip() else []
    if review and review.comments:
        at = f" at {review.commit[:12]}" if review.commit else ""
        said.append(f"Comments on your work{at}:")
        said += map(_told, review.comments)
    return "\n\n".join(said)


def _told(comment: Comment) -> str:
    was = ", before your change" if comment.removed else ""
    where = f"{comment.path}, line {comment.line}{was}" if comment.line else comment.path
    quote = f"\n> {comment.quote}" if comment.quote else ""
    return f"{where}:{quote}\n{comment.text.strip()}"
