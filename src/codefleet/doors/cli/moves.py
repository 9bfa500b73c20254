"""Commands that move a task: cancel, retry, pause, resume."""

import click

from codefleet.domain.model import Task
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, json_option, optional_task, say, task_argument
from codefleet.doors.cli.text import clean


def moved(task: Task, what: str, as_json: bool) -> None:
    """Report what happened to a task."""
    if as_json:
        show.noun(task)
    else:
        say(f"{task.id} {what}: {clean(task.title)}")


@click.command()
@task_argument
@json_option
def cancel(task: str, as_json: bool) -> None:
    """Stop a task; its work is kept on an archive branch."""
    moved(call(lambda fleet: fleet.cancel(task)), "is cancelled", as_json)


@click.command()
@task_argument
@json_option
def retry(task: str, as_json: bool) -> None:
    """Put a failed or cancelled task back in the queue."""
    moved(call(lambda fleet: fleet.retry(task)), "is back in the queue", as_json)


@click.command()
@optional_task
@json_option
def pause(task: str | None, as_json: bool) -> None:
    """Pause one task, or without a name the whole fleet: nothing new starts."""
    held = call(lambda fleet: fleet.pause(task))
    _held(held, "is paused", "the fleet is paused; run `fleet resume` to continue", as_json)


@click.command()
@optional_task
@json_option
def resume(task: str | None, as_json: bool) -> None:
    """Resume a paused task, or the whole fleet."""
    held = call(lambda fleet: fleet.resume(task))
    _held(held, "may start again", "the fleet is no longer paused", as_json)


def _held(task: Task | None, what: str, fleet: str, as_json: bool) -> None:
    if task:
        moved(task, what, as_json)
    elif as_json:
        show.data({"paused": what == "is paused"})
    else:
        say(fleet)
