"""What agents learnt about a repo: store, recall, search, list."""

from collections.abc import Sequence

from codefleet.domain import access
from codefleet.domain.access import Right
from codefleet.domain.errors import Forbidden, Invalid, NotFound, Stale
from codefleet.domain.events import event
from codefleet.domain.memory import memory_id
from codefleet.domain.memory_search import matching
from codefleet.domain.model import Memory, MemoryType
from codefleet.domain.validation import checked, word
from codefleet.fleet import viewer
from codefleet.fleet.acceptance import Acceptances
from codefleet.fleet.core import TRIES
from codefleet.ports import Write

MOST_FOUND = 100


class Memories(Acceptances):
    async def remember(
        self,
        key: str,
        value: str,
        *,
        type: str = MemoryType.FACT,
        tags: Sequence[str] = (),
        handle: str | None = None,
        repo: str | None = None,
    ) -> Memory:
        """Store what was learnt about a repo; it replaces what the handle had under this key.

        All agents of the repo can search it, and those whom it fits get it with their prompt.
        """
        await self.core.permit(Right.TALK)
        if "\0" in key:
            raise Invalid("a key may not contain NUL characters", hint="choose a readable key")
        by = await viewer.speaker(self.core, handle)
        where = await self._memory_repo(repo)
        team = (await viewer.viewer(self.core)).team
        said = {"key": key, "value": value, "type": type, "tags": list(tags), "handle": by}
        place = {"id": memory_id(team, where, by, key), "repo": where, "team": team}
        for _ in range(TRIES):
            now = await self.core.store.now()
            known = await self.core.store.records(Memory, ids=[place["id"] or ""])
            version = known[0].version + 1 if known else 0
            made = checked(Memory, {**said, **place, "stored_at": now, "version": version})
            told = event("memory.stored", now, key, repo=where, handle=by, team=team)
            try:
                stored = await self.core.write(Write(records=[made], events=[told]))
            except Stale:
                continue
            return next(each for each in stored.records if isinstance(each, Memory))
        raise Stale(f"{key} keeps changing", hint="try again")

    async def recall(
        self, key: str, *, handle: str | None = None, repo: str | None = None
    ) -> Memory:
        """What is stored under a key: by this handle, without one by your own or, then, any."""
        own = handle or await viewer.own_handle(self.core)
        found = [it for it in await self._memories(repo) if it.key == key]
        mine = [it for it in found if it.handle == own]
        chosen = mine or ([] if handle else found)
        if not chosen:
            raise NotFound(f"nothing is stored under {key[:80]!r}", hint="search by words instead")
        return max(chosen, key=lambda it: it.stored_at)

    async def search_memory(
        self, query: str, *, type: str | None = None, limit: int = 10, repo: str | None = None
    ) -> Sequence[Memory]:
        """What agents of a repo stored that has all words of a query, the newest first."""
        if not 0 < limit <= MOST_FOUND:
            raise Invalid(f"at most {MOST_FOUND} at once", hint="search for more words")
        kind = word(type, MemoryType)
        among = [it for it in await self._memories(repo) if kind in (None, it.type)]
        return matching(query, among)[:limit]

    async def memories(
        self, handle: str | None = None, *, repo: str | None = None
    ) -> Sequence[Memory]:
        """All that is stored about a repo, or what one handle stored; the oldest first."""
        return [it for it in await self._memories(repo) if handle in (None, it.handle)]

    async def _memories(self, repo: str | None) -> Sequence[Memory]:
        access.refuse(self.core.actor, Right.LISTEN)
        sees = (await viewer.viewer(self.core)).sees
        where = await self._memory_repo(repo)
        return [it for it in await self.core.store.records(Memory, of=[where]) if sees(it)]

    async def _memory_repo(self, wanted: str | None) -> str:
        """An agent's own repo; for others the one that they name, or the only one."""
        if run := await self.core.asking():
            own = (await self.core.get(run.task)).repo
            if wanted not in (None, own):
                raise Forbidden(f"an agent works in its own repo, {own}", hint="name no other")
            return own
        return await self._repo(wanted)
