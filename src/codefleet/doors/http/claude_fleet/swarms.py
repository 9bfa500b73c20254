"""`/swarms` and `/blackboard`: groups of agents, and what they post for each other."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any

from msgspec import Meta

from codefleet.domain.model import Post, Swarm
from codefleet.domain.noun import Noun
from codefleet.domain.swarm import PostPriority, PostType
from codefleet.domain.worker import Worker, WorkerState
from codefleet.doors.http.claude_fleet.payload import maybe_milliseconds, milliseconds
from codefleet.fleet import Fleet

Limit = Annotated[int, Meta(ge=1, le=1000)]
MaxAge = Annotated[int, Meta(ge=0, le=10**12)]
DAY_MS = 24 * 60 * 60 * 1000


class SwarmAgent(Noun, rename="camel"):
    """A worker in a swarm."""

    id: str
    handle: str
    state: WorkerState
    depth_level: int


class SwarmView(Noun, rename="camel"):
    """A swarm, with its workers if they were asked for."""

    id: str
    name: str
    description: str
    max_agents: int
    created_at: int
    killed_at: int | None
    agents: Sequence[SwarmAgent] | None = None


class SwarmKilled(Noun, rename="camel"):
    """A swarm that was killed, and the handles of its workers that stop."""

    success: bool = True
    swarm_id: str
    dismissed: Sequence[str]


class BlackboardMessage(Noun, rename="camel"):
    """What is posted on a blackboard; without a `targetHandle`, for everybody."""

    id: str
    swarm_id: str
    sender_handle: str
    message_type: PostType
    target_handle: str | None
    priority: PostPriority
    payload: dict[str, Any]
    read_by: Sequence[str]
    created_at: int
    archived_at: int | None


class MarkedRead(Noun, rename="camel"):
    """How many posts were marked."""

    success: bool = True
    marked: int


class ArchivedPosts(Noun, rename="camel"):
    """How many posts were taken off."""

    success: bool = True
    archived: int


async def create_swarm(
    fleet: Fleet, name: str, description: str = "", max_agents: int = 10
) -> SwarmView:
    """Create a swarm, of which at most `maxAgents` work at once."""
    return _swarm(await fleet.create_swarm(name, description=description, max_agents=max_agents))


async def created_swarm(fleet: Fleet, made: Sequence[str]) -> SwarmView:
    """The swarm that a request created."""
    return _swarm(await fleet.swarm(made[0]))


async def swarms(fleet: Fleet, include_agents: bool = False) -> Sequence[SwarmView]:
    """The swarms that were not killed."""
    found = await fleet.swarms()
    if not include_agents:
        return [_swarm(swarm) for swarm in found]
    workers = await fleet.workers()
    return [_swarm(swarm, [w for w in workers if w.swarm == swarm.id]) for swarm in found]


async def swarm(fleet: Fleet, ref: str) -> SwarmView:
    """A swarm with its workers."""
    found = await fleet.swarm(ref)
    return _swarm(found, await fleet.workers(found.id))


async def kill_swarm(fleet: Fleet, ref: str, graceful: bool = True) -> SwarmKilled:
    """Stop all agents of a swarm; their work is kept. It is always graceful."""
    stopped = await fleet.kill_swarm(ref)
    return SwarmKilled(swarm_id=ref, dismissed=[task.handle or task.id for task in stopped])


async def post(
    fleet: Fleet,
    swarm_id: str,
    sender_handle: str,
    message_type: PostType,
    payload: dict[str, Any],
    target_handle: str | None = None,
    priority: PostPriority = PostPriority.NORMAL,
) -> BlackboardMessage:
    """Post on the blackboard of a swarm, for all its agents or for one."""
    made = await fleet.post(
        swarm_id,
        message_type,
        payload,
        sender=sender_handle,
        target=target_handle,
        priority=priority,
    )
    return _post(made)


async def posted(fleet: Fleet, made: Sequence[str]) -> BlackboardMessage:
    """The post that a request made."""
    return _post(await fleet.read_post(made[0]))


async def read_posts(
    fleet: Fleet,
    swarm: str,
    message_type: PostType | None = None,
    unread_only: bool = False,
    reader_handle: str | None = None,
    priority: PostPriority | None = None,
    limit: Limit = 50,
) -> Sequence[BlackboardMessage]:
    """What is on a blackboard, the most urgent first, then the newest."""
    found = await fleet.read_posts(
        swarm,
        reader=reader_handle,
        type=message_type,
        priority=priority,
        unread_only=unread_only,
        limit=limit,
    )
    return [_post(each) for each in found]


async def mark_read(
    fleet: Fleet, message_ids: Sequence[str], reader_handle: str | None = None
) -> MarkedRead:
    """Mark posts as read by one reader."""
    read = await fleet.mark_posts_read(message_ids, reader=reader_handle)
    return MarkedRead(marked=len(read))


async def archive(fleet: Fleet, message_ids: Sequence[str]) -> ArchivedPosts:
    """Take posts off the blackboards that they are on."""
    gone = 0
    for each in await fleet.swarms(all=True) if message_ids else ():
        gone += len(await fleet.archive_posts(each.id, ids=message_ids))
    return ArchivedPosts(archived=gone)


async def archive_old(fleet: Fleet, swarm: str, max_age_ms: MaxAge = DAY_MS) -> ArchivedPosts:
    """Take all posts off a blackboard that are older than this."""
    age = timedelta(milliseconds=max_age_ms)
    return ArchivedPosts(archived=len(await fleet.archive_posts(swarm, older_than=age)))


def _swarm(swarm: Swarm, workers: Sequence[Worker] | None = None) -> SwarmView:
    return SwarmView(
        id=swarm.id,
        name=swarm.name,
        description=swarm.description,
        max_agents=swarm.max_agents,
        created_at=milliseconds(swarm.created_at),
        killed_at=maybe_milliseconds(swarm.killed_at),
        agents=None if workers is None else [_agent(each) for each in workers],
    )


def _agent(worker: Worker) -> SwarmAgent:
    return SwarmAgent(
        id=worker.run or worker.task,
        handle=worker.handle,
        state=worker.state,
        depth_level=worker.depth + 1,
    )


def _post(made: Post) -> BlackboardMessage:
    return BlackboardMessage(
        id=made.id,
        swarm_id=made.swarm,
        sender_handle=made.sender,
        message_type=made.type,
        target_handle=made.target,
        priority=made.priority,
        payload=made.payload,
        read_by=made.read_by,
        created_at=milliseconds(made.posted_at),
        archived_at=maybe_milliseconds(made.archived_at),
    )
