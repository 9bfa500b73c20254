"""Collisions between unfinished work, detected by merging snapshots behind the scenes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path, PurePosixPath

from codefleet.domain.errors import FleetError
from codefleet.domain.model import Run, TaskId
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.runner.git.git import Git
from codefleet.runner.git.snapshot import snapshot

MERGE = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", "--stdin")

Seen = Mapping[str, tuple[str, frozenset[str]]]
"""By task: the commit of its snapshot, and the paths it changed."""


async def check_collisions(fleet: Fleet, ours: Sequence[Run]) -> None:
    """Test-merge every pair of runs that includes one of ours, and record collisions."""
    if not ours:
        return
    by_repo: dict[str, list[Run]] = defaultdict(list)
    for run in await Dispatch(fleet).live_runs():
        if run.worktree and run.base and run.host == ours[0].host:
            by_repo[(await fleet.get(run.task)).repo].append(run)
    for name, runs in by_repo.items():
        if len(runs) > 1:
            await _probe(fleet, Path((await fleet.repo(name)).path), runs)


async def _probe(fleet: Fleet, repo: Path, runs: Sequence[Run]) -> None:
    snapshots: dict[str, tuple[str, frozenset[str]]] = {}
    for run in runs:
        try:
            shot = await snapshot(Path(str(run.worktree)))
            paths = await changed_paths(repo, shot, str(run.base))
        except FleetError:
            continue  # it has ended meanwhile
        snapshots[run.task] = (shot, paths)
    for left, right, broken in await collisions(repo, snapshots):
        await Dispatch(fleet).record_conflict(TaskId(left), TaskId(right), broken, "running")


async def changed_paths(repo: Path, snapshot: str, base: str) -> frozenset[str]:
    """Every path that differs between a snapshot and its merge base with `base`."""
    git = Git(repo)
    fork = (await git.run("merge-base", base, snapshot)).out.strip() or base
    names = await git("diff-tree", "-r", "-z", "--name-only", "--no-renames", fork, snapshot)
    return frozenset(filter(None, names.split("\0")))


async def collisions(repo: Path, snapshots: Seen) -> list[tuple[str, str, tuple[str, ...]]]:
    """The pairs that cannot be merged, each with the files in which they conflict."""
    pairs = [
        (left, right)
        for left, right in combinations(sorted(snapshots), 2)
        if _meet(snapshots[left][1], snapshots[right][1])
    ]
    if not pairs:
        return []
    orders = "".join(f"{snapshots[left][0]} {snapshots[right][0]}\n" for left, right in pairs)
    results = _merges(await Git(repo)(*MERGE, stdin=orders))
    return [(*pair, paths) for pair, paths in zip(pairs, results, strict=True) if paths]


def _meet(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Do two sets share a path, or is a file in one a folder in the other?"""
    return not ours.isdisjoint(theirs | _folders(theirs)) or not theirs.isdisjoint(_folders(ours))


def _folders(paths: frozenset[str]) -> frozenset[str]:
    return frozenset(str(folder) for path in paths for folder in PurePosixPath(path).parents)


def _merges(listing: str) -> Iterator[tuple[str, ...]]:
    """The conflicting files of each merge: a status, a tree, the names, and an empty field."""
    fields = iter(listing.split("\0"))
    while next(fields, ""):
        next(fields)
        yield tuple(iter(lambda: next(fields), ""))
