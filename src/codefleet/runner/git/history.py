"""Which commits contain which, from the commits themselves if they are close to each other.

Commits are looked at from the newest to the oldest, as git does, and marked by what contains them.
That ends when whatever is ahead is contained in both sides: its ancestors are as well. Dates only
decide the order. If they are wrong, it takes longer or gives up, but no answer is wrong.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from codefleet.runner.git.git import Git
from codefleet.runner.git.object_reader import look_up
from codefleet.runner.git.trusted_view import view_for

NEAR = 64
"""How many commits to look at before git itself looks through the history."""
MOST_KEPT = 10_000
OURS, THEIRS = 1, 2
BOTH = OURS | THEIRS


class _Commit(NamedTuple):
    parents: Sequence[str]
    date: int


class _Search(NamedTuple):
    sides: dict[str, int]
    """What contains each of the commits."""
    known: dict[str, _Commit]

    def mark(self, commit: str, side: int) -> bool:
        """Note what contains a commit; False if that was known."""
        before = self.sides.get(commit, 0)
        self.sides[commit] = before | side
        return before | side != before


_commits: dict[str, _Commit] = {}
"""The commits that were looked up; they never change."""


async def is_near_ancestor(git: Git, commit: str, of: str) -> bool | None:
    """Does the second commit contain the first? None if they are not close to each other."""
    found = await look_up(git.folder, f"{commit}^{{commit}}", f"{of}^{{commit}}")
    if found is None or not found[0] or not found[1]:
        return None
    return await is_near(git, found[0].id, found[1].id)


async def is_near(git: Git, commit: str, of: str) -> bool | None:
    """The same for commits that are given by their ids.

    If the second contains the first, a path leads there. Where the search ended, whatever is ahead
    on that path would be contained in the first commit, and contain it; that cannot be.
    """
    if commit == of:
        return True
    search = await _search(git, commit, [of])
    return None if search is None else bool(search.sides[commit] & THEIRS)


async def line(git: Git, tip: str, *others: str) -> list[str] | None:
    """The commits of `tip` that no other contains, newest first, if that is a straight line.

    None if it is not, or if it cannot tell without starting a git. Whatever the search has left is
    below the end of the line, so it contains none of it.
    """
    search = await _search(git, tip, others)
    if search is None:
        return None
    found: list[str] = []
    while search.sides[tip] == OURS:
        parents = search.known[tip].parents
        if len(parents) != 1:
            return None
        found.append(tip)
        tip = parents[0]
    return found


async def _search(git: Git, tip: str, others: Iterable[str]) -> _Search | None:
    """Look at the commits near these; None if there are too many, or no reader can tell."""
    if has_grafts(git):
        return None
    found, ahead = _Search({}, {}), list[tuple[int, str]]()
    reached = [(tip, OURS), *((other, THEIRS) for other in others)]
    while True:
        read = await _read(git, [commit for commit, _ in reached])
        if read is None or len(found.sides) > NEAR:
            return None
        found.known.update(read)
        for commit, side in reached:
            if found.mark(commit, side):
                heappush(ahead, (-read[commit].date, commit))
        if all(found.sides[commit] == BOTH for _, commit in ahead):
            return found
        _, newest = heappop(ahead)
        reached = [(parent, found.sides[newest]) for parent in found.known[newest].parents]


async def _read(git: Git, commits: Iterable[str]) -> dict[str, _Commit] | None:
    """These commits; None if no reader can tell."""
    known = {each: _commits[each] for each in commits if each in _commits}
    unknown = [each for each in commits if each not in known]
    found = await look_up(git.folder, *unknown, contents=True) if unknown else ()
    if found is None or not all(each and each.kind == "commit" for each in found):
        return None
    new = {each.id: _parsed(each.content) for each in found if each}
    if len(_commits) > MOST_KEPT:
        _commits.clear()
    _commits.update(new)
    return known | new


def has_grafts(git: Git) -> bool:
    """Are there commits whose parents git takes to be others than they say?"""
    view = view_for(git.folder)
    return view is None or (view.folder / "info" / "grafts").exists()


def _parsed(commit: bytes) -> _Commit:
    head = commit.partition(b"\n\n")[0].decode(errors="replace").split("\n")
    committers = [line.split() for line in head if line.startswith("committer ")]
    date = committers[0][-2] if committers and len(committers[0]) > 1 else ""
    parents = tuple(line[7:] for line in head if line.startswith("parent "))
    return _Commit(parents, int(date) if date.isdecimal() else 0)
