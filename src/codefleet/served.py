"""Where this home is served, by the record that its server keeps in it."""

from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from codefleet import platform

FILE = "server.json"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A server: its process, and its address."""

    pid: int
    started: int
    url: str


R = TypeVar("R", bound=Record)


def living(home: Path, kind: type[R]) -> R | None:
    """The server of this home, if it is alive."""
    try:
        found = msgspec.json.decode((home / FILE).read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError):
        return None
    return found if platform.processes().is_alive(found.pid, found.started) else None


def own_address(url: str, home: Path) -> str | None:
    """Where to reach the living server of this home, if this is its address.

    `localhost` may be several addresses with different listeners: only the recorded one is ours.
    """
    found = living(home, Record)
    with suppress(ValueError):  # this is no address at all
        if found and _is_same(url, found.url):
            return _reachable(found.url)
    return None


def browser_address(url: str, code: str) -> str:
    """The address at which a browser of this machine signs in with a code.

    It is in the fragment, which browsers send to no server.
    """
    return f"{_reachable(url)}/#code={code}"


def _reachable(url: str) -> str:
    """An address of this machine at which a server that listens there is reached."""
    at = urlsplit(url)
    host = EVERYWHERE.get(at.hostname or "")
    return f"{at.scheme}://{host}:{at.port}" if host else url


def _is_same(url: str, recorded: str) -> bool:
    asked, at = urlsplit(url), urlsplit(recorded)
    names = {at.hostname}
    if at.hostname in LOOPBACK:
        names.add("localhost")
    if at.hostname in EVERYWHERE:
        names.update(LOOPBACK)
    is_root = not asked.path.strip("/")
    return (
        is_root and (asked.scheme, asked.port) == (at.scheme, at.port) and asked.hostname in names
    )
