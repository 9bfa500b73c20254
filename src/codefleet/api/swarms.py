"""Verbs about workers, swarms and checkpoints, as HTTP writes them.

Those that need git import the runner when they are called: a server starts without it.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from codefleet.api.again import added
from codefleet.domain.handover import DonePart, TouchedFiles
from codefleet.domain.model import Brief, Checkpoint, Memory, Post, Swarm, Task
from codefleet.domain.moment import span
from codefleet.domain.noun import Name, Noun
from codefleet.domain.validation import checked
from codefleet.domain.views import WorktreeStatus
from codefleet.fleet import Fleet


class WorktreeState(Noun):
    """The branch of a worktree and its commit; `is_new` if something had to be committed."""

    branch: str
    commit: str
    is_new: bool


class NewWorker(Brief):
    """A worker to spawn: its handle, its prompt, and any other field of a task."""

    handle: Name
    prompt: Annotated[str, Meta(min_length=1, max_length=1_000_000)]
    title: Annotated[str, Meta(max_length=200)] = ""


async def commit_worktree(fleet: Fleet, message: str, handle: str | None = None) -> WorktreeState:
    """Commit what is in the worktree of a worker at work; an agent's own without a handle."""
    from codefleet.runner import verbs
    from codefleet.runner.context import Context

    made = await verbs.commit_worktree(Context(fleet), message, handle)
    return WorktreeState(branch=made.branch, commit=made.commit, is_new=made.is_new)


async def push_worktree(fleet: Fleet, handle: str | None = None) -> WorktreeState:
    """Push the branch of a worker to the remote of its repository."""
    from codefleet.runner import verbs
    from codefleet.runner.context import Context

    made = await verbs.push_worktree(Context(fleet), handle)
    return WorktreeState(branch=made.branch, commit=made.commit, is_new=made.is_new)


async def worktree_status(fleet: Fleet, handle: str | None = None) -> WorktreeStatus:
    """What a worker has committed and changed so far; an agent's own work without a handle."""
    from codefleet.runner import verbs
    from codefleet.runner.context import Context

    return await verbs.worktree_status(Context(fleet), handle)


async def spawn(fleet: Fleet, worker: Mapping[str, Any]) -> Task:
    """Put an agent to work under a handle, as soon as a seat is free."""
    checked(NewWorker, worker)
    return await fleet.spawn(**worker)


async def archive_posts(
    fleet: Fleet, swarm: str, ids: Sequence[str] = (), older_than: str | None = None
) -> Sequence[Post]:
    """Take posts off a blackboard: those with these ids, or all that are older than this (`1d`)."""
    age = span(older_than) if older_than else None
    return await fleet.archive_posts(swarm, ids=ids, older_than=age)


async def add_checkpoint(
    fleet: Fleet,
    goal: str,
    now: str,
    author: str | None = None,
    to: str | None = None,
    test: str | None = None,
    done_this_session: Sequence[DonePart] = (),
    blockers: Sequence[str] = (),
    questions: Sequence[str] = (),
    worked: Sequence[str] = (),
    failed: Sequence[str] = (),
    next: Sequence[str] = (),
    files: TouchedFiles | None = None,
) -> Checkpoint:
    """Write down what an agent knows, for whoever goes on: `to`, if that is named."""
    lists = {"blockers": blockers, "questions": questions, "worked": worked, "failed": failed}
    rest = {"to": to, "test": test, "done_this_session": done_this_session, "files": files}
    return await fleet.add_checkpoint(goal, now, author=author, **lists, **rest, next=next)


async def spawned(fleet: Fleet, made: Sequence[str]) -> Task:
    """The task of the worker that a request spawned."""
    return (await added(fleet, made))[0]


async def swarm_made(fleet: Fleet, made: Sequence[str]) -> Swarm:
    """The swarm that a request created."""
    return await fleet.swarm(made[0])


async def checkpoint_made(fleet: Fleet, made: Sequence[str]) -> Checkpoint:
    """The checkpoint that a request wrote."""
    return await fleet.checkpoint(made[0])


async def posted(fleet: Fleet, made: Sequence[str]) -> Post:
    """The post that a request made."""
    return await fleet.read_post(made[0])


async def remembered(fleet: Fleet, made: Sequence[str]) -> Memory:
    """What a request stored, as it is now."""
    _team, repo, handle, key = made[0].split("/", 3)
    return await fleet.recall(key, handle=handle, repo=repo)
