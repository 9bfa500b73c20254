"""One worktree of the pool on disk: whether anything was ever checked out, and how to wipe it."""

import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from codefleet.runner.git.git import Git
from codefleet.runner.git.layout import common_dir, git_dir
from codefleet.runner.git.locks import drop_stale
from codefleet.runner.git.snapshot import PREFIX


def never_filled(path: Path) -> bool:
    """Did the slot's creator die before anything was checked out?"""
    return not (git_dir(path) / "index").exists() and _names(path) == [".git"]


async def wipe(path: Path, commit: str, keep: Sequence[str]) -> None:
    """Reset the slot to exactly `commit`, without ignored files except what `keep` matches.

    Its HEAD must be detached, because it moves.
    """
    git = Git(path)
    drop_stale(git_dir(path), path)
    _forget_settings(git_dir(path))
    for left in git_dir(path).glob(f"{PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
    reset = ("reset", "--quiet", "--hard", "--no-recurse-submodules", commit)
    if (await git.run(*reset)).code:
        await _clean(git, keep)  # something untracked was in the way
        await git(*reset)
    await _clean(git, keep)
    if (path / ".gitmodules").exists():
        await _empty_submodules(git)


def _forget_settings(folder: Path) -> None:
    """Undo what a run set only for its worktree, such as a sparse checkout."""
    for name in ("config.worktree", "info/sparse-checkout"):
        # If the repository itself is sparse, so are its worktrees.
        if (folder / name).exists() and not (common_dir(folder) / name).exists():
            (folder / name).unlink()
            (folder / "index").unlink(missing_ok=True)  # it flags files as left out


async def _clean(git: Git, keep: Sequence[str]) -> None:
    clean = ("clean", "--quiet", "-ffdx", *(f"--exclude={pattern}" for pattern in keep))
    if (await git.run(*clean)).code:
        unlock_folders(git.folder)
        await git(*clean)


def unlock_folders(path: Path) -> None:
    """Make every folder writable: package caches often are not, and then cannot be deleted."""
    for parent, folders, _ in os.walk(path):
        for folder in (Path(parent, name) for name in folders):
            if not folder.is_symlink():
                with suppress(OSError):
                    folder.chmod(folder.stat().st_mode | stat.S_IRWXU)


def _names(path: Path) -> list[str]:
    return [each.name for each in path.iterdir()]


async def _empty_submodules(git: Git) -> None:
    """Empty the folders of submodules, which git's own reset and clean skip."""
    for path in _gitlinks(await git("ls-files", "--stage", "-z")):
        folder = git.folder / path
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
            folder.mkdir()


def _gitlinks(listing: str) -> Iterable[str]:
    for entry in listing.split("\0"):
        facts, _, path = entry.partition("\t")
        if facts.startswith("160000 "):
            yield path
