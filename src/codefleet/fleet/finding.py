"""Finding by words: tasks, questions, memories, and the newest events."""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, TypeVar

from msgspec import Meta

from codefleet.domain import access, memory_search, search
from codefleet.domain.access import AgentOf, Right
from codefleet.domain.errors import FleetError
from codefleet.domain.model import Event, Memory, Question, Task, TaskId
from codefleet.domain.views import Found
from codefleet.fleet.core import Core
from codefleet.fleet.verbs import Verbs
from codefleet.ports import TaskQuery

T = TypeVar("T")
LATEST = 5000
"""How many of the newest events are searched."""
Most = Annotated[int, Meta(ge=1, le=100)]


class Finding(Verbs):
    async def find(self, query: str, limit: Most = 20) -> Found:
        """What has all words of a query, also as beginnings of longer words; the newest first.

        Only the newest events are searched, and everything only as far as the actor may read it.
        """
        words = search.asked(query)
        if not words:
            return Found()
        newest = TaskQuery(text=query, limit=limit, newest_first=True)
        tasks = await self.core.store.tasks(newest)
        questions = _having(words, await _questions(self.core), _asked)[:limit]
        events = _having(words, await _events(self.core), _told)[:limit]
        ids = [*(it.task for it in questions), *(it.task for it in events)]
        return Found(
            tasks=tuple(tasks),
            questions=tuple(questions),
            memories=tuple(memory_search.matching(query, await _memories(self.core))[:limit]),
            events=tuple(events),
            about=tuple(await _about(self.core, ids)),
        )


async def _questions(core: Core) -> Sequence[Question]:
    """Those of others are output, which an agent may read only of what concerns it."""
    if isinstance(core.actor, AgentOf) or not _may(core, Right.READ_OUTPUT):
        return ()
    return await core.store.records(Question)


async def _memories(core: Core) -> Sequence[Memory]:
    return await core.store.records(Memory) if _may(core, Right.LISTEN) else ()


async def _events(core: Core) -> Sequence[Event]:
    return await core.store.events(limit=LATEST, newest=True)


async def _about(core: Core, ids: Iterable[TaskId | None]) -> Sequence[Task]:
    wanted = [*dict.fromkeys(each for each in ids if each)]
    return await core.store.tasks(TaskQuery(ids=wanted)) if wanted else ()


def _may(core: Core, right: Right) -> bool:
    try:
        access.refuse(core.actor, right)
    except FleetError:
        return False
    return True


def _having(words: Sequence[str], among: Sequence[T], text_of: Callable[[T], str]) -> list[T]:
    """Those whose text has all the words, the newest first."""
    found = (each for each in reversed(among) if _has(words, text_of(each)))
    return list(found)


def _has(words: Sequence[str], text: str) -> bool:
    """A cheap look decides for most: what is not in the text at all is no word of it."""
    small = text.casefold()
    if not all(word.strip() in small for word in words):
        return False
    return all(word in search.words_in(text) for word in words)


def _asked(question: Question) -> str:
    return " ".join((question.text, *question.options, question.detail, question.answer or ""))


def _told(event: Event) -> str:
    return f"{event.kind} {event.text}"
