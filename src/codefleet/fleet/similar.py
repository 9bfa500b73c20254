"""Which tasks say nearly the same? Candidates come from the store's word index."""

from collections.abc import Sequence

from codefleet.domain.model import Task, TaskId
from codefleet.domain.similarity import ranked, similar, telling
from codefleet.domain.words import UNFINISHED
from codefleet.fleet.verbs import Verbs
from codefleet.ports import TaskQuery

CANDIDATES = 50
NEWEST = 500


class Searching(Verbs):
    async def similar(self, title: str, repo: str | None = None) -> Sequence[Task]:
        """Unfinished tasks that say nearly the same as this title."""
        unfinished = TaskQuery(states=UNFINISHED, repo=repo, limit=CANDIDATES)
        return similar(title, await self._sharing(title, unfinished))

    async def search(self, query: str, limit: int = 5) -> Sequence[tuple[float, Task]]:
        """The tasks, finished ones too, most similar to this; each with a score from 0 to 1.

        All tasks are searched for its most specific words, and the newest also for words with a
        similar spelling.
        """
        sharing = await self._sharing(query, TaskQuery(limit=CANDIDATES, newest_first=True))
        newest = await self.core.store.tasks(TaskQuery(limit=NEWEST, newest_first=True))
        found = {task.id: task for task in (*sharing, *newest)}
        return ranked(query, found.values(), limit)

    async def _sharing(self, text: str, among: TaskQuery) -> Sequence[Task]:
        """Tasks that share the most specific words of a text."""
        found: dict[TaskId, Task] = {}
        for words in telling(text):
            shared = await self.core.store.tasks(among._replace(text=words))
            found.update((task.id, task) for task in shared)
        return list(found.values())
