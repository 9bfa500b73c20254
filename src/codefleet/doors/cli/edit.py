"""Edit what a task says."""

from typing import Any

import click

from codefleet.domain.errors import Invalid
from codefleet.doors.cli.call import call, json_option, task_argument
from codefleet.doors.cli.drafts import read_text
from codefleet.doors.cli.moment import moment
from codefleet.doors.cli.moves import moved


@click.command()
@task_argument
@click.option("--title", help="A new title.")
@click.option("-d", "--description", "prompt", metavar="TEXT", help="What to do; - reads stdin.")
@click.option("--priority", type=click.IntRange(1, 5), help="1 to 5; 5 is most urgent.")
@click.option("--label", "labels", multiple=True, help="All its labels from now; repeatable.")
@click.option("--scope", multiple=True, metavar="GLOB", help="All its scope; repeatable.")
@click.option("--needs", multiple=True, metavar="TASK", help="All it needs; repeatable.")
@click.option("--check", "checks", multiple=True, metavar="CMD", help="All its checks; repeatable.")
@click.option("--coder", help="The agent program.")
@click.option("--model", help="The model it uses.")
@click.option("--not-before", metavar="TIME", help="'2026-11-16 09:00', or +2h from now.")
@click.option("--attempts", "max_attempts", type=int, help="How often to try.")
@click.option("--timeout", "timeout_s", type=float, metavar="S", help="The longest a run may take.")
@click.option("--assign", "assignee", metavar="AGENT", help="Only this agent may take it.")
@json_option
def edit(task: str, as_json: bool, **said: Any) -> None:
    """Change what a task says; a running agent sees it at its next run.

    A repeatable option replaces the whole list; an empty text ('') takes the value away.
    """
    changes = {field: _value(field, v) for field, v in said.items() if v not in (None, ())}
    if not changes:
        raise Invalid("there is nothing to change", hint=f"fleet edit {task} --priority 5")
    moved(call(lambda fleet: fleet.edit(task, **changes)), "is edited", as_json)


def _value(field: str, said: Any) -> Any:
    if isinstance(said, tuple):
        return tuple(each for each in said if each)
    if field == "prompt":
        return read_text("-") if said == "-" else said
    if field == "not_before" and said:
        return moment(said)
    return said if said != "" or field == "title" else None
