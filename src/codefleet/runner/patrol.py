"""The radar on its rounds: agents of one repo whose unfinished work would break the same lines."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from codefleet.domain.errors import FleetError
from codefleet.domain.model import Run, TaskId
from codefleet.fleet import Fleet
from codefleet.runner import radar


async def patrol(fleet: Fleet, ours: Sequence[Run]) -> None:
    """Probe every pair that one of our runs belongs to, and record what collides."""
    if not ours:
        return
    by_repo: dict[str, list[Run]] = defaultdict(list)
    for run in await fleet.live_runs():
        if run.worktree and run.base and run.host == ours[0].host:
            by_repo[(await fleet.get(run.task)).repo].append(run)
    for name, runs in by_repo.items():
        if len(runs) > 1:
            await _probe(fleet, Path((await fleet.repo(name)).path), runs)


async def _probe(fleet: Fleet, repo: Path, runs: Sequence[Run]) -> None:
    snapshots: dict[str, tuple[str, frozenset[str]]] = {}
    for run in runs:
        try:
            shot = await radar.snapshot(Path(str(run.worktree)))
            paths = await radar.changed_paths(repo, shot, str(run.base))
        except FleetError:
            continue  # it ended while we looked
        snapshots[run.task] = (shot, paths)
    for left, right, broken in await radar.collisions(repo, snapshots):
        await fleet.collide(TaskId(left), TaskId(right), broken, "running")
