"""The whole fleet on PostgreSQL: the demo, with agents, checks, crashes and landings."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from codefleet.store.postgres.store import PostgresStore
from tests import postgres
from tests.store.conftest import needs_postgres, postgres_server

pytestmark = [needs_postgres, pytest.mark.slow]
__all__ = ["postgres_server"]

BOUND_S = 110


def test_the_demo_lands_all_its_tasks_on_postgresql(tmp_path: Path) -> None:
    address = postgres.shared().fresh()
    env = {**os.environ, "FLEET_STORE": address, "FLEET_HOME": str(tmp_path), "NO_COLOR": "1"}
    words = [sys.executable, "-m", "codefleet", "demo"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=BOUND_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert asyncio.run(counts(address)) == {"completed": 10}


async def counts(address: str) -> dict[str, int]:
    store = await PostgresStore.open(address, create=False)
    try:
        return dict(await store.counts())
    finally:
        await store.close()
