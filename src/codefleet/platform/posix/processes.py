"""Other processes, through `ps`, psutil and polling."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

import psutil

from codefleet.platform.posix import ps

LOOK_S = 0.05
LOOK_CLOSELY_S = 1.0
WAIT_S = 1.0

T = TypeVar("T")


def pids() -> Iterator[int]:
    me, user = os.getpid(), os.geteuid()
    for each in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if each.pid != me and user in (0, each.uids().real):
                yield each.pid


def started(pid: int) -> int | None:
    row = ps.one(pid) if _is_there(pid) else None
    return row.started if row else None


def is_alive(pid: int, since: int) -> bool:
    row = ps.one(pid) if _is_there(pid) else None
    return row is not None and row.is_same(since)


def send(pid: int, since: int, what: signal.Signals) -> None:
    if is_alive(pid, since):
        with suppress(ProcessLookupError):
            os.kill(pid, what)


def kill(processes: Iterable[tuple[int, int]]) -> None:
    there = [*processes]
    rows = ps.everything()
    hit = [pid for pid, since in there if pid in rows and rows[pid].is_same(since)]
    for pid in hit:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + WAIT_S
    while any(map(_is_running, hit)) and time.monotonic() < until:
        time.sleep(LOOK_S)


async def ended(pid: int, since: int) -> None:
    """Look often whether there is such a pid, and now and then whether it is the same process."""
    loop = asyncio.get_running_loop()
    closely = 0.0
    while _is_running(pid):
        if loop.time() >= closely:
            if not is_alive(pid, since):
                return
            closely = loop.time() + LOOK_CLOSELY_S
        await asyncio.sleep(LOOK_S)


async def child_ended(pid: int) -> None:
    while _is_running(pid):  # noqa: ASYNC110  # there is nothing to wait for
        await asyncio.sleep(LOOK_S)


def descendants(pid: int) -> set[int]:
    return {child.pid for child in _of(pid, lambda it: it.children(recursive=True)) or ()}


def parent(pid: int) -> int:
    return _of(pid, psutil.Process.ppid) or 0


def program(pid: int) -> str:
    return _of(pid, psutil.Process.name) or ""


def arguments(pid: int) -> Sequence[str]:
    return _of(pid, psutil.Process.cmdline) or []


def variables(pid: int, name: str) -> Sequence[str]:
    found = _of(pid, psutil.Process.environ) or {}
    return [found[name]] if name in found else []


def places(pid: int) -> Iterator[str]:
    if cwd := _of(pid, psutil.Process.cwd):
        yield cwd
    for file in _of(pid, psutil.Process.open_files) or ():
        yield file.path


def cpu_seconds(pid: int) -> float:
    return _of(pid, lambda it: sum(it.cpu_times()[:4])) or 0.0


def memory_kb(pid: int) -> int:
    """Pages that processes share are counted for each of them."""
    return (_of(pid, lambda it: it.memory_info().rss) or 0) >> 10


def _is_there(pid: int) -> bool:
    """Is there such a process, or a zombie of one?"""
    try:
        os.kill(pid, 0)
    except OSError as refused:
        return isinstance(refused, PermissionError)
    return True


def _is_running(pid: int) -> bool:
    over = (None, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    return _is_there(pid) and _of(pid, psutil.Process.status) not in over


def _of(pid: int, ask: Callable[[psutil.Process], T]) -> T | None:
    """What psutil knows of a process; None if it has ended or belongs to another user."""
    try:
        return ask(psutil.Process(pid))
    except (psutil.Error, OSError, ValueError):
        return None
