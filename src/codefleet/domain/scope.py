"""Which files a task claims, and whether two claims overlap.

A scope is a list of paths and globs, relative to the root of the repository. A plain path names
that file, or that folder and everything in it. A glob means what it means in `.gitignore`. "Can one
path match both?" is answered exactly for plain paths and `dir/**`, and with "yes" if two globs
cannot be told apart. Names that differ only in capitals overlap, because on many machines they are
one file; accents are the same however they are encoded.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING
from unicodedata import normalize

from codefleet.domain.errors import Invalid
from codefleet.domain.invisible import is_visible

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

WILD = frozenset("*?[\\")
UNREADABLE = (re.error, ValueError)
ESCAPE_OR_CLASS = re.compile(r"\\.|\[[!^]?(?:\w(?:-\w)?|\.)+-?\]")
HINT = (
    "a scope is a path or glob inside the repository, such as 'src/mail/**';"
    " '**' is all of it, and '\\[' is a plain bracket"
)


def valid(globs: Iterable[str]) -> None:
    """Refuse globs that could never name a file inside a repository."""
    for glob in globs:
        if not (_is_a_path(glob) and _is_readable(glob)):
            raise Invalid(f"{glob!r} is not a file scope", hint=HINT)


def matches(scope: Iterable[str], path: str) -> bool:
    """Is this path inside the scope? An empty scope contains nothing."""
    lines = tuple(_rooted(normalize("NFC", glob)) for glob in scope)
    return _spec(lines).match_file(normalize("NFC", path))


def overlap(ours: Iterable[str], theirs: Iterable[str]) -> tuple[str, str] | None:
    """The first pair of globs that can name the same file, or None if no file is in both."""
    others = tuple(theirs)
    for mine in ours:
        for other in others:
            if _meet(mine, other):
                return mine, other
    return None


def _is_a_path(glob: str) -> bool:
    """A visible name inside the repository; to git, a leading ! or # means something else."""
    parts = {part for part in glob.split("/") if part not in ("", ".")}
    visible = all(map(is_visible, glob)) and glob == glob.strip()
    return bool(parts) and visible and ".." not in parts and glob[0] not in "!#"


def _is_readable(glob: str) -> bool:
    """Every bracket closes, every escape escapes something, every range runs upwards."""
    if {"[", "\\"} & set(ESCAPE_OR_CLASS.sub("", glob)):
        return False
    try:
        return all(pattern.include for pattern in _spec((_rooted(glob),)).patterns)
    except UNREADABLE:
        return False


@lru_cache(maxsize=4096)
def _spec(lines: tuple[str, ...]) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec  # imported here, because it is slow and rarely needed

    return GitIgnoreSpec.from_lines(lines)


def _rooted(glob: str) -> str:
    """The glob as a line of `.gitignore`; only a bare name with a wildcard matches at any depth."""
    path = "/".join(part for part in glob.split("/") if part not in ("", "."))
    any_depth = WILD & set(glob) and "/" not in glob.rstrip("/")
    return f"{'**' if any_depth else ''}/{path}{'/' if glob.endswith('/') else ''}"


@lru_cache(maxsize=65536)
def _meet(left: str, right: str) -> bool:
    """As written or in small letters; `[!a]` and `A` overlap only as written."""
    ours, theirs = normalize("NFC", left), normalize("NFC", right)
    return _paths_meet(_names(ours), _names(theirs)) or _paths_meet(
        _names(ours.lower()), _names(theirs.lower())
    )


def _names(glob: str) -> list[str]:
    return _rooted(glob).strip("/").split("/")


def _paths_meet(left: list[str], right: list[str]) -> bool:
    """Can one path be inside both? A pattern that ends names a file or a whole folder.

    `here[j]` says whether the rest of both can overlap. Filled from the end, it costs the product
    of the lengths, so that no pair of globs can make a claim slow.
    """
    below = [True] * (len(right) + 1)
    for ours in reversed(left):
        here = [True] * (len(right) + 1)
        for j, theirs in reversed(list(enumerate(right))):
            if "**" in (ours, theirs):
                here[j] = below[j] or here[j + 1]
            else:
                here[j] = below[j + 1] and _names_meet(ours, theirs)
        below = here
    return below[0]


def _names_meet(left: str, right: str) -> bool:
    """Can one name match both? Two wildcard names differ only if their beginnings or ends do."""
    if not WILD & {*left, *right}:
        return left == right
    if not WILD & set(left):
        return _could_match(right, left)
    if not WILD & set(right):
        return _could_match(left, right)
    return _begin_alike(_head(left), _head(right)) and _begin_alike(_tail(left), _tail(right))


def _could_match(glob: str, name: str) -> bool:
    """An unreadable glob in an old task counts as a match: it delays work, but blocks no claim."""
    try:
        return _spec((f"/{glob}",)).match_file(name)
    except UNREADABLE:
        return True


def _begin_alike(left: str, right: str) -> bool:
    return left.startswith(right) or right.startswith(left)


def _head(name: str) -> str:
    """The characters before the first wildcard."""
    return name[: min(name.index(c) for c in WILD if c in name)]


def _tail(name: str) -> str:
    """The characters after the last wildcard, reversed."""
    return name[max(name.rfind(c) for c in "*?]\\") + 1 :][::-1]
