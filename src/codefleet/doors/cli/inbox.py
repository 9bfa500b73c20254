"""What waits for a human, and the human's words: inbox, answer, land, reject."""

import click

from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, complete_task, json_option, say, task_argument
from codefleet.doors.cli.moves import moved


@click.command()
@json_option
def inbox(as_json: bool) -> None:
    """List everything that waits for you: questions of agents and work to review."""
    items = call(lambda fleet: fleet.inbox())
    if as_json:
        show.nouns(items)
    elif items:
        show.inbox(items)
    else:
        say("nothing waits for you")


@click.command()
@click.argument("task", metavar="TASK|QUESTION", shell_complete=complete_task)
@click.argument("words", metavar="TEXT")
@json_option
def answer(task: str, words: str, as_json: bool) -> None:
    """Answer an agent's question; its task goes on."""
    moved(call(lambda fleet: fleet.answer(task, words)), "goes on", as_json)


@click.command()
@task_argument
@json_option
def land(task: str, as_json: bool) -> None:
    """Approve reviewed work: the lane brings it onto the trunk next."""
    moved(call(lambda fleet: fleet.land(task)), "lands next", as_json)


@click.command()
@task_argument
@click.argument("why")
@json_option
def reject(task: str, why: str, as_json: bool) -> None:
    """Send work back to an agent, with the reason."""
    moved(call(lambda fleet: fleet.reject(task, why)), "goes back to an agent", as_json)
