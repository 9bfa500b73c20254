"""The tree below an agent, followed from outside: nobody inherits its orphans for us.

A process belongs to it if its parent does, if its group or session began with one that does, or if
it has the variable of the run in its environment. So what escapes is a process that leaves its
session and loses its parent between two looks, and whose environment is cleared or unreadable; and
a chain of processes that each live for less than a look takes.
"""

import os
import signal
import subprocess
from contextlib import suppress

from codefleet.platform import groups
from codefleet.platform.posix import ps


class Followed:
    look_every: float | None = 1.0

    def __init__(self, variable: str) -> None:
        self._variable = variable
        self._rows: dict[int, ps.Row] = {}
        self._known: dict[int, int] = {}
        self._leaders: set[int] = set()

    def look(self, agent: int) -> None:
        """Note them, with the groups and sessions that they are in, even if they are zombies."""
        self._ask()
        if agent in self._rows:
            self._known.setdefault(agent, self._rows[agent].started)
        self._update(self._rows)

    def any_left(self) -> bool:
        return bool(self.living())

    def living(self) -> set[int]:
        self._ask()
        self._known |= {pid: self._rows[pid].started for pid in self._marked() & {*self._rows}}
        self._update(self._rows)
        return {pid for pid in self._known if not self._rows[pid].is_zombie}

    def send(self, what: signal.Signals, pids: set[int]) -> None:
        """Signal whole groups, too: what forks meanwhile is in one of them."""
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, what)
        for group in self._leaders if pids else ():
            groups.send(group, what)

    def started(self, pid: int) -> int:
        return ps.everything()[pid].started

    def _ask(self) -> None:
        with suppress(OSError, subprocess.SubprocessError):  # no more processes can be started
            self._rows = ps.everything()
        _forget_child()

    def _marked(self) -> set[int]:
        try:
            return ps.marked(self._variable)
        except (OSError, subprocess.SubprocessError):
            return set()
        finally:
            _forget_child()

    def _update(self, rows: dict[int, ps.Row]) -> None:
        led_by = _leaders(rows)
        known = {p: at for p, at in self._known.items() if p in rows and rows[p].is_same(at)}
        leaders = self._leaders.union(*(led_by[pid] for pid in known))
        new = [row for row in rows.values() if row.pid not in known]
        while ours := [row for row in new if row.parent in known or leaders & led_by[row.pid]]:
            known |= {row.pid: row.started for row in ours}
            leaders = leaders.union(*(led_by[row.pid] for row in ours))
            new = [row for row in new if row.pid not in known]
        self._known = known
        # Without members they are forgotten: another process may get the number then.
        self._leaders = set[int]().union(*(led_by[pid] for pid in known))


def _leaders(rows: dict[int, ps.Row]) -> dict[int, set[int]]:
    """The group and session of each, named by the pid of its first process, except our own."""
    ours = {os.getpgrp(), os.getsid(0)}
    return {pid: {row.group, _session(pid)} - ours - {0} for pid, row in rows.items()}


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:  # it is gone, or its session is nobody's business
        return 0


def _forget_child() -> None:
    """Our child `ps` has ended; whether the agent has, the keeper asks anyway."""
    if signal.SIGCHLD in signal.sigpending():
        signal.sigwait({signal.SIGCHLD})
