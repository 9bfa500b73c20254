"""The board: what you see when you watch a fleet, most urgent first. Derived, never stored."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from codefleet.domain import lifecycle, pace
from codefleet.domain.access import Right
from codefleet.domain.model import Event, Run, RunId, Task, TaskId, Usage
from codefleet.domain.noun import Instant, Noun
from codefleet.domain.pace import Took
from codefleet.domain.scheduling import Why
from codefleet.domain.views import ALERT, HELD_WORK, Agent, InboxItem, Status, Waiting
from codefleet.domain.words import FINAL

STUCK_BEHIND = (Why.PAUSED, Why.HELD_UP)
"""Waits that only a human can end: such work is not part of the estimated end."""


FAILED = "failed"
ABOUT_WORK = ("review", HELD_WORK)
"""Kinds whose inbox text includes the title, which the board shows anyway."""


ANSWER = (("answer", Right.ANSWER),)
DECIDE = (("land", Right.LAND), ("reject", Right.REJECT))
SETTLED_BY: Mapping[str, Sequence[tuple[str, Right]]] = {
    "question": ANSWER,
    "permission": ANSWER,
    "review": DECIDE,
    HELD_WORK: DECIDE,
    FAILED: (("retry", Right.RETRY),),
    ALERT: (("settle", Right.ANSWER),),
    "account": (("wake", Right.WAKE),),
}
"""What settles each kind of need, and the right that it takes."""


class Need(Noun):
    """Something that waits for a human; `ref` names a question, a task or an account.

    `moves` is what the actor may do to settle it.
    """

    kind: str
    ref: str
    task: Task | None = None
    text: str
    options: tuple[str, ...] = ()
    since: Instant
    moves: tuple[str, ...] = ()


class AtWork(Noun):
    """An agent at work: what it is doing, and how long such work usually takes."""

    agent: Agent
    task: Task
    run: Run
    doing: str = ""
    silent: str = ""
    stopping: str = ""
    usual_s: float | None = None
    spent: Usage = Usage()


class Landed(Noun):
    """A recently completed task; without a commit, nothing had to land."""

    task: TaskId
    title: str
    at: Instant
    commit: str = ""


class Progress(Noun):
    """Overall progress: the tasks that were unfinished at the start, and all added since."""

    done: int = 0
    failed: int = 0
    total: int = 0
    left_s: float | None = None

    @property
    def share(self) -> float:
        return self.done / self.total if self.total else 0.0


class Board(Noun):
    """Everything on the screen, as it was at `seq`."""

    at: Instant
    seq: int
    paused: bool = False
    counts: dict[str, int]
    progress: Progress = Progress()
    needs: tuple[Need, ...] = ()
    working: tuple[AtWork, ...] = ()
    seats: int = 0
    lane: tuple[Task, ...] = ()
    next_up: tuple[Waiting, ...] = ()
    waiting: int = 0
    landed: tuple[Landed, ...] = ()
    notices: tuple[str, ...] = ()
    spent: Usage = Usage()
    unpriced: int = 0
    usd_per_hour: float | None = None


class Memory(NamedTuple):
    """What the log has shown so far; `earlier` is what runs before the live ones have cost."""

    took: Sequence[Took] = ()
    doing: Mapping[RunId, Event] = {}
    silent: Mapping[RunId, Event] = {}
    stopping: Mapping[RunId, Event] = {}
    done: int = 0
    failed: Sequence[Task] = ()
    landed: Sequence[Landed] = ()
    earlier: Mapping[TaskId, Usage] = {}


def compose(
    now: Status,
    memory: Memory,
    *,
    seq: int,
    tasks: Mapping[TaskId, Task],
    rights: Collection[Right] = (),
    notices: Sequence[str] = (),
    usd_per_hour: float | None = None,
) -> Board:
    """Compose what the screen shows to one with these rights; the inbox refers to `tasks`."""
    needs = (*_needs(now, tasks), *_failures(memory.failed))
    working = tuple(_working(now, memory))
    return Board(
        at=now.at,
        seq=seq,
        paused=now.paused,
        counts=now.counts,
        progress=_progress(now, memory, working),
        needs=tuple(need.evolve(moves=_moves(need, rights)) for need in needs),
        working=working,
        seats=sum(agent.state != "offline" for agent in now.agents),
        lane=now.lane,
        next_up=now.waiting,
        waiting=now.counts.get("pending", 0) + now.counts.get("blocked", 0),
        landed=tuple(memory.landed),
        notices=tuple(notices),
        spent=now.spent_today,
        unpriced=now.unpriced_today,
        usd_per_hour=usd_per_hour,
    )


def unfinished(counts: Mapping[str, int]) -> int:
    """How many tasks are unfinished."""
    return sum(count for state, count in counts.items() if state not in FINAL)


def _progress(now: Status, memory: Memory, working: Sequence[AtWork]) -> Progress:
    failed = len(memory.failed)
    return Progress(
        done=memory.done,
        failed=failed,
        total=memory.done + failed + unfinished(now.counts),
        left_s=_left(now, memory, working),
    )


def _left(now: Status, memory: Memory, working: Sequence[AtWork]) -> float | None:
    """Seconds until all work that needs no human is done, or None if unknown."""
    any_run = pace.usual(memory.took, None, None)
    if any_run is None:
        return None
    needed: dict[str, float] = {}
    for each in working:
        elapsed = (now.at - each.run.started_at).total_seconds()
        needed[each.task.id] = pace.left_of(elapsed, each.usual_s or any_run)
    waits = [each for each in now.waiting if each.why not in STUCK_BEHIND]
    for each_waiting in waits:
        task = each_waiting.task
        needed[task.id] = pace.usual(memory.took, task.coder, task.complexity) or any_run
    listed = len(now.waiting)
    more = now.counts.get("pending", 0) + now.counts.get("blocked", 0) - listed
    seats = sum(agent.state != "offline" for agent in now.agents)
    needs: dict[str, Sequence[str]] = {each.task.id: each.task.needs for each in waits}
    return pace.left(needed, needs, beyond=max(0, more) * any_run, seats=seats)


def _working(now: Status, memory: Memory) -> Iterator[AtWork]:
    tasks: dict[str | None, Task] = {task.id: task for task in now.running}
    runs: dict[str | None, Run] = {run.id: run for run in now.runs}
    for agent in now.agents:
        task, run = tasks.get(agent.task), runs.get(agent.run)
        if task and run:
            told = memory.doing.get(run.id)
            yield AtWork(
                agent=agent,
                task=task,
                run=run,
                doing=told.text if told else run.said,
                silent=_text(memory.silent.get(run.id)),
                stopping=_text(memory.stopping.get(run.id)),
                usual_s=pace.usual(memory.took, run.coder, task.complexity),
                spent=memory.earlier.get(task.id, Usage()) + run.usage,
            )


def _text(event: Event | None) -> str:
    return event.text or event.kind if event else ""


def _needs(now: Status, tasks: Mapping[TaskId, Task]) -> Iterator[Need]:
    for item in now.inbox:
        yield _need(item, tasks.get(item.task) if item.task else None)


def _need(item: InboxItem, task: Task | None) -> Need:
    return Need(
        kind=item.kind,
        ref=item.id,
        task=task,
        text=task.note if task and item.kind in ABOUT_WORK else item.text,
        options=item.options,
        since=item.since,
    )


def _failures(failed: Iterable[Task]) -> Iterator[Need]:
    for task in failed:
        text = ": ".join(filter(None, (task.reason.words if task.reason else "", task.note)))
        yield Need(kind=FAILED, ref=task.id, task=task, text=text, since=task.updated_at)


def _moves(need: Need, rights: Collection[Right]) -> tuple[str, ...]:
    """What settles a need, with these rights; the decisions about a task, as far as legal now."""
    fits = lifecycle.allowed(need.task) if need.task else ()
    return tuple(
        verb
        for verb, right in SETTLED_BY.get(need.kind, ())
        if right in rights and (verb in fits or need.kind not in (*ABOUT_WORK, FAILED))
    )


def begun(tasks: Iterable[Task], now: datetime) -> datetime:
    """When the work that is unfinished now began."""
    return min((task.created_at for task in tasks if not task.state.is_final), default=now)
