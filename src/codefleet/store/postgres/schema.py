"""Upgrading the database: numbered files, forward only, one process at a time."""

from pathlib import Path

from psycopg.errors import LockNotAvailable

from codefleet.domain.errors import StoreTrouble
from codefleet.domain.model import Task
from codefleet.store.postgres.connection import Connection
from codefleet.store.postgres.tasks import put_texts
from codefleet.store.postgres.transaction import STATEMENTS, Transaction

OLDEST = 140000
ATTEMPTS = 200
"""How often to wait for another process that upgrades the database: ten minutes in all."""

_HERE = Path(__file__).parent
_MARK = "codefleet_migrations"
"""The table that identifies a fleet's database."""


async def brought_up_to_date(connection: Connection, place: str, *, create: bool) -> None:
    """Apply the migrations that the database does not have yet."""
    await _refuse_unfit(connection, place)
    for _ in range(ATTEMPTS):
        applied = await _applied(connection)
        if applied is not None and applied > len(_migrations()):
            raise StoreTrouble(
                f"the store {place} was written by a newer codefleet", hint="upgrade codefleet"
            )
        if applied == len(_migrations()):
            return
        try:
            async with connection.transaction():
                await _migrate(connection, place, create)
        except LockNotAvailable:  # the holder of the lock is at work, or froze
            await connection.execute(STATEMENTS["end_abandoned"].encode())
    raise StoreTrouble(
        f"another process has been upgrading the store {place} for a long time",
        hint="try again when it is done",
    )


async def _migrate(connection: Connection, place: str, create: bool) -> None:
    for statement in STATEMENTS["lock_migrations"].split(";"):
        await connection.execute(statement.encode())
    # Counted again under the lock: another process may have been first.
    applied = await _applied(connection)
    if applied is None:
        await _refuse_strange(connection, place, create)
        await connection.execute(f"CREATE TABLE {_MARK} (number int PRIMARY KEY)".encode())
    for number, file in enumerate(_migrations()[applied or 0 :], start=(applied or 0) + 1):
        await connection.execute(file.read_bytes())
        await connection.execute(f"INSERT INTO {_MARK} VALUES ({number})".encode())
    async with connection.talk() as talk:
        await _put_missing_texts(Transaction(talk))


async def _put_missing_texts(tx: Transaction) -> None:
    """Index the words of tasks that are older than the index of words, a few tasks at a time."""
    place = 0
    while found := await tx.rows("tasks_without_text", after=place):
        await put_texts(tx, [Task.from_json(body) for _, body in found])
        place = found[-1][0]


async def _refuse_unfit(connection: Connection, place: str) -> None:
    asked = await connection.execute(STATEMENTS["server"].encode())
    words, number, encoding = await asked.fetchone() or ("", 0, "")
    if number < OLDEST:
        raise StoreTrouble(
            f"the server of the store {place} is PostgreSQL {words}",
            hint=f"use PostgreSQL {OLDEST // 10000} or newer",
        )
    if encoding != "UTF8":
        raise StoreTrouble(
            f"the database of the store {place} cannot store all characters: it is {encoding}",
            hint="create one that can: createdb --encoding=UTF8 --template=template0 NAME",
        )


async def _refuse_strange(connection: Connection, place: str, create: bool) -> None:
    if not create:
        raise StoreTrouble(f"there is no store at {place} yet", hint="run `fleet init`")
    if await _has_table(connection, "tasks"):
        raise StoreTrouble(
            f"the database of the store {place} has tables of another program",
            hint="create a database for the fleet alone: createdb --encoding=UTF8 NAME",
        )


async def _applied(connection: Connection) -> int | None:
    """How many migrations the database has; None if there is no store."""
    if not await _has_table(connection, _MARK):
        return None
    found = await connection.execute(f"SELECT coalesce(max(number), 0) FROM {_MARK}".encode())
    row = await found.fetchone()
    return int(row[0]) if row else None


async def _has_table(connection: Connection, name: str) -> bool:
    """Ask the catalogue itself: `to_regclass` caches what was missing before a lock."""
    found = await connection.execute(STATEMENTS["has_table"].encode(), {"name": name})
    return await found.fetchone() == (True,)


def _migrations() -> list[Path]:
    return sorted((_HERE / "migrations").glob("*.sql"))
