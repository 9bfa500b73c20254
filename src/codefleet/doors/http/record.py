"""Where the server of a home is reached, for its own commands: a file that the server writes."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from codefleet import served
from codefleet.config.private import open_text
from codefleet.domain.errors import Refused
from codefleet.runner.process.identity import Process
from codefleet.served import FILE, Record

LOCK = "server.lock"


class Served(Record, frozen=True, kw_only=True):
    """A server with its process."""

    @property
    def process(self) -> Process:
        return Process(self.pid, self.started)


@contextmanager
def only_server(home: Path) -> Iterator[None]:
    """Be the one server of this home, or be refused; the kernel ends this with the process."""
    with open_text(home / LOCK, os.O_CREAT | os.O_APPEND) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            other = living(home)
            where = (
                f"served at {other.url} (process {other.pid})" if other else "about to be served"
            )
            raise Refused(
                f"this fleet is already {where}", hint="`fleet serve --stop` stops it"
            ) from None
        try:
            yield
        finally:
            _remove(home)


def write(home: Path, url: str) -> None:
    """Record that this process serves at this address."""
    me = Process.find(os.getpid())
    assert me
    told = Served(pid=me.pid, started=me.started, url=url)
    draft = home / f"{FILE}.{me.pid}"
    with open_text(draft, os.O_CREAT | os.O_TRUNC) as file:
        file.write(msgspec.json.encode(told).decode())
    draft.replace(home / FILE)


def living(home: Path) -> Served | None:
    """The server of this home, if it is alive."""
    return served.living(home, Served)


def _remove(home: Path) -> None:
    """Forget this process's own record."""
    found = living(home)
    if found and found.pid == os.getpid():
        (home / FILE).unlink(missing_ok=True)
