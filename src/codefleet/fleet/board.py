"""Reading the board: one look at the store, and what the log has shown since the last look."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from codefleet.domain import accounts, board, budget
from codefleet.domain.access import Right
from codefleet.domain.board import Board, Landed, Memory
from codefleet.domain.model import Event, RunId, Task, TaskId, Usage
from codefleet.domain.pace import Took
from codefleet.domain.views import Status
from codefleet.domain.words import UNFINISHED, Outcome, State
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery

WORDS = ("run.said", "run.tool", "run.progress")
ENDS = ("task.completed", "task.failed", "task.retried", "task.cancelled", "task.rejected")
RUN_OVER = ("run.ended", "run.failed", "task.released")
FOLLOWED = (*WORDS, "run.quiet", "run.stopping", *RUN_OVER, *ENDS)
PAGE = 1000
LAST = 5000
RUNS_REMEMBERED = 200
LANDED_REMEMBERED = 20
FAILED_SHOWN = 20
READERS_KEPT = 64
"""Actors whose board is remembered: the latest who asked."""
HOUR = timedelta(hours=1)
SHORTEST_HOUR = timedelta(minutes=5)


class BoardReader:
    """Reads the board again and again, without reading the same events twice."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._rights: Sequence[Right] | None = None
        self._reading = asyncio.Lock()
        self._forget()

    @classmethod
    def of(cls, fleet: Fleet) -> "BoardReader":
        """The reader of this actor's board, which lasts as long as the process uses it."""
        readers = fleet.core.board_readers
        reader = readers.pop(fleet.core.actor, None) or cls(fleet)
        readers[fleet.core.actor] = reader
        if len(readers) > READERS_KEPT:
            del readers[next(iter(readers))]
        return reader

    def _forget(self) -> None:
        self._seen = -1
        self._since: datetime | None = None
        self._was_over = False
        self._took: dict[RunId, tuple[datetime, Took]] = {}
        self._doing: dict[RunId, Event] = {}
        self._silent: dict[RunId, Event] = {}
        self._stopping: dict[RunId, Event] = {}
        self._ends: dict[TaskId, Event] = {}
        self._landed: dict[TaskId, Landed] = {}

    async def read(self) -> Board:
        """The board as it is now."""
        async with self._reading:
            return await self._read()

    async def _read(self) -> Board:
        seq = await self._fleet.last_seq()
        if seq < self._seen:  # another log: the fleet was reset or imported
            self._forget()
        await self._catch_up(seq)
        now = await self._fleet.status()
        await self._note_beginning(now)
        if self._rights is None:  # those of an actor do not change
            self._rights = await self._fleet.rights()
        return board.compose(
            now,
            await self._memory(now),
            seq=seq,
            tasks=await self._asked_about(now),
            rights=self._rights,
            notices=_notices(now),
            usd_per_hour=await self._rate(now),
        )

    async def _catch_up(self, seq: int) -> None:
        if self._seen < 0:
            for kinds in ((*WORDS, "run.quiet", "run.stopping"), RUN_OVER, ENDS):
                await self._hear(await self._fleet.events(kinds=kinds, limit=LAST, newest=True))
        else:
            after = self._seen
            while events := await self._fleet.events(after=after, kinds=FOLLOWED, limit=PAGE):
                await self._hear(events)
                self._seen = after = events[-1].seq
            seq = max(seq, after)
        self._seen = seq

    async def _hear(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.kind in ENDS and event.task:
                self._ends[event.task] = event
            if event.kind == "task.completed" and event.task:
                self._landed[event.task] = _landed(event, event.task)
            if event.run:
                self._hear_run(event, event.run)
        await self._learn_pace([event for event in events if event.kind == "run.ended"])
        self._landed = dict(list(self._landed.items())[-LANDED_REMEMBERED:])
        self._took = dict(list(self._took.items())[-RUNS_REMEMBERED:])

    def _hear_run(self, event: Event, run: RunId) -> None:
        if event.kind in WORDS:
            self._doing[run] = event
            self._silent.pop(run, None)
        elif event.kind == "run.quiet":
            self._silent[run] = event
        elif event.kind == "run.stopping":
            self._stopping[run] = event
        elif event.kind in RUN_OVER:
            for told in (self._doing, self._silent, self._stopping):
                told.pop(run, None)

    async def _learn_pace(self, ended: Sequence[Event]) -> None:
        good = [e.run for e in ended if e.run and e.data.get("outcome") == Outcome.SUBMITTED]
        runs = await self._fleet.find_runs(good[-RUNS_REMEMBERED:])
        tasks = await self._tasks(run.task for run in runs)
        for run in sorted(runs, key=lambda run: run.ended_at or run.started_at):
            if run.ended_at and run.task in tasks:
                seconds = (run.ended_at - run.started_at).total_seconds()
                took = Took(run.coder, tasks[run.task].complexity, seconds)
                self._took[run.id] = (run.started_at, took)

    async def _note_beginning(self, now: Status) -> None:
        """Count progress from when the oldest unfinished task was added; a batch added after all is
        done starts over."""
        is_over = board.unfinished(now.counts) == 0
        if not is_over and (self._since is None or self._was_over):
            tasks = await self._fleet.list(TaskQuery(states=UNFINISHED, limit=PAGE))
            self._since = board.begun(tasks, now.at)
        self._was_over = is_over

    async def _memory(self, now: Status) -> Memory:
        live = {run.id for run in now.runs}
        for told in (self._doing, self._silent, self._stopping):
            for run in told.keys() - live:
                del told[run]
        since = self._since
        self._ends = {t: e for t, e in self._ends.items() if since is not None and e.at >= since}
        ended = self._ends.values()
        failed = [e.task for e in ended if e.kind == "task.failed" and e.task]
        found = (await self._tasks(failed[-FAILED_SHOWN:])).values()
        return Memory(
            took=[took for _, took in self._took.values()],
            doing=self._doing,
            silent=self._silent,
            stopping=self._stopping,
            done=sum(event.kind == "task.completed" for event in ended),
            failed=[task for task in found if task.state is State.FAILED],
            landed=tuple(reversed(self._landed.values())),
            earlier=await self._earlier(now),
        )

    async def _earlier(self, now: Status) -> Mapping[TaskId, Usage]:
        """What earlier runs of tasks with a budget have cost."""
        again = [run for run in now.runs if run.number > 1]
        limited = {task.id for task in now.running if task.budget}
        earlier: dict[TaskId, Usage] = {}
        for run in await self._fleet.runs_of(*(r.task for r in again if r.task in limited)):
            if not run.is_live:
                earlier[run.task] = earlier.get(run.task, Usage()) + run.usage
        return earlier

    async def _asked_about(self, now: Status) -> Mapping[TaskId, Task]:
        return await self._tasks(item.task for item in now.inbox if item.task)

    async def _tasks(self, ids: Iterable[TaskId]) -> dict[TaskId, Task]:
        wanted = list(dict.fromkeys(ids))
        found = await self._fleet.list(TaskQuery(ids=wanted)) if wanted else ()
        return {task.id: task for task in found}

    async def _rate(self, now: Status) -> float | None:
        """Money per hour, over the last hour or since the oldest run in it started."""
        starts = [
            *(run.started_at for run in now.runs),
            *(start for start, _ in self._took.values()),
        ]
        recent = [start for start in starts if now.at - start <= HOUR]
        if not recent:
            return None
        since = min(*recent, now.at - SHORTEST_HOUR)
        spent = await self._fleet.cost(by=(), since=since)
        usd = sum(row.usage.cost_usd for row in spent)
        return usd / ((now.at - since) / HOUR)


def _landed(event: Event, task: TaskId) -> Landed:
    commit = str(event.data.get("landed") or "")
    return Landed(task=task, title=event.text, at=event.at, commit=commit)


def _notices(now: Status) -> Sequence[str]:
    """What a human should know, although nothing needs to be done: rests, conflicts, limits."""
    rests = [accounts.sentence(rest, now.at) for rest in now.rests if rest.until]
    conflicts = [
        f"conflict of {' and '.join(each.tasks)} in {', '.join(each.paths[:3])}"
        for each in now.conflicts
    ]
    near = budget.judge(now.limits)
    return [*rests, *conflicts, *([near.text] if near.text else [])]
