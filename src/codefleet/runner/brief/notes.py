"""The notes of a task: files that its agents keep in the worktree, passed on from run to run.

They are in a folder that git ignores, because a sandboxed agent may write nowhere else. When a run
ends they move into the run's folder, and the next run of the task gets them from there. Whatever
an agent puts in their place, no link is followed and every read is bounded.
"""

import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.model import Run, RunId
from codefleet.domain.secrets import redact
from codefleet.runner.git.git import Git
from codefleet.runner.git.object_reader import look_up
from codefleet.runner.git.slot import unlock_folders
from codefleet.runner.paths import Paths

PLAN, KNOWLEDGE, QUESTIONS, RESULT = "PLAN_AND_STATUS.md", "KNOWLEDGE.md", "Q&A.md", "result.json"
CARRIED_ON = (PLAN, KNOWLEDGE)
"""What the next run finds unchanged; the rest is written anew."""
FILES = (*CARRIED_ON, QUESTIONS, RESULT)
LARGEST = 256 * 1024
CUT = "\n\n(truncated; the rest was not kept)\n"
NAME = ".codefleet"
IGNORE = ".gitignore"
NO_FOLLOW = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


async def folder_name(worktree: Path, base: str) -> str:
    """The name of the folder in this worktree: one that the user's repository does not use."""
    if (there := await look_up(worktree, base, f"{base}:{NAME}")) and there[0] and not there[1]:
        return NAME
    tracked = set((await Git(worktree)("ls-tree", "--name-only", "-z", base)).split("\0"))
    names = (NAME if number == 0 else f"{NAME}-{number}" for number in count())
    return next(name for name in names if name not in tracked)


def write_all(folder: Path, run: RunId, contents: Mapping[str, str]) -> None:
    """Create the folder with these files, replacing whatever was there."""
    try:
        _remove(folder)
        folder.mkdir()
        (folder / IGNORE).write_text(f"# {run}\n*\n", encoding="utf-8")
        for name, text in contents.items():
            (folder / name).write_text(text, encoding="utf-8", errors="replace", newline="")
    except OSError as trouble:
        raise WorkspaceTrouble(
            f"cannot write {folder}: {trouble.strerror}", hint="is the disk full?"
        ) from None


def belongs_to(folder: Path, run: RunId) -> bool:
    """Was the folder laid out for this run?"""
    return (_read_all(folder, (IGNORE,)).get(IGNORE) or "").startswith(f"# {run}\n")


def collect(folder: Path, home: Path) -> None:
    """Move the notes into the run's folder; safe to repeat after a crash."""
    try:
        for name, text in _read_all(folder, FILES).items():
            draft = home / f"{name}.draft"
            draft.touch(mode=0o600)
            draft.write_text(text, encoding="utf-8", newline="")
            draft.replace(home / name)
    except OSError as trouble:
        raise WorkspaceTrouble(
            f"the notes are still in {folder}: {trouble.strerror}", hint="is the disk full?"
        ) from None
    with suppress(OSError):  # git ignores what remains, and the next run removes it
        _remove(folder)


def latest(homes: Sequence[Path]) -> dict[str, str]:
    """The notes for the next run: the newest of each file in these folders, oldest first."""
    found: dict[str, str] = {}
    for home in homes:
        found |= _read_all(home, CARRIED_ON)
    return found


async def newest(home: Path, runs: Sequence[Run]) -> dict[str, str]:
    """The current plan and knowledge of a task, for people: an agent may be writing them now, and
    they are redacted as they will be when it has ended."""
    paths = Paths(home)
    found = latest([paths.run(run) for run in runs])
    for run in runs:
        if run.is_live and run.worktree and run.base and Path(run.worktree).is_dir():
            with suppress(WorkspaceTrouble):  # its folder may be removed at any moment
                folder = Path(run.worktree) / await folder_name(Path(run.worktree), run.base)
                found |= latest([folder]) if belongs_to(folder, run.id) else {}
    return {name: redact(text) for name, text in found.items()}


def collected(home: Path, name: str) -> str:
    """One of the notes as the run left it; empty if there is none."""
    return _read_all(home, (name,)).get(name, "")


def _read_all(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """The regular files with these names in a folder, read without following links."""
    try:
        inside = os.open(folder, NO_FOLLOW | os.O_DIRECTORY)
    except OSError:
        return {}
    try:
        read = {name: _read(inside, name) for name in names}
    finally:
        os.close(inside)
    return {name: text for name, text in read.items() if text is not None}


def _read(folder: int, name: str) -> str | None:
    try:
        descriptor = os.open(name, NO_FOLLOW, dir_fd=folder)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(LARGEST + 1)
    finally:
        os.close(descriptor)
    text = data[:LARGEST].decode(errors="replace")
    return text if len(data) <= LARGEST else text + CUT


def _remove(folder: Path) -> None:
    """Remove the folder; if it is a link, only the link."""
    if folder.is_dir() and not folder.is_symlink():
        folder.chmod(stat.S_IRWXU)
        unlock_folders(folder)
        shutil.rmtree(folder)
    else:
        folder.unlink(missing_ok=True)
