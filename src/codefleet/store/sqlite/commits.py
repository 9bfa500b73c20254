"""Steps that are committed together: all that were requested in one turn of the event loop.

A commit to disk is almost the whole cost of a small write, so concurrent writers share one: each
leaves its step and lets the others of this turn do the same, and the first to resume commits them
all. Each step still succeeds or fails alone. Nothing waits inside SQLite and no transaction spans
an await, so a step is also atomic for the other coroutines of this process.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

from codefleet.domain.errors import StoreTrouble
from codefleet.domain.validation import no_text
from codefleet.store.sqlite.database import Database
from codefleet.store.sqlite.trouble import explained, is_busy, moment

PATIENCE_S = 30.0

T = TypeVar("T")


class _Asked:
    """One step on its way to disk."""

    __slots__ = ("error", "is_over", "result", "step", "waiter")

    def __init__(self, step: Callable[[], Any]) -> None:
        self.step = step
        self.is_over = False
        self.result: Any = None
        self.error: Exception | None = None
        self.waiter: asyncio.Future[None] | None = None

    def end(self, error: Exception | None = None) -> None:
        """It is on disk, or refused; or no longer wanted, because its writer was cancelled."""
        self.is_over = True
        self.error = error
        if self.waiter and not self.waiter.done():
            self.waiter.set_result(None)


class Commits:
    """The only way to write anything; `announce` is called after each commit."""

    def __init__(
        self, database: Database, announce: Callable[[], None], confirm: Callable[[], None]
    ) -> None:
        """`confirm` checks before and after each commit that the file is still the store."""
        self._database = database
        self._confirm = confirm
        self._connection = database.connection
        self._announce = announce
        self._asked: list[_Asked] = []
        self._give_up_at = 0.0
        self._will_retry = False
        self._is_closed = False

    async def ask(self, step: Callable[[], T]) -> T:
        """Run a step inside the next transaction; returns its result once it is on disk."""
        if self._is_closed:
            raise self._closed()
        asked = _Asked(step)
        self._asked.append(asked)
        try:
            await asyncio.sleep(0)  # for the other writers of this turn
            if not asked.is_over and not self._will_retry:
                loop = asyncio.get_running_loop()
                self._give_up_at = loop.time() + PATIENCE_S
                self._commit_all(loop)
            if not asked.is_over:
                asked.waiter = asyncio.get_running_loop().create_future()
                await asked.waiter
        except asyncio.CancelledError:
            asked.end()
            raise
        if asked.error is not None:
            raise asked.error
        result: T = asked.result
        return result

    def close(self) -> None:
        """Take no more steps, and refuse those that are queued."""
        self._is_closed = True
        self._refuse_all(self._closed())

    def _closed(self) -> StoreTrouble:
        return StoreTrouble(f"the store {self._database.path} is closed", hint="open it again")

    def _commit_all(self, loop: asyncio.AbstractEventLoop, apart: bool = False) -> None:
        """Commit all queued steps; a little later if another process is writing."""
        self._will_retry = False
        asked = self._asked = [one for one in self._asked if not one.is_over]
        if not asked:
            return
        try:
            self._confirm()
            self._connection.execute("BEGIN IMMEDIATE")
        except StoreTrouble as gone:
            self._refuse_all(gone)
            return
        except sqlite3.Error as error:
            if is_busy(error) and loop.time() < self._give_up_at:
                self._will_retry = True
                loop.call_later(moment(), self._commit_all, loop, apart)
            else:
                self._refuse_all(explained(error, self._database.path))
            return
        if self._are_committed(asked, apart):
            self._asked = []
        else:
            self._commit_all(loop, apart=True)

    def _are_committed(self, asked: list[_Asked], apart: bool) -> bool:
        """Do and commit all steps; False if one of several is refused and they must be done apart.

        That is rare, and a savepoint for every step would cost each of them a copy of its pages.
        """
        before = self._connection.total_changes
        try:
            for one in asked:
                if apart:
                    self._do_apart(one)
                else:
                    one.result = one.step()
            self._connection.execute("COMMIT")
            self._confirm()
        except Exception as error:
            self._roll_back()
            if len(asked) > 1 and not apart:
                return False
            for one in asked:
                one.end(self._told(error))
            return True
        if self._connection.total_changes != before:
            self._announce()
        for one in asked:
            one.end(one.error)
        return True

    def _do_apart(self, asked: _Asked) -> None:
        """Do one step; a refused one leaves no trace and does not affect the others."""
        self._connection.execute("SAVEPOINT step")
        try:
            asked.result = asked.step()
        except Exception as error:
            if not self._connection.in_transaction:  # SQLite rolled back everything: a full disk
                raise
            self._connection.execute("ROLLBACK TO step")
            asked.error = self._told(error)
        self._connection.execute("RELEASE step")

    def _told(self, error: Exception) -> Exception:
        if isinstance(error, sqlite3.Error):
            return explained(error, self._database.path)
        return no_text() if isinstance(error, UnicodeEncodeError) else error

    def _roll_back(self) -> None:
        if self._connection.in_transaction:  # a full disk may have rolled it back already
            self._connection.execute("ROLLBACK")

    def _refuse_all(self, error: Exception) -> None:
        asked, self._asked = self._asked, []
        for one in asked:
            one.end(error)
