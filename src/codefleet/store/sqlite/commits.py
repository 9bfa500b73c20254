"""Steps that are committed together: all that were asked for in one turn of the event loop.

A commit to disk is the whole cost of a small write, so writers that come at once share one. Each
step still succeeds or fails alone. Nothing waits inside SQLite and no transaction lives across an
await, so a step is also atomic for the other coroutines of this process.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from codefleet.domain.errors import StoreTrouble
from codefleet.store.sqlite.database import Database
from codefleet.store.sqlite.trouble import explained, is_busy, moment

PATIENCE_S = 30.0

T = TypeVar("T")


class _Asked(NamedTuple):
    step: Callable[[], Any]
    answer: asyncio.Future[Any]


class _Answer(NamedTuple):
    to: asyncio.Future[Any]
    result: Any = None
    error: Exception | None = None

    def give(self) -> None:
        if self.to.done():  # whoever asked was cancelled meanwhile
            return
        if self.error is None:
            self.to.set_result(self.result)
        else:
            self.to.set_exception(self.error)


class Commits:
    """The one road by which anything is written; `announce` is called after each commit."""

    def __init__(self, database: Database, announce: Callable[[], None]) -> None:
        self._database = database
        self._connection = database.connection
        self._announce = announce
        self._asked: list[_Asked] = []
        self._give_up_at = 0.0
        self._is_closed = False

    def ask(self, step: Callable[[], T]) -> asyncio.Future[T]:
        """Run a step inside the next transaction; the future tells when it is on disk."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        if self._is_closed:
            answer.set_exception(self._closed())
            return answer
        if not self._asked:
            self._give_up_at = loop.time() + PATIENCE_S
            loop.call_soon(self._commit_all, loop)
        self._asked.append(_Asked(step, answer))
        return answer

    def close(self) -> None:
        """Take no more steps, and refuse those that still wait for their turn."""
        self._is_closed = True
        self._refuse_all(self._closed())

    def _closed(self) -> StoreTrouble:
        return StoreTrouble(f"the store {self._database.path} is closed", hint="open it again")

    def _commit_all(self, loop: asyncio.AbstractEventLoop, apart: bool = False) -> None:
        if not self._asked:
            return
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            if is_busy(error) and loop.time() < self._give_up_at:
                loop.call_later(moment(), self._commit_all, loop, apart)
            else:
                self._refuse_all(explained(error, self._database.path))
            return
        asked = [one for one in self._asked if not one.answer.done()]
        self._asked = []
        answers = self._committed(asked, apart)
        if answers is None:
            self._asked = asked
            self._commit_all(loop, apart=True)
            return
        for answer in answers:
            answer.give()

    def _committed(self, asked: list[_Asked], apart: bool) -> list[_Answer] | None:
        """Do and commit all steps; None when one of several is refused and they must be apart.

        That is rare, and a savepoint for every step would cost each of them a copy of its pages.
        """
        before = self._connection.total_changes
        do = self._done_apart if apart else self._done
        try:
            answers = [do(one) for one in asked]
            self._connection.execute("COMMIT")
        except Exception as error:
            self._roll_back()
            if len(asked) > 1 and not apart:
                return None
            return [_Answer(one.answer, error=self._told(error)) for one in asked]
        if self._connection.total_changes != before:
            self._announce()
        return answers

    def _done(self, asked: _Asked) -> _Answer:
        return _Answer(asked.answer, asked.step())

    def _done_apart(self, asked: _Asked) -> _Answer:
        """Do one step; a refused one leaves no trace and harms no other."""
        self._connection.execute("SAVEPOINT step")
        try:
            answer = self._done(asked)
        except Exception as error:
            if not self._connection.in_transaction:  # SQLite gave up all of it: a full disk
                raise
            self._connection.execute("ROLLBACK TO step")
            answer = _Answer(asked.answer, error=self._told(error))
        self._connection.execute("RELEASE step")
        return answer

    def _told(self, error: Exception) -> Exception:
        if isinstance(error, sqlite3.Error):
            return explained(error, self._database.path)
        return error

    def _roll_back(self) -> None:
        if self._connection.in_transaction:  # a full disk may have rolled back already
            self._connection.execute("ROLLBACK")

    def _refuse_all(self, error: Exception) -> None:
        asked, self._asked = self._asked, []
        for one in asked:
            _Answer(one.answer, error=error).give()
