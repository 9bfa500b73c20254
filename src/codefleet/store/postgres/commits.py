"""Steps that are committed together: all that were requested during the last commit.

A commit is the most expensive part of a small write, so concurrent writers share one. Each step
still succeeds or fails alone: if one of several is refused, they are redone one by one.

If the server goes away in between, the steps are redone as soon as it is back. Only if the response
to a commit is lost is it unknown whether it took place: then we look for the mark that every commit
leaves, and insert it if it is missing, so that the commit cannot come later.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

import psycopg
from psycopg.errors import LockNotAvailable, UniqueViolation

from codefleet.domain.errors import StoreTrouble
from codefleet.ports import Write
from codefleet.store import checks
from codefleet.store.postgres import claims, steps
from codefleet.store.postgres.connection import Connection, Reply
from codefleet.store.postgres.connections import Connections
from codefleet.store.postgres.steps import Answer, Step
from codefleet.store.postgres.transaction import Transaction
from codefleet.store.postgres.trouble import is_contested, is_passing

ATTEMPTS = 50
"""How often a step that conflicts with others is retried."""
SWEEP_EVERY = 1000
LOOK_EVERY_S = 3.0
"""How often to look for abandoned writers: claims skip what they hold, and wait for nobody."""


What = Write | claims.Asked | Step


class _Asked(NamedTuple):
    """A write, a claim or another step, and who waits for it."""

    what: What
    to: asyncio.Future[Any]


class Commits:
    """The only way to write anything; `announce` is called after each commit."""

    def __init__(
        self, connections: Connections, announce: Callable[[], None], *, is_quick: bool
    ) -> None:
        self._connections = connections
        self._announce = announce
        self._is_quick = is_quick
        self._asked: list[_Asked] = []
        self._working: asyncio.Task[None] | None = None
        self._is_closed = False
        self._attempts = 0
        self._looked = 0.0

    async def ask(self, what: What) -> Any:
        """Do a step in the next transaction; returns when it is committed."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._is_closed:
            raise self._closed()
        self._asked.append(_Asked(what, answer))
        if self._working is None:
            self._working = asyncio.create_task(self._work())
        return await answer

    async def close(self) -> None:
        """Take no more steps, refuse those that are queued, finish the current one."""
        self._is_closed = True
        asked, self._asked = self._asked, []
        for one in asked:
            _give(one, error=self._closed())
        if self._working:
            await self._working

    def _closed(self) -> StoreTrouble:
        place = self._connections.place
        return StoreTrouble(f"the store {place} is closed", hint="open it again")

    async def _work(self) -> None:
        try:
            while self._asked:
                asked = [one for one in self._asked if not one.to.done()]
                self._asked = []
                await self._commit(asked)
        finally:
            self._working = None

    async def _commit(self, asked: Sequence[_Asked]) -> None:
        try:
            answers = await self._done(asked)
        except StoreTrouble as error:  # the same for all of them
            for one in asked:
                _give(one, error=error)
            return
        except Exception as error:
            if len(asked) == 1:
                _give(asked[0], error=error)
                return
            for one in asked:
                await self._commit([one])
            return
        for one, answer in zip(asked, answers, strict=True):
            _give(one, answer)

    async def _done(self, asked: Sequence[_Asked]) -> Sequence[Any]:
        """Commit some steps, with retries; together only as long as nothing is wrong."""
        patience = self._connections.patience()
        for number in range(ATTEMPTS):
            self._attempts += 1
            attempt = _Attempt(
                self._connections, is_quick=self._is_quick, beside=self._due_beside()
            )
            try:
                answers = await attempt.make(asked, may_assume=number == 0)
            except psycopg.Error as error:
                if isinstance(error, UniqueViolation) and error.diag.table_name == "runs":
                    raise checks.stale("run", "of this task") from error
                if len(asked) > 1 and not (is_passing(error) or is_contested(error)):
                    raise  # one of the steps may be at fault
                if not is_contested(error):
                    await patience.wait_out(error)
                if isinstance(error, LockNotAvailable):
                    self._looked = 0.0
                continue
            if attempt.has_told:
                self._announce()
            return answers
        raise StoreTrouble(
            f"the store {self._connections.place} is too busy", hint="try again in a moment"
        )

    def _due_beside(self) -> Sequence[str]:
        """Maintenance that is due with the next transaction."""
        due = []
        if self._attempts % SWEEP_EVERY == 0:
            due += ["sweep_marks", "fold_tallies"]
        if time.monotonic() - self._looked > LOOK_EVERY_S:
            self._looked = time.monotonic()
            due.append("end_abandoned")
        return due


class _Attempt:
    """One transaction, and what is known about its end."""

    def __init__(self, connections: Connections, *, is_quick: bool, beside: Sequence[str]) -> None:
        self._connections = connections
        self._is_quick = is_quick
        self._beside = beside
        self._mark = uuid4()
        self._is_asked_for = False
        self._answers: Sequence[Answer] = ()
        self.has_told = False

    async def make(self, asked: Sequence[_Asked], *, may_assume: bool) -> Sequence[Any]:
        """Do all steps and commit; return their answers."""
        try:
            async with self._connections.one(to_write=True) as connection:
                async with connection.talk() as talk:
                    tx = Transaction(talk)
                    self._set_up(connection, tx)
                    last = await self._done(tx, asked, may_assume)
                connection.is_for_writing = connection.is_direct
                seq = await _seq(last)
        except psycopg.OperationalError as error:
            if not self._is_asked_for:
                raise
            seq = await self._found_out(error)
        self.has_told = tx.has_told
        return [answer(tx.first_of(seq)) for answer in self._answers]

    def _set_up(self, connection: Connection, tx: Transaction) -> None:
        if not connection.is_for_writing:
            commit = "off" if self._is_quick else None
            tx.run("to_write", passing=not connection.is_direct, commit=commit)
        for name in self._beside:
            tx.run(name)

    async def _done(
        self, tx: Transaction, asked: Sequence[_Asked], may_assume: bool
    ) -> Reply | None:
        """Do all steps. Ending the talk then commits."""
        self._answers = await _all_done(tx, asked, may_assume)
        if all(answer is steps.nothing for answer in self._answers):
            return None
        self._is_asked_for = True
        return tx.finish(self._mark)

    async def _found_out(self, lost: psycopg.OperationalError) -> int:
        """Find out if a commit whose response was lost was made; raise the loss if it was not."""
        patience = self._connections.patience()
        while True:
            try:
                seq = await self._seq_of_mark()
                break
            except psycopg.OperationalError as error:
                await patience.wait_out(error)
        if seq < 0:
            raise lost
        return seq

    async def _seq_of_mark(self) -> int:
        async with self._connections.one() as connection, connection.talk() as talk:
            view = Transaction(talk)
            view.run("to_write", passing=True, commit=None)
            view.run("end_abandoned")
            view.run("take_mark", mark=self._mark)
            ((seq,),) = await view.rows("find_mark", mark=self._mark)
        return int(seq)


async def _all_done(tx: Transaction, asked: Sequence[_Asked], may_assume: bool) -> Sequence[Answer]:
    """Writes go before claims: claims may block others, and so should be brief."""
    whats = [one.what for one in asked]
    writes = [what for what in whats if isinstance(what, Write)]
    wanted = [what for what in whats if isinstance(what, claims.Asked)]
    of_writes = iter(await steps.write(tx, writes, may_assume=may_assume) if writes else ())
    of_claims = iter(await claims.claim(tx, wanted) if wanted else ())
    answers = []
    for what in whats:
        if isinstance(what, Write):
            answers.append(next(of_writes))
        elif isinstance(what, claims.Asked):
            answers.append(next(of_claims))
        else:
            answers.append(await what(tx))
    return answers


async def _seq(last: Reply | None) -> int:
    if last is None:
        return 0
    ((seq, *_),) = await last.rows()
    return int(seq)


def _give(asked: _Asked, answer: Any = None, *, error: Exception | None = None) -> None:
    if asked.to.done():  # the caller was cancelled meanwhile
        return
    if error is None:
        asked.to.set_result(answer)
    else:
        asked.to.set_exception(error)
