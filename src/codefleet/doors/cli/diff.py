"""What a task changed, as git shows it."""

import os
import subprocess
import sys

import click

from codefleet.doors.cli import show
from codefleet.doors.cli.call import json_option, look, task_argument


@click.command()
@task_argument
@click.option("--stat", is_flag=True, help="Show only which files changed, and by how much.")
@json_option
def diff(task: str, stat: bool, as_json: bool) -> None:
    """Show what a task changed: its branch compared with where it started.

    For a running task, its worktree as it is now. With --json, the changes that the fleet itself
    recorded.
    """
    from codefleet.runner.diff import work_of  # here, so that `--help` is quick
    from codefleet.runner.git.git import MACHINE, PLAIN_DIFF
    from codefleet.runner.git.trusted_view import seen_by_git

    work = look(lambda fleet: work_of(fleet, task))
    if as_json:
        show.nouns(work.changes)
        return
    sys.stdout.flush()
    options = [*PLAIN_DIFF, *(["--stat"] if stat else [])]
    # Git writes to our own stdout, so that the user's pager and colours apply.
    done = subprocess.run(
        ["git", *MACHINE, "diff", *options, *work.revisions, "--"],
        cwd=work.folder,
        env={**os.environ, **seen_by_git(work.folder, "diff")},
    )
    click.get_current_context().exit(done.returncode)
