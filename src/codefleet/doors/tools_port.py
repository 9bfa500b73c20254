"""The port at which the agents of a home find their tools: the same after every restart.

All runners of a home listen on it at once, and the system gives each connection to one of them. So
it does not matter which runner started an agent, or which of them ends first.
"""

import fcntl
import os
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codefleet.config.private import make_folder, open_text

FILE = "tools.port"
LOCK, SERVING = "tools-port.lock", "tools.lock"
HOST = "127.0.0.1"
BACKLOG = 1024
RANGE = range(20_000, 32_000)
"""Below the ports that systems give to outgoing connections, which could take ours meanwhile."""
TRIES = 100


@contextmanager
def listening(home: Path) -> Iterator[socket.socket]:
    """A socket at the port of this home; at a new one if a stranger has taken the old one."""
    make_folder(home / "locks")
    serving = _opened(home / "locks" / SERVING)
    try:
        with _alone(home):
            listener = _listener(home, is_shared=not _is_first(serving))
        with listener:
            yield listener
    finally:
        os.close(serving)


def _listener(home: Path, *, is_shared: bool) -> socket.socket:
    old = _remembered(home)
    if old and (is_shared or _is_free(old)) and (listener := _bound(old)):
        return listener
    for port in random.sample(RANGE, TRIES):
        if _is_free(port) and (listener := _bound(port)):
            _remember(home, port)
            return listener
    raise OSError(f"no free port between {RANGE.start} and {RANGE.stop}")


def _bound(port: int) -> socket.socket | None:
    """A socket at this port, together with those of other runners of this user."""
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((HOST, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        return None
    return listener


def _is_free(port: int) -> bool:
    """Does nobody listen there, not even somebody who would share it?"""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen()
        except OSError:
            return False
    return True


def _is_first(serving: int) -> bool:
    """Does no other runner of this home listen? From now on, others know that we do."""
    try:
        fcntl.flock(serving, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        fcntl.flock(serving, fcntl.LOCK_SH)
    return True


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """One runner of a home chooses at a time."""
    lock = _opened(home / "locks" / LOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _opened(lock: Path) -> int:
    return os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _remembered(home: Path) -> int | None:
    try:
        port = int((home / FILE).read_text())
    except (OSError, ValueError):
        return None
    return port if 0 < port < 1 << 16 else None


def _remember(home: Path, port: int) -> None:
    draft = home / f".{FILE}.{os.getpid()}"
    with open_text(draft, os.O_CREAT | os.O_TRUNC) as file:
        file.write(f"{port}\n")
    draft.replace(home / FILE)
