"""`/orchestrate`: workers, and what they print; and the worktree of each."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import PurePath
from typing import Annotated

from msgspec import Meta

from codefleet.api import swarms, verbs
from codefleet.domain.errors import NotFound
from codefleet.domain.noun import Noun
from codefleet.domain.worker import Health, Worker, WorkerState
from codefleet.doors.http.claude_fleet.payload import Success, milliseconds
from codefleet.fleet import Fleet

LAST_LINES = 100
Prompt = Annotated[str, Meta(max_length=1_000_000)]
Depth = Annotated[int, Meta(ge=0, le=10)]


class SpawnMode(StrEnum):
    """The ways in which claude-fleet starts an agent; here each is a process of its own."""

    PROCESS = "process"
    TMUX = "tmux"
    NATIVE = "native"


class FleetWorker(Noun, rename="camel"):
    """A worker: a task with a handle, and its last run."""

    id: str
    handle: str
    team_name: str | None
    state: WorkerState
    health: Health
    working_dir: str | None
    session_id: str | None
    spawned_at: int
    current_task_id: str
    restart_count: int
    spawn_mode: SpawnMode
    swarm_id: str | None
    depth_level: int


class WorkerOutput(Noun, rename="camel"):
    """The last lines that a worker printed."""

    handle: str
    state: WorkerState
    output: Sequence[str]


class Sent(Noun, rename="camel"):
    """A message; `isListening` if the agent gets it now rather than in its next run."""

    success: bool = True
    handle: str
    message_id: str
    is_listening: bool


class WorktreeCommit(Noun, rename="camel"):
    """The commit of a worktree."""

    success: bool = True
    handle: str
    branch: str
    commit_hash: str


class Distance(Noun, rename="camel"):
    """How many commits the branch and the trunk have alone."""

    ahead: int
    behind: int


class WorktreeView(Noun, rename="camel"):
    """The worktree of a worker; it `exists` while its agent is at work."""

    handle: str
    exists: bool
    branch: str | None
    has_changes: bool
    ahead_behind: Distance


async def spawn(
    fleet: Fleet,
    handle: str,
    initial_prompt: Prompt,
    team_name: str | None = None,
    working_dir: str | None = None,
    swarm_id: str | None = None,
    model: str | None = None,
    spawn_mode: SpawnMode | None = None,
    depth_level: Depth | None = None,
) -> FleetWorker:
    """Put an agent to work under a handle, in a worktree of its own; it gets the next free seat.

    `workingDir` chooses the repository that contains it. The way to start an agent and its depth
    are the fleet's own.
    """
    repo = await _repo_at(fleet, working_dir) if working_dir is not None else None
    where = {"team": team_name, "swarm": swarm_id, "repo": repo}
    task = await fleet.spawn(handle, initial_prompt, **where, model=model)
    return _written(await fleet.worker(task.id))


async def spawned(fleet: Fleet, made: Sequence[str]) -> FleetWorker:
    """The worker that a request spawned."""
    return _written(await fleet.worker(made[0]))


async def workers(fleet: Fleet) -> Sequence[FleetWorker]:
    """The workers that have not ended."""
    return [_written(worker) for worker in await fleet.workers()]


async def dismiss(fleet: Fleet, handle: str) -> Success:
    """End a worker and all its processes; its work is archived, not lost."""
    await fleet.dismiss(handle)
    return Success(handle=handle)


async def send(fleet: Fleet, handle: str, message: str) -> Sent:
    """Send a message to a worker: read now if it listens, else in its next run."""
    sent = await fleet.send(handle, message)
    return Sent(handle=handle, message_id=sent.id, is_listening=sent.run is not None)


async def sent(fleet: Fleet, made: Sequence[str]) -> Sent:
    """The message that a request sent."""
    found = await fleet.message(made[0])
    task = await fleet.get(found.task) if found.task else None
    handle = (task.handle or task.id) if task else found.to or ""
    return Sent(handle=handle, message_id=found.id, is_listening=found.run is not None)


async def output(fleet: Fleet, handle: str) -> WorkerOutput:
    """The last lines that a worker printed, also after it has ended."""
    worker = await fleet.worker(handle)
    printed = ""
    if worker.run is not None:
        printed = await verbs.output(fleet, worker.task, LAST_LINES)
    return WorkerOutput(handle=handle, state=worker.state, output=printed.splitlines())


async def worktree_status(fleet: Fleet, handle: str) -> WorktreeView:
    """What a worker has committed and changed so far."""
    found = await swarms.worktree_status(fleet, handle)
    return WorktreeView(
        handle=handle,
        exists=found.path is not None,
        branch=found.branch,
        has_changes=found.has_changes,
        ahead_behind=Distance(ahead=found.ahead, behind=found.behind),
    )


async def worktree_commit(fleet: Fleet, handle: str, message: str) -> WorktreeCommit:
    """Commit what is in the worktree of a worker at work, without running hooks."""
    made = await swarms.commit_worktree(fleet, message, handle)
    return WorktreeCommit(handle=handle, branch=made.branch, commit_hash=made.commit)


async def worktree_push(fleet: Fleet, handle: str) -> WorktreeCommit:
    """Push the branch of a worker to the remote of its repository."""
    made = await swarms.push_worktree(fleet, handle)
    return WorktreeCommit(handle=handle, branch=made.branch, commit_hash=made.commit)


async def _repo_at(fleet: Fleet, folder: str) -> str:
    """The repository that contains a folder, by its path alone: nothing is looked up on disk."""
    found = [repo for repo in await fleet.repos() if PurePath(folder).is_relative_to(repo.path)]
    if not found:
        raise NotFound(
            f"no repository of the fleet contains {folder[:80]}",
            hint="leave out workingDir, or run `fleet init` there",
        )
    return max(found, key=lambda repo: len(repo.path)).name


def _written(worker: Worker) -> FleetWorker:
    return FleetWorker(
        id=worker.run or worker.task,
        handle=worker.handle,
        team_name=worker.team,
        state=worker.state,
        health=worker.health,
        working_dir=worker.worktree,
        session_id=worker.session,
        spawned_at=milliseconds(worker.spawned_at),
        current_task_id=worker.task,
        restart_count=worker.restarts,
        spawn_mode=SpawnMode.PROCESS,
        swarm_id=worker.swarm,
        depth_level=worker.depth + 1,
    )
