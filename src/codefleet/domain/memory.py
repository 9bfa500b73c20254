"""Memories: what agents of a repo learnt, for those who come after them."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from codefleet.domain.noun import Instant, Name, Natural, Record


class MemoryType(StrEnum):
    """What kind of thing was learnt."""

    FACT = "fact"
    DECISION = "decision"
    PATTERN = "pattern"
    ERROR = "error"


class Memory(Record):
    """One thing that the agent with a handle learnt about a repo; a key has one value there."""

    id: str
    repo: str
    handle: Name
    key: Annotated[str, Meta(min_length=1, max_length=200)]
    value: Annotated[str, Meta(min_length=1, max_length=10_000)]
    type: MemoryType = MemoryType.FACT
    tags: tuple[Annotated[str, Meta(max_length=100)], ...] = ()
    team: str | None = None
    stored_at: Instant
    version: Natural = 0

    @property
    def text(self) -> str:
        """All that it is searched by."""
        return " ".join((self.key, *self.tags, self.value))


def memory_id(team: str | None, repo: str, handle: str, key: str) -> str:
    """Its key in a store: team, repo and handle have no slash, so nothing can be confused."""
    return f"{team or ''}/{repo}/{handle}/{key}"
