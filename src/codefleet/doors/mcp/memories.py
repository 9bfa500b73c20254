"""The toolsets `team` and `agent`: what agents learnt about a repository."""

from contextlib import suppress
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from codefleet.domain.errors import NotFound
from codefleet.domain.model import Memory
from codefleet.doors.mcp.summaries import View
from codefleet.doors.mcp.toolset import Toolset

Type = Literal["fact", "decision", "pattern", "error"]
Found = Annotated[int, Field(ge=1, le=100)]


class Memories(Toolset):
    """Memories of the caller's repository."""

    READS: ClassVar[tuple[str, ...]] = ("memory_recall", "memory_search")
    WRITES: ClassVar[tuple[str, ...]] = ("memory_store",)

    async def memory_store(
        self,
        key: str,
        value: str,
        memory_type: Type = "fact",
        tags: list[str] | None = None,
        repo_path: str | None = None,
    ) -> View:
        """Store what agents of this repository should know later; a key is replaced.

        It is given to those whose task it fits, and found with memory_search.
        """
        return _view(
            await self.fleet.remember(
                key,
                value,
                type=memory_type,
                tags=tags or (),
                handle=self.server.handle,
                repo=await self.server.repo(repo_path),
            )
        )

    async def memory_recall(self, key: str, repo_path: str | None = None) -> View:
        """What is stored under a key, by you or else by another agent."""
        repo = await self.server.repo(repo_path)
        if me := self.server.handle:
            with suppress(NotFound):
                return _view(await self.fleet.recall(key, handle=me, repo=repo))
        return _view(await self.fleet.recall(key, repo=repo))

    async def memory_search(
        self,
        query: str,
        memory_type: Type | None = None,
        limit: Found = 10,
        repo_path: str | None = None,
    ) -> View:
        """What agents of this repository stored that has all these words, the newest first."""
        found = await self.fleet.search_memory(
            query, type=memory_type, limit=limit, repo=await self.server.repo(repo_path)
        )
        return {"memories": [_view(each) for each in found]}


def _view(memory: Memory) -> View:
    shown = ("key", "value", "type", "tags", "handle", "repo", "stored_at")
    said = memory.plain()
    return {name: said[name] for name in shown if said[name] != []}
