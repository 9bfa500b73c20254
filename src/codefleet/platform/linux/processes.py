"""Other processes, through /proc and pidfds."""

import asyncio
import os
import select
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from codefleet.platform.linux import stat

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
WAIT_MS = 1000
PIECE = 1 << 16


def pids() -> Iterator[int]:
    me, user = os.getpid(), os.geteuid()
    with os.scandir("/proc") as entries:
        for each in entries:
            with suppress(OSError):
                if each.name.isdecimal() and (user == 0 or each.stat().st_uid == user):
                    pid = int(each.name)
                    if pid != me:
                        yield pid


def started(pid: int) -> int | None:
    try:
        found = stat.fields(pid)
    except OSError:
        return None
    return None if found[stat.STATE] in "ZX" else int(found[stat.STARTED])


def is_alive(pid: int, since: int) -> bool:
    return started(pid) == since


def send(pid: int, since: int, what: signal.Signals) -> None:
    with suppress(ProcessLookupError), _descriptor(pid, since) as fd:
        signal.pidfd_send_signal(fd, what)


def kill(processes: Iterable[tuple[int, int]]) -> None:
    with ExitStack() as stack:
        for pid, since in processes:
            with suppress(OSError):
                fd = stack.enter_context(_descriptor(pid, since))
                signal.pidfd_send_signal(fd, signal.SIGKILL)
                stack.callback(_wait, fd)


async def ended(pid: int, since: int) -> None:
    with suppress(ProcessLookupError), _descriptor(pid, since) as fd:
        await _readable(fd)


async def child_ended(pid: int) -> None:
    with suppress(ProcessLookupError):
        fd = os.pidfd_open(pid)
        try:
            await _readable(fd)
        finally:
            os.close(fd)


def descendants(pid: int) -> set[int]:
    return stat.descendants(pid)


def parent(pid: int) -> int:
    try:
        return int(stat.fields(pid)[stat.PARENT])
    except OSError:
        return 0


def program(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(errors="surrogateescape").strip()
    return ""


def arguments(pid: int) -> Sequence[str]:
    return _texts(f"/proc/{pid}/cmdline")


def variables(pid: int, name: str) -> Sequence[str]:
    start = os.fsencode(f"{name}=")
    found = _read(f"/proc/{pid}/environ")
    if start not in found:
        return []
    texts = (text for text in found.split(b"\0") if text.startswith(start))
    return [os.fsdecode(text.removeprefix(start)) for text in texts]


def places(pid: int) -> Iterator[str]:
    at = f"/proc/{pid}"
    with suppress(OSError), os.scandir(f"{at}/fd") as files:
        for link in (f"{at}/cwd", f"{at}/root", *(file.path for file in files)):
            with suppress(OSError):
                yield os.readlink(link)  # noqa: PTH115  # there are thousands


def cpu_seconds(pid: int) -> float:
    try:
        return sum(map(int, stat.fields(pid)[stat.CPU])) / TICKS_PER_S
    except OSError:
        return 0.0


def memory_kb(pid: int) -> int:
    """Each process with its share of shared pages."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # it has ended, or belongs to another user
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line[:4] == "Pss:"), 0)


@contextmanager
def _descriptor(pid: int, since: int) -> Iterator[int]:
    """A pidfd for it; raises ProcessLookupError if it is gone."""
    fd = os.pidfd_open(pid)
    try:
        if not is_alive(pid, since):
            raise ProcessLookupError(pid)
        yield fd
    finally:
        os.close(fd)


async def _readable(fd: int) -> None:
    """Wait until this process has ended."""
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    loop.add_reader(fd, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(fd)


def _wait(fd: int) -> None:
    end = select.poll()
    end.register(fd, select.POLLIN)
    end.poll(WAIT_MS)


def _texts(file: str) -> list[str]:
    """The texts in a file of /proc, each of which ends with a zero; none if it is gone."""
    return [os.fsdecode(text) for text in _read(file).split(b"\0")[:-1]]


def _read(file: str) -> bytes:
    """What is in a file; a search for leftovers reads thousands, so without objects for each."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    text = b""
    try:
        while piece := os.read(handle, PIECE):
            text += piece
    except OSError:
        return b""
    finally:
        os.close(handle)
    return text
