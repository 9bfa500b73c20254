"""`/memory`: what agents learnt about a repository; an agent is named by its handle."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from codefleet.api.swarms import remembered
from codefleet.domain.memory import MemoryType
from codefleet.domain.model import Memory
from codefleet.domain.noun import Instant, Noun
from codefleet.fleet import Fleet

Limit = Annotated[int, Meta(ge=1, le=1000)]
Found = Annotated[int, Meta(ge=1, le=100)]


class MemoryEntry(Noun, rename="camel"):
    """One thing that an agent learnt about a repository."""

    id: str
    agent_id: str
    key: str
    value: str
    tags: Sequence[str]
    memory_type: MemoryType
    repo: str
    created_at: Instant


class MemoryResults(Noun, rename="camel"):
    """The memories that a search found."""

    results: Sequence[MemoryEntry]


class MemoryListing(Noun, rename="camel"):
    """The memories of an agent."""

    memories: Sequence[MemoryEntry]


async def store(
    fleet: Fleet,
    agent_id: str,
    key: str,
    value: str,
    memory_type: MemoryType = MemoryType.FACT,
    tags: Sequence[str] = (),
    repo: str | None = None,
) -> MemoryEntry:
    """Store what an agent learnt; `repo` is needed if the fleet has several."""
    return _entry(
        await fleet.remember(key, value, type=memory_type, tags=tags, handle=agent_id, repo=repo)
    )


async def stored(fleet: Fleet, made: Sequence[str]) -> MemoryEntry:
    """What a request stored, as it is now."""
    return _entry(await remembered(fleet, made))


async def recall(fleet: Fleet, agent: str, key: str, repo: str | None = None) -> MemoryEntry:
    """What an agent stored under a key."""
    return _entry(await fleet.recall(key, handle=agent, repo=repo))


async def search(
    fleet: Fleet,
    query: str,
    agent_id: str | None = None,
    memory_type: MemoryType | None = None,
    limit: Found = 10,
    repo: str | None = None,
) -> MemoryResults:
    """What all agents of the repository stored that has all these words, the newest first."""
    found = await fleet.search_memory(query, type=memory_type, limit=limit, repo=repo)
    return MemoryResults(results=[_entry(each) for each in found])


async def memories(
    fleet: Fleet, agent: str, limit: Limit = 50, repo: str | None = None
) -> MemoryListing:
    """What an agent stored, the newest last."""
    found = await fleet.memories(agent, repo=repo)
    return MemoryListing(memories=[_entry(each) for each in found[-limit:]])


def _entry(memory: Memory) -> MemoryEntry:
    return MemoryEntry(
        id=memory.id,
        agent_id=memory.handle,
        key=memory.key,
        value=memory.value,
        tags=memory.tags,
        memory_type=memory.type,
        repo=memory.repo,
        created_at=memory.stored_at,
    )
