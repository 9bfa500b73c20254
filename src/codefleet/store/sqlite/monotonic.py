"""The time for leases: it never jumps, and is the same for every process of this boot.

The wall clock may be set while agents work. Leases are spans, so they are measured by the uptime
of the machine. A later boot begins after all leases of the earlier ones: their holders are gone.
"""

import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from codefleet.domain.noun import instant
from codefleet.ports import Clock, Uptime
from codefleet.store import statements

_NAMED = statements.read(Path(__file__).with_name("boot.sql"))


def steady_time(
    connection: sqlite3.Connection, clock: Clock, uptime: Callable[[], Uptime]
) -> Callable[[], datetime]:
    """The steady time as a function; it begins with the first process of this boot to ask."""
    boot = uptime().boot
    began = _began(connection, boot) or _begin(connection, boot, clock, uptime)
    return lambda: began + timedelta(seconds=uptime().seconds)


def _began(connection: sqlite3.Connection, boot: str) -> datetime | None:
    found = connection.execute(_NAMED["began"], {"id": boot}).fetchone()
    return datetime.fromisoformat(found[0]) if found else None


def _begin(
    connection: sqlite3.Connection, boot: str, clock: Clock, uptime: Callable[[], Uptime]
) -> datetime:
    connection.execute("BEGIN IMMEDIATE")
    try:
        began = _began(connection, boot)  # asked again: another process may have been first
        if began is None:
            (latest,) = connection.execute(_NAMED["latest"]).fetchone()
            now = max(clock.now(), datetime.fromisoformat(latest)) if latest else clock.now()
            began = now - timedelta(seconds=uptime().seconds)
            connection.execute(_NAMED["begin"], {"id": boot, "began": instant(began)})
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return began
