"""Which files a task claims, and whether two claims can meet.

A scope is a list of git-style globs. The question "can one path match both?" is answered exactly
for literal paths and `dir/**`, and with "yes" wherever two globs cannot be told apart.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from codefleet.domain.errors import Invalid

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

WILD = frozenset("*?[")


def valid(globs: Iterable[str]) -> None:
    """Refuse globs that could never name a file inside a repository."""
    for glob in globs:
        parts = glob.split("/")
        if not glob.strip() or glob.startswith(("!", "#")) or ".." in parts or "\0" in glob:
            raise Invalid(
                f"{glob!r} is not a file scope",
                hint="a scope is a path or glob inside the repository, such as 'src/mail/**'",
            )


def matches(scope: Iterable[str], path: str) -> bool:
    """Is this path inside the scope? A scope of nothing holds nothing."""
    return _spec(tuple(scope)).match_file(path)


def overlap(ours: Iterable[str], theirs: Iterable[str]) -> tuple[str, str] | None:
    """The first pair of globs that can name the same file, or None when no file is in both."""
    others = tuple(theirs)
    for mine in ours:
        for other in others:
            if _meet(mine, other):
                return mine, other
    return None


@lru_cache(maxsize=4096)
def _spec(globs: tuple[str, ...]) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec  # here, because it is slow to import and seldom needed

    return GitIgnoreSpec.from_lines(globs)


@lru_cache(maxsize=65536)
def _meet(left: str, right: str) -> bool:
    return _segments_meet(_segments(left), _segments(right))


def _segments(glob: str) -> tuple[str, ...]:
    """A glob as path segments from the root; a bare name may stand at any depth."""
    anchored = "/" in glob.rstrip("/")
    parts = tuple(part for part in glob.split("/") if part and part != ".")
    return parts if anchored or glob.startswith("/") else ("**", *parts)


def _segments_meet(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Can one path be inside both? A pattern that ends names a file or a whole folder."""
    if not left or not right:
        return True
    if left[0] == "**" or right[0] == "**":
        star, other = (left, right) if left[0] == "**" else (right, left)
        return any(_segments_meet(star[1:], other[skip:]) for skip in range(len(other) + 1))
    return _names_meet(left[0], right[0]) and _segments_meet(left[1:], right[1:])


def _names_meet(left: str, right: str) -> bool:
    """Can one name match both? Two wild names are told apart only by how they begin and end."""
    if not WILD & {*left, *right}:
        return left == right
    if not WILD & set(left):
        return _spec((f"/{right}",)).match_file(left)
    if not WILD & set(right):
        return _spec((f"/{left}",)).match_file(right)
    return _begin_alike(_head(left), _head(right)) and _begin_alike(_tail(left), _tail(right))


def _begin_alike(left: str, right: str) -> bool:
    return left.startswith(right) or right.startswith(left)


def _head(name: str) -> str:
    """The letters before the first wild card."""
    return name[: min(name.index(c) for c in WILD if c in name)]


def _tail(name: str) -> str:
    """The letters after the last wild card, last one first."""
    return name[max(name.rfind(c) for c in "*?]") + 1 :][::-1]
