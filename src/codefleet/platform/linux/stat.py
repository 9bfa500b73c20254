"""One line of /proc about each process; used by keepers too, so it imports little."""

import os

STATE, PARENT, CPU, STARTED = 0, 1, slice(11, 15), 19


def fields(pid: int) -> list[str]:
    """The fields of its `stat` after the name of its program; raises OSError if it is gone."""
    return _read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def descendants(pid: int) -> set[int]:
    found: set[int] = set()
    ahead = [pid]
    while ahead:
        new = _children(ahead.pop()) - found
        found |= new
        ahead += new
    return found


def _children(pid: int) -> set[int]:
    found: set[int] = set()
    for thread in _threads(pid):
        try:
            found.update(map(int, _read(f"/proc/{pid}/task/{thread}/children").split()))
        except OSError:
            continue
    return found


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:  # it has ended meanwhile
        return []


def _read(file: str) -> str:
    with open(file, encoding="utf-8", errors="replace") as text:
        return text.read()
