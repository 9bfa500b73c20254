"""Two machines that reach the database only through pgbouncer in transaction pooling mode."""

from pathlib import Path

import pytest

from codefleet.domain.model import Draft
from tests import pgbouncer
from tests.faults.pair import pair
from tests.script import script
from tests.store.conftest import skip_or_fail

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TASKS = 20
BOUND_S = 180.0


def backlog() -> list[Draft]:
    """Tasks that each see the work of the one they need."""
    drafts = []
    for number in range(TASKS):
        before = number - 4
        sees = [f"shell test -f n/{before}.txt"] if before >= 0 else []
        drafts.append(
            Draft(
                title=f"Task {number}",
                name=f"t{number}",
                needs=(f"t{before}",) if before >= 0 else (),
                prompt=script(*sees, f"write n/{number}.txt {number}"),
                repo="shop",
            )
        )
    return drafts


async def test_two_machines_share_a_backlog_through_a_pool(tmp_path: Path) -> None:
    skip_or_fail(pgbouncer.missing())
    store = pgbouncer.fresh()
    hears = {"FLEET_STORE_DIRECT": pgbouncer.direct(store)}
    async with pair(tmp_path, store, for_bob=hears, for_both={}) as machines:
        await machines.fleet.add(backlog())
        await machines.work(BOUND_S)
        await machines.stop()
        await machines.assert_each_landed_once()
        runs = await machines.fleet.core.store.runs()
        assert len(runs) == TASKS
        assert {run.host for run in runs} == {"ada", "bob"}
        seqs = [event.seq for event in await machines.fleet.core.store.events(limit=100_000)]
        assert seqs == list(range(1, len(seqs) + 1))
