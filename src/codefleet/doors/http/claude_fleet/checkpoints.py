"""`/checkpoints`: what an agent knows, for whoever goes on."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from codefleet.domain.errors import NotFound
from codefleet.domain.handover import DonePart, TouchedFiles
from codefleet.domain.model import Checkpoint, CheckpointStatus
from codefleet.domain.noun import Noun
from codefleet.doors.http.claude_fleet.payload import Settled, milliseconds
from codefleet.fleet import Fleet

Limit = Annotated[int, Meta(ge=1, le=200)]


class CheckpointContent(Noun, rename="camel"):
    """What the agent wrote down."""

    goal: str
    now: str
    test: str
    done_this_session: Sequence[DonePart]
    blockers: Sequence[str]
    questions: Sequence[str]
    worked: Sequence[str]
    failed: Sequence[str]
    next: Sequence[str]
    files: TouchedFiles


class CheckpointView(Noun, rename="camel"):
    """A checkpoint from one handle, for another or for anybody."""

    id: str
    from_handle: str
    to_handle: str | None
    checkpoint: CheckpointContent
    status: CheckpointStatus
    outcome: str | None
    created_at: int


class CheckpointAccepted(Noun, rename="camel"):
    """The task that goes on from a checkpoint, and the commit that it goes on from."""

    success: bool = True
    id: str
    task_id: str | None
    commit_hash: str | None


async def create_checkpoint(
    fleet: Fleet,
    from_handle: str,
    goal: str,
    now: str,
    to_handle: str | None = None,
    test: str | None = None,
    done_this_session: Sequence[DonePart] = (),
    blockers: Sequence[str] = (),
    questions: Sequence[str] = (),
    next: Sequence[str] = (),
) -> CheckpointView:
    """Write down what an agent knows, for whoever goes on."""
    lists = {"blockers": blockers, "questions": questions, "next": next}
    rest = {"to": to_handle, "test": test, "done_this_session": done_this_session}
    return _view(await fleet.add_checkpoint(goal, now, author=from_handle, **lists, **rest))


async def created_checkpoint(fleet: Fleet, made: Sequence[str]) -> CheckpointView:
    """The checkpoint that a request wrote."""
    return _view(await fleet.checkpoint(made[0]))


async def checkpoint(fleet: Fleet, ref: str) -> CheckpointView:
    """A checkpoint by its id."""
    return _view(await fleet.checkpoint(ref))


async def latest_checkpoint(fleet: Fleet, handle: str) -> CheckpointView:
    """The newest checkpoint that a handle wrote or that is for it."""
    found = await fleet.checkpoints(handle, limit=1)
    if not found:
        raise NotFound(f"no checkpoint of {handle[:80]}", hint="`fleet checkpoints HANDLE`")
    return _view(found[0])


async def list_checkpoints(
    fleet: Fleet, handle: str, limit: Limit = 50
) -> Sequence[CheckpointView]:
    """The checkpoints that a handle wrote or that are for it, the newest first."""
    return [_view(each) for each in await fleet.checkpoints(handle, limit=limit)]


async def accept_checkpoint(fleet: Fleet, ref: str) -> CheckpointAccepted:
    """Let whom it is for go on from a checkpoint, in a worktree with its author's commits."""
    found = await fleet.checkpoint(ref)
    done = await fleet.accept_checkpoint(found.id, found.to)
    task = done.task.id if done.task else None
    return CheckpointAccepted(id=found.id, task_id=task, commit_hash=done.commit)


async def reject_checkpoint(fleet: Fleet, ref: str) -> Settled:
    """Say that nobody goes on from a checkpoint."""
    return Settled(id=(await fleet.reject_checkpoint(ref)).id)


def _view(made: Checkpoint) -> CheckpointView:
    content = CheckpointContent(
        goal=made.goal,
        now=made.now,
        test=made.test,
        done_this_session=made.done_this_session,
        blockers=made.blockers,
        questions=made.questions,
        worked=made.worked,
        failed=made.failed,
        next=made.next,
        files=made.files,
    )
    return CheckpointView(
        id=made.id,
        from_handle=made.author,
        to_handle=made.to,
        checkpoint=content,
        status=made.status,
        outcome=made.outcome or None,
        created_at=milliseconds(made.created_at),
    )
