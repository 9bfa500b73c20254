"""Rows sent to the server: one goes as values, several as a list, with the same result."""

from collections.abc import Sequence
from datetime import timedelta, timezone
from typing import Any

import psycopg

from codefleet.domain.scheduling import ClaimFilter
from codefleet.ports import Write
from codefleet.store.postgres.store import PostgresStore
from tests import postgres
from tests.store.conftest import needs_postgres
from tests.store.samples import LEASE, START, StillClock, completed, event, seat, task

pytestmark = needs_postgres

AWKWARD: dict[str, Any] = {
    "title": 'Say "no", it\'s {NULL}',
    "prompt": "a\\b\\\\u0000 \0 \u2028 \U0001f680 '; DROP TABLE tasks; --",
    "labels": ("NULL", "a,b", "{}", 'q"q', "back\\slash", " ", "line\nend", "nul\0"),
    "scope": ("src/**",),
    "priority": 5,
    "not_before": (START - timedelta(days=1)).astimezone(timezone(timedelta(hours=-9.5))),
}
PLAIN = {"coder": "claude", "assignee": "claude-2", "scope": ("docs/**",)}
TABLES = ("tasks", "texts", "needs", "runs", "events")


def sum_of(steps: Sequence[Write]) -> Write:
    return Write(
        tasks=[one for step in steps for one in step.tasks],
        runs=[one for step in steps for one in step.runs],
        events=[one for step in steps for one in step.events],
        fences={name: fence for step in steps for name, fence in step.fences.items()},
    )


async def rows_in(address: str) -> list[str]:
    async with await psycopg.AsyncConnection.connect(address) as connection:
        found = [await connection.execute(f"TABLE {table}".encode()) for table in TABLES]
        return sorted([repr(row) for one in found for row in await one.fetchall()])


async def rows_left(*, together: bool) -> list[list[str]]:
    """The contents of the tables after two tasks were added, claimed, and completed."""
    address = postgres.shared().fresh()
    store = PostgresStore(address, clock=StillClock())

    async def write(steps: Sequence[Write]) -> None:
        for step in [sum_of(steps)] if together else steps:
            await store.write(step)

    tasks = [task("awkward", **AWKWARD), task("plain", **PLAIN)]
    await write([Write(tasks=[one], events=[event("added\0", task=one.id)]) for one in tasks])
    added = await rows_in(address)
    seats = [seat("claude-1"), seat("claude-2")]
    claims = [
        claim
        for some in ([seats] if together else [[one] for one in seats])
        for claim in await store.claim(some, ClaimFilter(), lease=LEASE)
    ]
    claimed = await rows_in(address)
    await write([completed(claim) for claim in claims])
    await store.close()
    return [added, claimed, await rows_in(address)]


async def test_single_rows_are_stored_as_rows_of_a_list_are() -> None:
    alone = await rows_left(together=False)
    assert [len(rows) for rows in alone] == [6, 10, 12]
    assert alone == await rows_left(together=True)
