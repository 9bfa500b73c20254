"""Writing into the notes of a live run for its agent, which may not be able to do so itself."""

import asyncio
import os
from pathlib import Path

from codefleet.domain.errors import Invalid, Refused
from codefleet.domain.model import Run
from codefleet.runner.brief import notes

LONGEST = 20_000


async def note(run: Run, text: str) -> None:
    """Add to what the next agents on the task should know."""
    await _append(run, notes.KNOWLEDGE, f"\n{_words(text)}\n")


async def checkpoint(run: Run, text: str) -> None:
    """Add to the status of the work."""
    await _append(run, notes.PLAN, f"\n## Checkpoint\n\n{_words(text)}\n")


async def _append(run: Run, name: str, text: str) -> None:
    worktree = Path(str(run.worktree))
    if not (run.worktree and run.base and worktree.is_dir()):
        raise Refused(f"{run.id} has no worktree yet", hint="try again in a moment")
    folder = worktree / await notes.folder_name(worktree, run.base)
    if not notes.belongs_to(folder, run.id):
        raise Refused(f"the notes of {run.id} are gone", hint="was the folder removed?")
    await asyncio.to_thread(_write, folder / name, text)


def _write(file: Path, text: str) -> None:
    """Append without following links, whatever the agent put in the file's place."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(file, flags, 0o644)
    except OSError as trouble:
        raise Refused(f"{file.name} cannot be written", hint=str(trouble.strerror)) from None
    with os.fdopen(handle, "a", encoding="utf-8", errors="replace") as out:
        out.write(text)


def _words(text: str) -> str:
    if not text.strip():
        raise Invalid("the text is empty", hint="write a sentence or two")
    if len(text) > LONGEST:
        raise Invalid(f"at most {LONGEST} characters", hint="shorten it")
    return text.strip()
