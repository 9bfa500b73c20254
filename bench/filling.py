"""Write a history into a store in bulk, bypassing its verbs, which would take hours."""

import asyncio
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from types import ModuleType

import psycopg
from psycopg import sql

from bench.history import EVENTS_EACH, History, OfNoun, Row, Rows
from bench.store import RealClock
from codefleet.domain.noun import instant
from codefleet.store.postgres import rows as postgres_rows
from codefleet.store.postgres.store import PostgresStore
from codefleet.store.sqlite import rows as sqlite_rows
from codefleet.store.sqlite.store import SqliteStore

AT_ONCE = 50_000
OF_INDEXES = """
SELECT indexname, indexdef FROM pg_indexes
WHERE schemaname = current_schema() AND indexname NOT IN (SELECT conname FROM pg_constraint)
"""
OF_COLUMNS = """
SELECT column_name FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = %s
    AND is_identity = 'NO' AND is_generated = 'NEVER'
"""


def into_sqlite(path: Path, many: int) -> History:
    """Fill a new file. Indexes are created last: sorting once is faster than keeping order."""
    asyncio.run(SqliteStore.open(path, clock=RealClock()).close())
    history = History(many, Rows(*_of_nouns(sqlite_rows), instant))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    ).fetchall()
    connection.execute("BEGIN IMMEDIATE")
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    for table in history.tables():
        _insert(connection, table.name, table.rows)
    for _, made in indexes:
        connection.execute(made)
    connection.execute("COMMIT")
    connection.close()
    return history


def _of_nouns(engine: ModuleType) -> tuple[OfNoun, OfNoun, OfNoun, OfNoun]:
    return engine.of_task, engine.of_text, engine.of_run, engine.of_event


def _insert(connection: sqlite3.Connection, table: str, given: Iterator[Row]) -> None:
    known = [
        row[1]
        for row in connection.execute(f"PRAGMA table_xinfo({table})")
        if row[6] == 0  # what the engine does not compute itself
    ]
    while some := list(islice(given, AT_ONCE)):
        columns = [name for name in known if name in some[0]]
        places = ", ".join("?" * len(columns))
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"
        connection.executemany(statement, ([row[name] for name in columns] for row in some))


def into_postgres(address: str, many: int) -> History:
    """Fill a new database in the same way."""
    asyncio.run(_made(address))
    of_nouns = Rows(
        postgres_rows.of_task,
        postgres_rows.of_text,
        postgres_rows.of_run,
        postgres_rows.of_event,
        _as_it_is,
    )
    history = History(many, of_nouns)
    with psycopg.connect(address) as connection:
        indexes = connection.execute(OF_INDEXES).fetchall()
        for name, _ in indexes:
            connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
        for table in history.tables():
            _copy(connection, table.name, table.rows)
        for _, made in indexes:
            connection.execute(made.encode())
        connection.execute("UPDATE log SET seq = %s", [many * EVENTS_EACH])
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    return history


async def _made(address: str) -> None:
    await (await PostgresStore.open(address)).close()


def _as_it_is(moment: datetime) -> datetime:
    return moment


def _copy(connection: psycopg.Connection, table: str, given: Iterator[Row]) -> None:
    known = [name for (name,) in connection.execute(OF_COLUMNS, [table])]
    columns = sql.SQL(", ").join(map(sql.Identifier, known))
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), columns)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in given:
            copy.write_row([_listed(row[name]) for name in known])


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
