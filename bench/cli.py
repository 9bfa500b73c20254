"""How long a user waits: commands from a cold start next to the bare libraries they use.

Both run from bytecode, as installed programs do, whatever the environment says.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from bench.row import Row
from codefleet.domain.model import Draft
from codefleet.wiring import open_fleet

ROUNDS = 10
BATCH = 1_000
LIBRARIES = "import asyncio, sqlite3, click, msgspec"
COMMANDS = ("status", "list")


def measure(quick: bool) -> list[Row]:
    """Each command in a full store, alternating with an interpreter that only loads libraries."""
    tasks = 1_000 if quick else 10_000
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        asyncio.run(_fill(Path(folder), tasks))
        return [_row(Path(folder), command, tasks) for command in COMMANDS]


async def _fill(home: Path, tasks: int) -> None:
    """A queue in which every second task needs the one before it."""
    async with open_fleet(home, create=True) as fleet:
        await fleet.register("/bench", "main", None)
        for start in range(0, tasks, BATCH):
            await fleet.add([_draft(number) for number in range(start, start + BATCH)])


def _draft(number: int) -> Draft:
    return Draft(
        name=f"n{number}",
        title=f"Extract part {number} of the mailer",
        prompt="Move it into a module of its own and cover it with tests.",
        priority=1 + number % 5,
        needs=(f"n{number - 1}",) if number % 2 else (),
    )


def _row(home: Path, command: str, tasks: int) -> Row:
    name = f"fleet {command} from cold, {tasks:,} tasks (goal: below 200 ms)"
    return Row(name, *cold(home, command), "ms", None)


def cold(home: Path, command: str) -> tuple[float, float]:
    """Milliseconds of a command, and of an interpreter that only loads the libraries."""
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": f"{home}/bytecode"}
    ours, raw = [], []
    for _ in range(1 + ROUNDS):
        ours.append(_milliseconds(["-m", "codefleet", "--home", str(home), command], env))
        raw.append(_milliseconds(["-c", LIBRARIES], env))
    return median(ours[1:]), median(raw[1:])  # the first one wrote the bytecode


def _milliseconds(args: Sequence[str], env: Mapping[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *args], check=True, capture_output=True, env=env)
    return (time.perf_counter() - start) * 1000
