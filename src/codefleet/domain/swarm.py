"""Swarms: groups of agents with a cap and a blackboard, and what is posted there."""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta

from codefleet.domain.ids import PostId, SwarmId
from codefleet.domain.noun import Instant, Name, Natural, Record

MaxAgents = Annotated[int, Meta(ge=1, le=100)]


class Swarm(Record):
    """A group of agents: the workers of its tasks, of which `max_agents` may be at work at once."""

    id: SwarmId
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    description: Annotated[str, Meta(max_length=10_000)] = ""
    max_agents: MaxAgents = 10
    team: str | None = None
    created_at: Instant
    killed_at: Instant | None = None
    version: Natural = 0


class PostType(StrEnum):
    """What a post is for."""

    REQUEST = "request"
    RESPONSE = "response"
    STATUS = "status"
    DIRECTIVE = "directive"
    CHECKPOINT = "checkpoint"


class PostPriority(StrEnum):
    """How urgent a post is, least urgent first."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    CRITICAL = "critical"


class Post(Record):
    """One entry of a swarm's blackboard; without a `target`, it is for everybody."""

    id: PostId
    swarm: SwarmId
    sender: Name
    type: PostType
    payload: dict[str, Any]
    target: Name | None = None
    priority: PostPriority = PostPriority.NORMAL
    team: str | None = None
    posted_at: Instant
    read_by: tuple[str, ...] = ()
    archived_at: Instant | None = None
    version: Natural = 0

    def is_for(self, reader: str | None) -> bool:
        """May this reader see it? None is a human who looks at the whole blackboard."""
        return reader is None or self.target in (None, reader) or self.sender == reader


_URGENCY = {priority: place for place, priority in enumerate(PostPriority)}


def most_urgent_first(posts: list[Post]) -> list[Post]:
    """By priority, then the newest; the posts are given in the order of their age."""
    newest_first = posts[::-1]
    newest_first.sort(key=lambda post: -_URGENCY[post.priority])
    return newest_first
