"""Where a path that an agent wants to use leads, with links resolved, as rules name it."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path


def resolved(paths: Iterable[str], worktree: Path) -> str:
    """The files behind these paths, one per line: relative to the worktree, or else absolute."""
    top = os.path.realpath(worktree)
    found = (place for path in paths for place in _places(path.replace("\0", ""), top))
    return "\n".join(dict.fromkeys(_seen(place, top) for place in found))


def _places(path: str, top: str) -> Iterator[str]:
    """The file itself and, if it is a link, also its target."""
    named = Path(top, path)
    if named.name != "..":
        yield str(Path(os.path.realpath(named.parent), named.name))
    yield os.path.realpath(named)


def _seen(place: str, top: str) -> str:
    return place.removeprefix(f"{top}/")
