"""Moving a whole fleet: export as JSON lines, import, or delete."""

import json
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from codefleet.domain.access import Right
from codefleet.domain.errors import Invalid, Refused
from codefleet.domain.events import event
from codefleet.domain.lifecycle import Verb, end, move
from codefleet.domain.model import Event, Run, Runner, Task
from codefleet.domain.words import Outcome, Reason, State
from codefleet.fleet import archive_files
from codefleet.fleet.core import Core
from codefleet.fleet.verbs import Verbs

IMPORTED = "imported"


class Row(NamedTuple):
    """One line of an export: the kind of a noun, and its JSON."""

    kind: str
    body: Any


class Exchange(Verbs):
    async def export(self) -> AsyncIterator[str]:
        """Every repo, task, run, question, conflict, setting and event, a JSON object per line."""
        await self.core.permit(Right.EXPORT)
        async for kind, body in self.core.store.export():
            yield f'{{"kind":"{kind}","body":{body}}}'

    async def load(self, lines: Iterable[str]) -> int:
        """Import an export into an empty fleet, all or nothing; returns how many lines it had.

        Live runs of the export end here: their agents and folders are elsewhere.
        """
        await self.core.permit(Right.IMPORT)
        rows = [_row(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        still = [*_at_rest(rows, await self.core.store.now(), str(self.core.actor))]
        await self.core.store.load([(row.kind, json.dumps(row.body)) for row in still])
        return len(rows)

    async def forget(self, dead: Collection[str]) -> None:
        """Delete every task, run and event, and this machine's archive of them.

        Refused while a runner is active that is not among the `dead` ones.
        """
        await refuse_while_alive(self.core, dead)
        told = event("fleet.reset", await self.core.store.now(), by=str(self.core.actor))
        await self.core.store.erase(told)
        archive_files.drop_all(archive_files.folder(self.core.home))


async def refuse_while_alive(core: Core, dead: Collection[str]) -> None:
    """Refuse while there is any runner except these, which the caller knows to be dead."""
    await core.permit(Right.RESET)
    living = [runner for runner in await core.store.records(Runner) if runner.id not in dead]
    if living:
        raise Refused(
            f"a runner is active on {living[0].host} (pid {living[0].pid})",
            hint="stop it first: press Ctrl-C where `fleet run` runs",
        )


def _row(number: int, line: str) -> Row:
    try:
        row = json.loads(line)
        return Row(str(row["kind"]), row["body"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Invalid(
            f"line {number} is not a line of an export", hint="`fleet export` writes such files"
        ) from None


def _at_rest(rows: Sequence[Row], now: datetime, by: str) -> Iterator[Row]:
    """The same rows with live runs ended and running tasks pending, plus the events of that."""
    told: list[Event] = []
    for row in rows:
        try:
            yield _stilled(row, now, told)
        except ValueError:
            yield row  # the store refuses it and names its line
    last = max((_seq(row) for row in rows), default=0)
    for seq, each in enumerate(told, start=last + 1):
        yield Row("event", each.evolve(seq=seq, by=by).plain())


def _stilled(row: Row, now: datetime, told: list[Event]) -> Row:
    match row:
        case Row("run", dict(body)) if body.get("outcome") is None:
            run = Run.from_json(json.dumps(row.body))
            ended = end(run, Outcome.FAILED, now, Reason.CRASHED, IMPORTED)
            told.append(event("run.failed", now, IMPORTED, run=run, reason=Reason.CRASHED))
            return Row("run", ended.plain())
        case Row("task", {"state": State.RUNNING.value} | {"landing": True}):
            task = Task.from_json(json.dumps(row.body)).evolve(is_landing=False)
            if task.state is State.RUNNING:
                task = move(task, Verb.RELEASE, fence=task.fence + 1, updated_at=now)
            return Row("task", task.plain())
    return row


def _seq(row: Row) -> int:
    match row:
        case Row("event", {"seq": int(seq)}):
            return seq
    return 0
