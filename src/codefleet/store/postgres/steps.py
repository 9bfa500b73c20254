"""Writes, done inside an open transaction: all of them, or an error that undoes all of them.

Several at once are done as one combined write, so that many cost hardly more than one.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from codefleet.domain.model import Event, Run
from codefleet.domain.noun import Record
from codefleet.ports import Write
from codefleet.store import checks, nouns
from codefleet.store.postgres import optimistic, rows
from codefleet.store.postgres.connection import Reply
from codefleet.store.postgres.tasks import Saving
from codefleet.store.postgres.transaction import Told, Transaction

Answer = Callable[[int], Any]
"""The result of a step once it is committed, from the first seq of its transaction."""
Step = Callable[[Transaction], Awaitable[Answer]]


def nothing(first: int) -> Sequence[Any]:
    """The answer of a step that had nothing to do and wrote nothing."""
    return ()


class _Rows(NamedTuple):
    """Rows to write: the noun's word, the statement and its values, and the ids that it must
    return; none if the server itself refuses what is wrong."""

    word: str
    statement: str
    values: Mapping[str, Any]
    ids: Sequence[str] = ()


async def write(tx: Transaction, writes: Sequence[Write], *, may_assume: bool) -> list[Answer]:
    """Do all of some writes; each answer is that write's events with their seqs."""
    others = [*_of_runs([run for one in writes for run in one.runs])]
    others += [some for one in writes for some in _of_records(one.records)]
    if may_assume and optimistic.is_likely(writes):
        await optimistic.write(tx, writes)
        for some in others:
            if some.ids:
                tx.insist(some.statement, many=len(some.ids), **some.values)
            else:
                tx.run(some.statement, **some.values)
    else:
        await _write_with_a_look(tx, writes, others)
    for one in writes:
        for record in one.removed:
            tx.run(f"remove_{nouns.kind_of(type(record)).word}", id=nouns.key_of(record))
        set_all(tx, one.settings)
    return [_events(tx.tell(one.events)) for one in writes]


async def put_runs(tx: Transaction, runs: Sequence[Run]) -> None:
    """Add or replace runs; a task has at most one live one."""
    await _refuse_late(_sent(tx, [*_of_runs(runs)]))


def _events(told: Told) -> Answer:
    def answer(first: int) -> Sequence[Event]:
        return told.numbered(first)

    return answer


async def _write_with_a_look(
    tx: Transaction, writes: Sequence[Write], others: Sequence[_Rows]
) -> None:
    tasks = [task for one in writes for task in one.tasks]
    saving = Saving(
        tx,
        new=[task for task in tasks if task.version == 0],
        old=[task for task in tasks if task.version > 0],
        fences=[fence for one in writes for fence in one.fences.items()],
    )
    saving.look()
    sent = _sent(tx, others)
    await saving.judge()
    await _refuse_late(sent)
    await saving.write()


def _of_runs(runs: Sequence[Run]) -> Iterator[_Rows]:
    """Old ones first: a run may have to end before the next one of its task begins."""
    if old := [run for run in runs if run.version > 0]:
        ids = [run.id for run in old]
        yield _Rows("run", "save_run", {"ids": ids, "rows": [*map(rows.of_run, old)]}, ids)
    if new := [run for run in runs if run.version == 0]:
        yield _Rows("run", "add_run", {"rows": [*map(rows.of_run, new)]})


def _of_records(records: Sequence[Record]) -> Iterator[_Rows]:
    """By kind, always in the same order so that no two writers block each other; and by what to do
    with them."""
    for kind in nouns.RECORDS if records else ():
        given = [nouns.row(record) for record in records if type(record) is kind.noun]
        for verb, some in (
            ("add", [row for row in given if row["version"] == 0]),
            ("save", [row for row in given if row["version"] > 0]),
        ):
            if some:
                ids = [row["id"] for row in some]
                yield _Rows(kind.word, f"{verb}_{kind.word}", {"rows": some}, ids)


def set_all(tx: Transaction, settings: Mapping[str, str | None]) -> None:
    """Set each of these, or drop it if it has no value."""
    for name, value in settings.items():
        if value is None:
            tx.run("drop_setting", name=rows.plain(name))
        else:
            tx.run("set_setting", name=rows.plain(name), value=rows.plain(value))


def _sent(tx: Transaction, wanted: Sequence[_Rows]) -> list[tuple[_Rows, Reply]]:
    return [(some, tx.run(some.statement, **some.values)) for some in wanted]


async def _refuse_late(sent: Sequence[tuple[_Rows, Reply]]) -> None:
    for some, reply in sent:
        if some.ids:
            written = [name for (name,) in await reply.rows()]
            if len(written) < len(some.ids):
                late = [name for name in some.ids if name not in written] or some.ids
                raise checks.stale(some.word, late[0])
