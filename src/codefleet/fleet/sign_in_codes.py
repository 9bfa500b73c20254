"""Codes with which a browser at this machine signs in: each is good once, for a few minutes.

A code is a file of the home, named by its hash. Whoever removes the file has used the code.
"""

from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

from codefleet.fleet.key_files import create, new_secret

LASTS = timedelta(minutes=5)


def new(home: Path, now: datetime) -> str:
    """A new code; those that have expired are removed."""
    for file in _folder(home).glob("[!.]*"):  # not the draft of a code that is being created
        if not _is_good(_until(file), now):
            file.unlink(missing_ok=True)
    code = new_secret()[:32]
    create(_file(home, code), (now + LASTS).isoformat())
    return code


def use(home: Path, code: str, now: datetime) -> bool:
    """Use a code up: was it good? Of several who try at once, one succeeds."""
    file = _file(home, code)
    until = _until(file)
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    return _is_good(until, now)


def _is_good(until: datetime | None, now: datetime) -> bool:
    return until is not None and until - LASTS <= now < until


def _until(file: Path) -> datetime | None:
    try:
        return datetime.fromisoformat(file.read_text())
    except (FileNotFoundError, ValueError):
        return None


def _folder(home: Path) -> Path:
    return home / "keys" / "sign-in"


def _file(home: Path, code: str) -> Path:
    return _folder(home) / sha256(code.encode(errors="replace")).hexdigest()
