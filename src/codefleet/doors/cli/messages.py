"""Messages to an agent: send."""

import click

from codefleet.domain.model import Message
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, complete_task, json_option, say


@click.command()
@click.argument("agent", metavar="AGENT|HANDLE|TASK", shell_complete=complete_task)
@click.argument("words", metavar="TEXT")
@json_option
def send(agent: str, words: str, as_json: bool) -> None:
    """Send an agent a message: at once if it can read it, else in its next run.

    Name it by its seat, its handle or its task.
    """
    sent = call(lambda fleet: fleet.send(agent, words))
    if as_json:
        show.noun(sent)
    else:
        say(_how(sent))


def _how(message: Message) -> str:
    if message.run:
        return f"{message.agent} reads it now, while working on {message.task}"
    if message.task:
        return f"it will be read in the next run of {message.task}"
    return f"it will be read in the next run of {message.agent}"
