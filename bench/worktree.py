"""A pooled worktree, ready for the next run, compared with bare git."""

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from statistics import median

from bench.row import Row
from codefleet.runner.git.worktree_pool import Pool

IDENTITY = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
ROUNDS = 10
GOAL = 1.5


def measure(quick: bool) -> list[Row]:
    """Time until a used worktree is clean on another commit."""
    files = 1_000 if quick else 10_000
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        ours, raw = asyncio.run(_compare(Path(folder), files))
    name = f"pooled worktree, {files:,} files"
    return [Row(name, 1000 * median(ours), 1000 * median(raw), "ms", GOAL)]


async def _compare(folder: Path, files: int) -> tuple[list[float], list[float]]:
    repo, bare = folder / "repo", folder / "bare"
    commits = _sample(repo, files)
    _git(repo, "worktree", "add", "--quiet", "--detach", str(bare), commits[1])
    pool = Pool(repo, folder / "pool", folder / "lock")
    path = await pool.take("fleet/start", commits[1], in_use=_nobody)
    ours, raw = [], []
    for number in range(ROUNDS):
        commit = commits[number % 2]
        _litter((path, bare))
        await pool.release(path)
        if number % 2:  # in turns, because the first one pays for the disk
            raw.append(_reset(bare, commit))
        begin = time.perf_counter()
        path = await pool.take(f"fleet/{number}", commit, in_use=_nobody)
        ours.append(time.perf_counter() - begin)
        if not number % 2:
            raw.append(_reset(bare, commit))
    return ours, raw


def _reset(worktree: Path, commit: str) -> float:
    begin = time.perf_counter()
    _git(worktree, "reset", "--quiet", "--hard", commit)
    _git(worktree, "clean", "--quiet", "-ffdx")
    return time.perf_counter() - begin


def _sample(repo: Path, files: int) -> tuple[str, str]:
    """A repository, and two of its commits that differ in one file of a hundred."""
    repo.mkdir()
    _git(repo, "init", "--quiet", "--initial-branch=main")
    (repo / ".gitignore").write_text("*.log\n")
    return _filled(repo, files, 1, "first"), _filled(repo, files, 100, "second")


def _filled(repo: Path, files: int, every: int, text: str) -> str:
    for number in range(0, files, every):
        file = repo / f"part{number % 97}" / f"file{number}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{number} {text}\n" * 20)
    _git(repo, "add", "--all")
    _git(repo, *IDENTITY, "commit", "--quiet", "--message=sample")
    return _git(repo, "rev-parse", "HEAD")


def _litter(worktrees: Iterable[Path]) -> None:
    """What a run leaves: files that git ignores."""
    for worktree in worktrees:
        for number in range(100):
            (worktree / "part1" / f"trace{number}.log").write_text("noise\n")


async def _nobody() -> Collection[Path]:
    return ()


def _git(folder: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()
