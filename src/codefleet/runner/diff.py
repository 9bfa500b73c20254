"""What a run or a task changed: where git finds it, and its text."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import FleetError, NotFound
from codefleet.domain.model import Change, Repo, Run, Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.runner.git.git import PLAIN_DIFF, Git
from codefleet.runner.git.trusted_view import guard

LONGEST = 1_000_000


class Work(NamedTuple):
    """Where git finds the work of a task: a folder, and what to compare there."""

    folder: Path
    revisions: tuple[str, ...]
    changes: tuple[Change, ...]


async def work_of(fleet: Fleet, ref: str) -> Work:
    """The work of a task: that of its last run with any, or what landed."""
    guard(fleet.home)
    task = await fleet.get(ref)
    await fleet.permit_reading(task.id)
    repo = await fleet.repo(task.repo)
    folder = Path(repo.path)
    if repo.shared and task.branch:
        await _bring(fleet, repo, task.branch)
    for run in reversed(await fleet.runs_of(task.id)):
        if found := await _of_run(run, folder):
            return await _as_it_lands(found, task, repo)
    if task.landed:
        return Work(folder, (f"{task.landed}^", task.landed), ())
    raise NotFound(
        f"{task.id} has changed nothing yet", hint=f"`fleet show {task.id}` shows its state"
    )


async def diff_text(fleet: Fleet, ref: str) -> str:
    """What a task changed, as text; see `work_of`."""
    work = await work_of(fleet, ref)
    return await _text(work, ref)


async def diff_of(fleet: Fleet, run: Run) -> str:
    """What one run changed, as text."""
    await fleet.permit_reading(run.task)
    guard(fleet.home)
    task = await fleet.get(run.task)
    repo = await fleet.repo(task.repo)
    found = await _of_run(run, Path(repo.path))
    if found is None:
        raise NotFound(f"{run.id} has changed nothing yet", hint="try again when it has ended")
    found = await _as_it_lands(found, task, repo)
    return await _text(found, task.id)


async def _text(work: Work, ref: str) -> str:
    text = await Git(work.folder)("diff", "--no-color", *PLAIN_DIFF, *work.revisions, "--")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n(there is more: fleet diff {ref})"


async def _bring(fleet: Fleet, repo: Repo, branch: str) -> None:
    """Fetch another machine's work; if the remote is unreachable, use what is here."""
    from codefleet.runner.context import Context  # imported here, because few repos are shared

    remote = Context(fleet).remote(repo)
    with suppress(FleetError):
        if remote:
            await remote.fetch(branch)


async def _as_it_lands(work: Work, task: Task, repo: Repo) -> Work:
    """Of work in review, all that would land: it may have begun with work that has not landed."""
    base, tip = work.revisions
    git = Git(work.folder)
    fork = (await git.run("merge-base", repo.trunk_ref, tip)).out.strip()
    if task.state is not State.REVIEW or fork in ("", base):
        return work
    from codefleet.runner.run.evidence import facts  # here, because few calls need it

    seen = await facts(work.folder, fork, (), at=tip)
    return Work(work.folder, (fork, tip), seen.changes)


async def _of_run(run: Run, folder: Path) -> Work | None:
    if run.is_live and run.worktree and run.base and Path(run.worktree).is_dir():
        from codefleet.runner.git.snapshot import snapshot

        return Work(folder, (run.base, await snapshot(Path(run.worktree))), ())
    if run.evidence:
        return Work(folder, (run.evidence.base, str(run.made)), run.evidence.changes)
    return None
