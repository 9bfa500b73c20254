"""Verbs that need git or this machine's files: the same at every door, beside those of `Fleet`."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from codefleet.domain import access
from codefleet.domain.access import Holder, Right
from codefleet.domain.errors import NotFound
from codefleet.domain.model import Run, RunId, Task
from codefleet.domain.secrets import redact
from codefleet.domain.views import CoderFacts, Notes, Setting, WorktreeStatus
from codefleet.fleet import Fleet
from codefleet.runner import background, worktrees
from codefleet.runner import settings as home_settings
from codefleet.runner.brief.notes import KNOWLEDGE, PLAN, newest
from codefleet.runner.context import Context
from codefleet.runner.diff import diff_of, diff_text
from codefleet.runner.doctor.checkup import checkup
from codefleet.runner.doctor.findings import Finding
from codefleet.runner.elsewhere import elsewhere
from codefleet.runner.gc.cleanup import clean_up, clean_up_task
from codefleet.runner.gc.collector import Told, collect
from codefleet.runner.landing.approval import approve
from codefleet.runner.landing.lane import land_now
from codefleet.runner.process import custody
from codefleet.runner.programs.facts import facts_of_all
from codefleet.runner.worktrees import Committed

STDOUT, STDERR = "stdout.jsonl", "stderr.log"
LONGEST_TAIL = 256 * 1024


async def land(context: Context, ref: str, commit: str | None = None, *, wait: bool = True) -> Task:
    """Approve work for the trunk; without a runner, land it at once.

    A caller that cannot `wait` for that gets a runner in the background instead, and so does the
    member of a team, who may not move a trunk.
    """
    if there := elsewhere(context.fleet):
        return await there.land(ref, commit)
    task = await approve(context, ref, commit)
    if not wait or isinstance(context.fleet.actor, Holder):
        await background.ensure_runner(context.fleet)
    elif not await context.dispatch.live_runners():
        await land_now(context)
    return await context.fleet.get(task.id)


async def diff(fleet: Fleet, ref: str) -> str:
    """What a task changed, or one of its runs; for live work, as it is now."""
    if there := elsewhere(fleet):
        return await there.diff(ref)
    run = await _run(fleet, ref)
    return await diff_of(fleet, run) if run else await diff_text(fleet, ref)


async def notes(fleet: Fleet, ref: str) -> Notes:
    """What the agents of a task noted for one another: the plan, and what they found out."""
    if there := elsewhere(fleet):
        return await there.notes(ref)
    task = await fleet.get(ref)
    await fleet.permit_reading(task.id)
    kept = await newest(fleet.home, await fleet.runs_of(task.id))
    return Notes(plan=kept.get(PLAN, ""), knowledge=kept.get(KNOWLEDGE, ""))


async def run_log(context: Context, ref: str, lines: int, file: str = STDOUT) -> str:
    """The last lines that the agent of a run, or of a task's last run, printed.

    They are redacted: until an agent ends, its keys may be in the file.
    """
    fleet = context.fleet
    if there := elsewhere(fleet):
        return await there.run_log(ref, lines)
    run = await _run(fleet, ref) or await _last_run(fleet, ref)
    await fleet.permit_reading(run.task)
    repo = await context.repo((await fleet.get(run.task)).repo)
    text = await asyncio.to_thread(_tail, context.paths.run(run) / file, lines)
    return redact(text, [*custody.secrets(context.settings(repo))])


def gc(context: Context, *, dry_run: bool = False) -> AsyncIterator[Told]:
    """Remove idle worktrees, branches of finished tasks and files of old runs; report each."""
    there = elsewhere(context.fleet)
    return there.gc(dry_run=dry_run) if there else collect(context, dry_run=dry_run)


def cleanup_workflow(context: Context, ref: str) -> AsyncIterator[Told]:
    """Remove the branches and worktrees of a workflow that has ended; report each."""
    there = elsewhere(context.fleet)
    return there.cleanup_workflow(ref) if there else clean_up(context, ref)


def cleanup_task(
    context: Context, task: Task, *, branch: bool = True, worktree: bool = True
) -> AsyncIterator[Told]:
    """Remove the branch and the worktree of a task that has ended; report each."""
    return clean_up_task(context, task, branch=branch, worktree=worktree)


async def commit_worktree(context: Context, message: str, handle: str | None = None) -> Committed:
    """Commit what is in the worktree of a worker at work; an agent's own without a handle."""
    if there := elsewhere(context.fleet):
        return await there.commit_worktree(message, handle)
    return await worktrees.commit(context, message, handle)


async def push_worktree(context: Context, handle: str | None = None) -> Committed:
    """Push the branch of a worker to the remote of its repository."""
    if there := elsewhere(context.fleet):
        return await there.push_worktree(handle)
    return await worktrees.push(context, handle)


async def worktree_status(context: Context, handle: str | None = None) -> WorktreeStatus:
    """What a worker has committed and changed so far; an agent's own work without a handle."""
    if there := elsewhere(context.fleet):
        return await there.worktree_status(handle)
    return await worktrees.status(context, handle)


async def doctor(home: Path) -> list[Finding]:
    """Check everything a fleet needs; each finding says how to fix it."""
    return await checkup(home)


async def coders(fleet: Fleet) -> Sequence[CoderFacts]:
    """What each coder can do, and if this machine has its program."""
    if there := elsewhere(fleet):
        return await there.coders()
    access.refuse_members(fleet.actor)
    return await asyncio.to_thread(facts_of_all, fleet.config)


async def settings(fleet: Fleet) -> Sequence[Setting]:
    """Every setting in force, and where its value comes from."""
    if there := elsewhere(fleet):
        return await there.settings()
    access.refuse_members(fleet.actor)
    return await asyncio.to_thread(home_settings.in_force, fleet.home, fleet.config)


async def configure(fleet: Fleet, key: str, value: str) -> Setting:
    """Change a setting in the home's file; it holds for this process at once."""
    if there := elsewhere(fleet):
        return await there.configure(key, value)
    await fleet.permit(Right.CHANGE_SETTINGS)
    await asyncio.to_thread(home_settings.change, fleet.home, key, value)
    fleet.config, changed = home_settings.after_change(fleet.home, key, fleet.config)
    return changed


async def _run(fleet: Fleet, ref: str) -> Run | None:
    return next(iter(await fleet.find_runs([RunId(ref)])), None)


async def _last_run(fleet: Fleet, ref: str) -> Run:
    runs = await fleet.runs_of((await fleet.get(ref)).id)
    if not runs:
        raise NotFound(f"{ref} has no run yet", hint=f"`fleet show {ref}` shows what it waits for")
    return runs[-1]


def _tail(file: Path, lines: int) -> str:
    """The last lines of a file, read from its end."""
    try:
        with file.open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - LONGEST_TAIL))
            end = log.read(LONGEST_TAIL)
    except FileNotFoundError:
        return ""
    return "\n".join(end.decode(errors="replace").splitlines()[-lines:])
