"""A connection, and the talks held over it: many statements that are sent together.

psycopg's own pipelines make a cursor for each statement and send each by itself, which costs more
than the statement. A talk uses the layer below (`psycopg.pq`): statements wait until someone needs
a result; then all are sent at once, and all results are read.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from itertools import count
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg import postgres
from psycopg.abc import PQGen
from psycopg.adapt import Dumper, PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import fetch_many, send
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult
from psycopg.waiting import wait_async

from codefleet.store.postgres import rows
from codefleet.store.postgres.trouble import is_outdated

Row = tuple[Any, ...]
_Key = tuple[bytes, tuple[int, ...]]
_LOOK_S = 1.0
"""How long psycopg waits for a result at a time."""


class Connection(psycopg.AsyncConnection[Row]):
    """A connection to the server. Through a pool, each transaction may reach another process."""

    is_direct = False
    """Does the server itself answer, so that it can keep statements and settings?"""
    is_for_writing = False
    """Does the server keep the settings for writing?"""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.adapters.register_dumper(list, Texts)
        self._kept = Kept()

    async def wait(self, *args: Any, **more: Any) -> Any:
        """Wait for the server. A cancelled task stays cancelled if the connection breaks meanwhile:
        psycopg would report only the broken connection, and the task would start over."""
        try:
            return await super().wait(*args, **more)
        except psycopg.Error:
            if _is_cancelled():
                raise asyncio.CancelledError from None
            raise

    def talk(self) -> "Talk":
        """A talk; nothing else may be sent over this connection while it lasts."""
        return Talk(self, self._kept)


class Texts(Dumper):
    """A list of texts to send. psycopg's own dumper inspects the type of each element."""

    oid = postgres.types["text"].array_oid

    def dump(self, obj: list[str]) -> bytes:
        quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in obj)
        listed: str = rows.plain(",".join(f'"{text}"' for text in quoted))
        return f"{{{listed}}}".encode()


class Reply:
    """The server's result of one statement, once it is there."""

    def __init__(self, talk: "Talk") -> None:
        self._talk = talk
        self._result: PGresult | None = None

    def take(self, result: PGresult) -> None:
        """Store the result."""
        self._result = result

    def is_by(self, result: PGresult) -> bool:
        """Is it complete with this result?"""
        return True

    async def rows(self) -> list[Row]:
        """All rows; waits for them."""
        if self._result is None:
            await self._talk.hear()
        assert self._result
        return self._talk.rows_of(self._result)


class Kept:
    """The statements that the server keeps for one connection, by text and types."""

    def __init__(self) -> None:
        self._names: dict[_Key, bytes] = {}
        self._sent: dict[_Key, bytes] = {}
        self._numbers = count(1)

    def name(self, key: _Key) -> bytes | None:
        """The name of a statement that is there, or was sent."""
        return self._names.get(key) or self._sent.get(key)

    def new_name(self, key: _Key) -> bytes:
        name = self._sent[key] = b"fleet_%d" % next(self._numbers)
        return name

    def confirm(self, key: _Key) -> None:
        self._names[key] = self._sent.pop(key)

    def forget(self, error: psycopg.Error) -> None:
        """After an error, the server ignores what else was sent."""
        self._sent.clear()
        if is_outdated(error):
            self._names.clear()


class _Keeping(Reply):
    """The result of preparing a statement."""

    def __init__(self, talk: "Talk", kept: Kept, key: _Key) -> None:
        super().__init__(talk)
        self._kept = kept
        self._key = key

    def take(self, result: PGresult) -> None:
        super().take(result)
        if result.status == ExecStatus.COMMAND_OK:
            self._kept.confirm(self._key)


class _Ending(Reply):
    """The result of the end of a talk. If the commit itself fails, the error comes before it."""

    def is_by(self, result: PGresult) -> bool:
        return result.status == ExecStatus.PIPELINE_SYNC


class Talk:
    """Everything from its beginning to its end is one implicit transaction.

    It is committed when the talk ends, unless it ends with an error: then it is rolled back.
    """

    def __init__(self, connection: Connection, kept: Kept) -> None:
        self._connection = connection
        self._line = connection.pgconn
        self._kept = kept
        self._words = Transformer(connection)
        self._unheard: deque[Reply] = deque()
        self._error: psycopg.Error | None = None

    async def __aenter__(self) -> Self:
        self._line.enter_pipeline_mode()
        return self

    def say(self, text: bytes, values: Sequence[Any] = ()) -> Reply:
        """Queue a statement; its parameters are $1, $2 and so on."""
        given = self._words.dump_sequence(values, [PyFormat.AUTO] * len(values))
        types, formats = self._words.types or (), self._words.formats
        if self._connection.is_direct:
            self._line.send_query_prepared(self._named(text, types), given, formats)
        else:
            self._line.send_query_params(text, given, types, formats)
        return self._await(Reply(self))

    def _named(self, text: bytes, types: tuple[int, ...]) -> bytes:
        """The name under which the server keeps a statement; prepares it if it is new."""
        known = self._kept.name((text, types))
        if known:
            return known
        name = self._kept.new_name((text, types))
        self._line.send_prepare(name, text, types)
        self._await(_Keeping(self, self._kept, (text, types)))
        return name

    async def hear(self) -> None:
        """Send what is queued and wait for all results."""
        self._line.send_flush_request()
        await self._hear_all()
        if self._error:
            raise self._error

    def rows_of(self, result: PGresult) -> list[Row]:
        self._words.set_pgresult(result)
        return self._words.load_rows(0, result.ntuples, tuple)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self._end()
            return
        try:
            if self._error is None:
                for word in (b"BEGIN", b"ROLLBACK"):  # a ROLLBACK without a BEGIN is a warning
                    self._line.send_query_params(word, None)
                    self._await(Reply(self))
            await self._end()
        except psycopg.Error:  # the earlier error is the one that counts
            await self._connection.close()

    async def _end(self) -> None:
        self._line.pipeline_sync()
        self._await(_Ending(self))
        known = self._error
        await self._hear_all()
        self._line.exit_pipeline_mode()
        if self._error and not known:
            raise self._error

    def _await(self, reply: Reply) -> Reply:
        self._unheard.append(reply)
        return reply

    async def _hear_all(self) -> None:
        try:
            if self._connection.is_direct:
                await self._connection.wait(self._heard())  # cancels on the server if we give up
            else:  # many versions of pgbouncer break on a cancel request
                await wait_async(self._heard(), self._line.socket, interval=_LOOK_S)
        except asyncio.CancelledError:
            # The cancel request may arrive late, and would then stop the next statement.
            await self._connection.close()
            raise

    def _heard(self) -> PQGen[None]:
        yield from send(self._line)
        while self._unheard:
            result, *_ = yield from fetch_many(self._line)
            self._unheard[0].take(result)
            if self._unheard[0].is_by(result):
                self._unheard.popleft()
            if result.status == ExecStatus.FATAL_ERROR and not self._error:
                self._error = error_from_result(result, self._connection.info.encoding)
                self._kept.forget(self._error)


def _is_cancelled() -> bool:
    """Was the current task told to stop?"""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
