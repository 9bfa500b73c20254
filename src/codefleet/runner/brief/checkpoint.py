"""Checkpoints: what an agent knew when it was stopped, enough for another agent to continue."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import FleetError
from codefleet.domain.model import Change, Evidence, Run
from codefleet.domain.secrets import redact
from codefleet.runner.brief import notes
from codefleet.runner.git.git import Git

FILE = "checkpoint.md"
LONGEST_PLAN = 20_000
MOST_LINES = 100


class Known(NamedTuple):
    """What a run leaves for the one that continues it."""

    why: str
    said: str = ""
    plan: str = ""
    changes: Sequence[Change] = ()
    commits: Sequence[str] = ()


def compose(known: Known) -> str:
    """The checkpoint as Markdown, without the parts that are unknown."""
    parts = [f"It was stopped: {known.why}"]
    if known.commits:
        parts.append(_listed("Commits so far, newest first", known.commits))
    if known.changes:
        files = [f"{c.kind} {c.path} (+{c.added} -{c.removed})" for c in known.changes]
        parts.append(_listed("Files changed so far", files))
    if known.plan.strip():
        parts.append(f"Its plan:\n\n{known.plan.strip()[:LONGEST_PLAN]}")
    if known.said.strip():
        parts.append(f"Its last message:\n\n{known.said.strip()}")
    return "\n\n".join(parts) + "\n"


async def write(
    folder: Path, run: Run, found: Evidence, why: str, secrets: Collection[str] = ()
) -> None:
    """Leave a checkpoint in the run's folder. Best effort: no run fails for lack of it."""
    with suppress(FleetError, OSError):
        log = await Git(Path(str(run.worktree)))("log", "--format=%h %s", f"{found.base}..HEAD")
        plan = await asyncio.to_thread(_read, folder / notes.PLAN)
        known = Known(why, run.said, plan, found.changes, log.splitlines())
        text = redact(compose(known), secrets)
        await asyncio.to_thread((folder / FILE).write_text, text, encoding="utf-8")


async def read(folder: Path) -> str:
    """The checkpoint that a run left here; empty if there is none or it is on another machine."""
    return await asyncio.to_thread(_read, folder / FILE)


def _listed(title: str, items: Sequence[str]) -> str:
    more = [f"and {len(items) - MOST_LINES} more"] if len(items) > MOST_LINES else []
    return f"{title}:\n\n" + "\n".join(f"- {item}" for item in [*items[:MOST_LINES], *more])


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
