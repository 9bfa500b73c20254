"""What a task changed, as git shows it."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from codefleet.domain.errors import NotFound
from codefleet.domain.model import Change, Run
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, json_option, task_argument

if TYPE_CHECKING:
    from codefleet.fleet import Fleet


class Work(NamedTuple):
    """Where git finds the work of a task: a folder, and what to compare there."""

    folder: Path
    revisions: tuple[str, ...]
    changes: tuple[Change, ...]


@click.command()
@task_argument
@click.option("--stat", is_flag=True, help="Only which files changed, and by how much.")
@json_option
def diff(task: str, stat: bool, as_json: bool) -> None:
    """Show what a task changed: its branch against where it began.

    Of a task that is being worked on, the worktree as it is now. With --json, the changes that the
    fleet itself saw.
    """
    work = call(lambda fleet: _work(fleet, task))
    if as_json:
        show.nouns(work.changes)
        return
    sys.stdout.flush()
    options = ["--no-ext-diff", "--no-textconv", *(["--stat"] if stat else [])]
    # Git writes to our own stdout, so that the user's pager and colours are at work.
    done = subprocess.run(["git", "-C", str(work.folder), "diff", *options, *work.revisions, "--"])
    click.get_current_context().exit(done.returncode)


async def _work(fleet: "Fleet", ref: str) -> Work:
    task = await fleet.get(ref)
    folder = Path((await fleet.repo(task.repo)).path)
    for run in reversed(await fleet.runs_of(task.id)):
        if found := await _of_run(run, folder):
            return found
    if task.landed:
        return Work(folder, (f"{task.landed}^", task.landed), ())
    raise NotFound(
        f"{task.id} has changed nothing yet", hint=f"`fleet show {task.id}` tells where it stands"
    )


async def _of_run(run: Run, folder: Path) -> Work | None:
    if run.is_live and run.worktree and run.base and Path(run.worktree).is_dir():
        from codefleet.runner.radar import snapshot  # here, because few calls look at live work

        return Work(folder, (run.base, await snapshot(Path(run.worktree))), ())
    if run.evidence:
        return Work(folder, (run.evidence.base, run.evidence.tip), run.evidence.changes)
    return None
