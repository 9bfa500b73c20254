"""Finding and ending the processes that a run or a command left behind, however they hide.

What a run starts carries two marks. One is a variable, `FLEET_RUN`, which `env -i` drops. The other
is a resource limit that limits nothing: every child inherits it, through `setsid`, double forks and
exec, and it cannot be removed without privileges. It is the limit on the CPU time of real-time
processes, set to thousands of years, as a number computed from the name of the run.
"""

import os
import resource
import select
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from codefleet.callers import IN_A_FOLDER, LOWEST_MARK, TAG, mark_of
from codefleet.runner.process import Process

LIMIT = b"Max realtime timeout"
HIGHEST, LOWEST = 62, LOWEST_MARK.bit_length() - 1
"""Exponents of two, in microseconds: 146,000 years, and one year."""
ROUNDS = 20
WAIT_MS = 1000


def tag_of(folder: Path) -> str:
    """The tag of commands in a folder that do not belong to a run."""
    return f"{IN_A_FOLDER}{folder.resolve()}"


def mark(tag: str, below: int = resource.RLIM_INFINITY) -> int | None:
    """The limit that marks what belongs to this tag; None if no room is left `below`.

    An agent that starts a fleet of its own is already marked: its fleet's marks are lower.
    """
    exponent = HIGHEST if below == resource.RLIM_INFINITY else below.bit_length() - 1
    return mark_of(tag, exponent - 1) if exponent > LOWEST else None


def put_mark(pid: int, tag: str) -> None:
    """Mark a process that has just been started."""
    with suppress(OSError, ValueError):  # it has ended, or has no room for a mark
        _, hard = resource.prlimit(pid, resource.RLIMIT_RTTIME)
        if (number := mark(tag, hard)) is not None:
            resource.prlimit(pid, resource.RLIMIT_RTTIME, (number, number))


def sweep(*tags: str) -> int:
    """Kill every process that belongs to these tags; returns how many there were."""
    wanted = [*filter(None, tags)]
    found: set[Process] = set()
    for _ in range(ROUNDS):  # catches what forks while it is being killed
        pids = [pid for pid in _all() if _belongs(pid, wanted)]
        tagged = set(filter(None, map(Process.find, pids)))
        if not tagged:
            break
        found |= tagged
        _kill(tagged)
    return len(found)


def living_in(folder: Path) -> list[Process]:
    """Processes that work in a folder: as their working directory, or with a file open there."""
    whole = folder.resolve()
    return [*filter(None, (Process.find(pid) for pid in _all() if _is_in(pid, whole)))]


def _all() -> Iterator[int]:
    """Every process that we may inspect and signal, except ourselves."""
    me, user = os.getpid(), os.geteuid()
    with os.scandir("/proc") as entries:
        for each in entries:
            with suppress(OSError):
                if each.name.isdecimal() and user in (0, each.stat().st_uid):
                    pid = int(each.name)
                    if pid != me:
                        yield pid


def _belongs(pid: int, tags: Sequence[str]) -> bool:
    number = _limit(pid)
    exponent = number.bit_length() - 1
    if exponent >= LOWEST and any(number == mark_of(tag, exponent) for tag in tags):
        return True
    variables = b"\0" + _text(f"/proc/{pid}/environ")
    return any(f"\0{TAG}={tag}\0".encode(errors="surrogateescape") in variables for tag in tags)


def _limit(pid: int) -> int:
    """The hard limit that carries the mark; 0 if there is none."""
    _, found, rest = _text(f"/proc/{pid}/limits").partition(LIMIT)
    words = rest.split(maxsplit=2)
    return int(words[1]) if found and words[1].isdigit() else 0


def _text(file: str) -> bytes:
    """The contents of a small file in /proc; empty if it is gone or not readable."""
    with suppress(OSError):
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return b"".join(iter(lambda: os.read(handle, 1 << 16), b""))
        finally:
            os.close(handle)
    return b""


def _is_in(pid: int, folder: Path) -> bool:
    at = Path(f"/proc/{pid}")
    with suppress(OSError):
        links = (at / "cwd", at / "root", *(at / "fd").iterdir())
        return any(_leads_into(link, folder) for link in links)
    return False


def _leads_into(link: Path, folder: Path) -> bool:
    with suppress(OSError):
        return link.readlink().is_relative_to(folder)
    return False


def _kill(processes: Iterable[Process]) -> None:
    """Kill them and wait briefly for each to end."""
    with ExitStack() as stack:
        for process in processes:
            with suppress(OSError):
                fd = stack.enter_context(process.descriptor())
                signal.pidfd_send_signal(fd, signal.SIGKILL)
                stack.callback(_wait, fd)


def _wait(fd: int) -> None:
    end = select.poll()
    end.register(fd, select.POLLIN)
    end.poll(WAIT_MS)
