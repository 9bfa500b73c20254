"""Where a path leads that an agent wants to use, links followed, as rules name it."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path


def told(paths: Iterable[str], worktree: Path) -> str:
    """The files behind these paths, one on a line: from the worktree's top, or else in full."""
    top = os.path.realpath(worktree)
    found = (place for path in paths for place in _places(path.replace("\0", ""), top))
    return "\n".join(dict.fromkeys(_seen(place, top) for place in found))


def _places(path: str, top: str) -> Iterator[str]:
    """The file itself and, if that is a link, also what is written when one writes to it."""
    named = Path(top, path)
    if named.name != "..":
        yield str(Path(os.path.realpath(named.parent), named.name))
    yield os.path.realpath(named)


def _seen(place: str, top: str) -> str:
    return place.removeprefix(f"{top}/")
