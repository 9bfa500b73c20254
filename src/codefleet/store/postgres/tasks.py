"""Tasks and the edges between them, written inside an open transaction.

`unmet`, the number of uncompleted needs, stays right because of row locks: a need's row is locked
before an edge to it is stored, and before it is completed; whoever is second sees the first.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from codefleet.domain import scheduling, search
from codefleet.domain.model import Task, TaskId
from codefleet.domain.words import State
from codefleet.store import checks
from codefleet.store.postgres import rows
from codefleet.store.postgres.connection import Reply
from codefleet.store.postgres.transaction import Transaction

AT_ONCE = 1000
LETTERS_AT_ONCE = 2_000_000

Fences = Sequence[tuple[TaskId, int]]


class _Guard(NamedTuple):
    """What a stored task requires of those who want to write to it."""

    version: int
    fence: int
    state: str
    needs: Sequence[str]
    mark: int | None


class Saving:
    """A write's tasks: read under locks, checked, and then written."""

    def __init__(
        self,
        tx: Transaction,
        *,
        new: Sequence[Task],
        old: Sequence[Task] = (),
        fences: Fences = (),
    ) -> None:
        self._tx = tx
        self._new = new
        self._old = old
        self._fences = fences
        self._guards: dict[str, _Guard] = {}
        self._states: dict[str, str] = {}
        self._asked: tuple[Reply | None, ...] = (None, None, None)

    def look(self) -> None:
        """Request what must be known, and lock it; does not wait for the results."""
        held = {task.id for task in self._old} | {task for task, _ in self._fences}
        around = {name for task in self._new for name in (task.id, *task.needs)} - held
        guards = self._tx.run("fence_of", ids=[*held]) if held else None
        states = self._tx.run("states_of", ids=[*around]) if around else None
        handles = checks.handles([*self._new, *self._old])
        workers = self._tx.run("live_workers", workers=handles) if handles else None
        self._asked = guards, states, workers

    async def judge(self) -> None:
        """Refuse what is late or invalid."""
        guards, states, workers = self._asked
        if guards:
            self._guards = {name: _Guard(*rest) for name, *rest in await guards.rows()}
        if states:
            self._states = dict(await states.rows())
        self._states.update((name, guard.state) for name, guard in self._guards.items())
        self._refuse_late()
        if self._new:
            checks.refuse_duplicates(self._new, self._states)
            self._states.update((task.id, task.state) for task in self._new)
            checks.refuse_missing(self._new, self._states)
            checks.refuse_cycle(self._new)
        if workers:
            checks.refuse_taken_handles([*self._new, *self._old], await workers.rows())

    async def write(self) -> None:
        """Store the tasks and their edges, and unblock what waited for completed ones."""
        changed = [task for task in self._old if {*self._guard(task).needs} != {*task.needs}]
        if changed:
            await self._check_changed_needs(changed)
        if self._new:
            await put_new(self._tx, self._new, self._states)
        if reworded := [*self._new, *filter(self._is_reworded, self._old)]:
            await put_texts(self._tx, reworded)
        if self._old:
            replace(self._tx, self._old)
        if done := [task.id for task in self._old if self._is_completed_now(task)]:
            self._tx.run("unblock", ids=done)
        if changed:
            _replace_edges(self._tx, changed)

    def _refuse_late(self) -> None:
        for name, fence in self._fences:
            if name not in self._guards:
                raise checks.no_task(name)
            if self._guards[name].fence != fence:
                raise checks.lost(name)
        if len({task.id for task in self._old}) < len(self._old):
            raise checks.stale("task", self._old[-1].id)
        for task in self._old:
            guard = self._guards.get(task.id)
            reopened = guard and guard.state == State.COMPLETED != task.state
            if guard is None or guard.version != task.version - 1 or reopened:
                raise checks.stale("task", task.id)

    def _guard(self, task: Task) -> _Guard:
        return self._guards[task.id]

    def _is_completed_now(self, task: Task) -> bool:
        return task.state is State.COMPLETED != self._guard(task).state

    def _is_reworded(self, task: Task) -> bool:
        return search.mark(task) != self._guard(task).mark

    async def _check_changed_needs(self, changed: Sequence[Task]) -> None:
        """Stored tasks may wait for these, so the stored graph is searched for a cycle too."""
        self._tx.run("lock_needs")
        needs = sorted({need for task in changed for need in task.needs})
        found: dict[str, str] = dict(await self._tx.rows("states_of", ids=needs))
        checks.refuse_missing(changed, found | self._states)
        above = await self._tx.rows("needs_above", ids=needs)
        checks.refuse_stored_cycle([*changed, *self._new], [(name, need) for name, need in above])


async def put_new(tx: Transaction, tasks: Sequence[Task], states: Mapping[str, str]) -> None:
    """Store new tasks with their edges, given the states of everything they need."""

    def row(task: Task) -> rows.Row:
        return {**rows.of_task(task), "unmet": scheduling.count_unmet(task, states)}

    async for piece in tx.in_turn(_in_pieces(tasks)):
        tx.run("add_task", rows=[*map(row, piece)])
    _add_edges(tx, tasks)


def replace(tx: Transaction, tasks: Collection[Task]) -> None:
    """Replace stored tasks whose locks are held."""
    ids = [task.id for task in tasks]
    tx.run("save_task", ids=ids, rows=[*map(rows.of_task, tasks)])


async def put_texts(tx: Transaction, tasks: Sequence[Task]) -> None:
    """Store the words by which stored tasks are found."""
    async for piece in tx.in_turn(_in_pieces(tasks)):
        ids = [task.id for task in piece]
        tx.run("put_text", ids=ids, rows=[*map(rows.of_text, piece)])


async def add(tx: Transaction, tasks: Sequence[Task]) -> None:
    """Add new tasks with their edges; refuse a taken id, a missing need and a cycle."""
    saving = Saving(tx, new=tasks)
    saving.look()
    await saving.judge()
    await saving.write()


def _in_pieces(tasks: Iterable[Task]) -> Iterator[Sequence[Task]]:
    """As many tasks as fit well into one message: a long one is slow to send, and a gigabyte is the
    limit."""
    piece: list[Task] = []
    letters = 0
    for task in tasks:
        piece.append(task)
        letters += len(task.prompt)
        if len(piece) == AT_ONCE or letters >= LETTERS_AT_ONCE:
            yield piece
            piece, letters = [], 0
    if piece:
        yield piece


def _replace_edges(tx: Transaction, tasks: Sequence[Task]) -> None:
    ids = [task.id for task in tasks]
    needs = [{"id": task.id, "needs": task.needs} for task in tasks]
    tx.run("set_needs", ids=ids, rows=needs)
    tx.run("drop_needs", ids=ids)
    _add_edges(tx, tasks)
    tx.run("recount", ids=ids)


def _add_edges(tx: Transaction, tasks: Sequence[Task]) -> None:
    edges = [(task.id, need) for task in tasks for need in set(task.needs)]
    if edges:
        tx.run("add_need", tasks=[t for t, _ in edges], needs=[n for _, n in edges])
