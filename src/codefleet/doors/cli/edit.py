"""Edit a task."""

from typing import TYPE_CHECKING, Any

import click

from codefleet.domain.errors import Invalid
from codefleet.domain.model import Budget, Task
from codefleet.doors.cli.call import call, json_option, task_argument
from codefleet.doors.cli.drafts import read_text
from codefleet.doors.cli.kinds import amount, or_nothing, size, whole_number
from codefleet.doors.cli.moves import moved

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

BUDGET = {"budget": "usd", "budget_tokens": "tokens"}
"""The options that make up the budget, and the field each one sets."""


@click.command()
@task_argument
@click.option("--title", help="A new title.")
@click.option("-d", "--description", "prompt", metavar="TEXT", help="What to do; - reads stdin.")
@click.option("--priority", type=click.IntRange(1, 5), help="1 to 5; 5 is most urgent.")
@click.option("--label", "labels", multiple=True, help="Replaces all labels; repeatable.")
@click.option("--scope", multiple=True, metavar="GLOB", help="Replaces the scope; repeatable.")
@click.option("--needs", multiple=True, metavar="TASK", help="Replaces all needs; repeatable.")
@click.option(
    "--check", "checks", multiple=True, metavar="CMD", help="Replaces all checks; repeatable."
)
@click.option(
    "--complexity",
    type=or_nothing(size),
    metavar="SIZE",
    help="trivial, small, medium, large or xl.",
)
@click.option("--coder", help="The agent program to use.")
@click.option("--model", help="The model to use.")
@click.option("--fallback", metavar="CODER", help="Takes over, once, while the account rests.")
@click.option("--budget", type=or_nothing(amount), metavar="USD", help="Maximum cost in total.")
@click.option(
    "--budget-tokens",
    type=or_nothing(whole_number),
    metavar="N",
    help="Maximum tokens in total.",
)
@click.option("--not-before", metavar="TIME", help="Earliest start: '2026-11-16 09:00', or +2h.")
@click.option(
    "--attempts",
    "max_attempts",
    type=or_nothing(whole_number),
    metavar="N",
    help="Maximum attempts.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=or_nothing(amount),
    metavar="S",
    help="Time limit of a run, in seconds.",
)
@click.option("--assign", "assignee", metavar="AGENT", help="Only this agent may take it.")
@click.option("--team", metavar="NAME", help="The team that it belongs to.")
@json_option
def edit(task: str, as_json: bool, **said: Any) -> None:
    """Change a task; a running agent sees the change in its next run.

    A repeatable option replaces the whole list. An empty value ('') clears a field; title and
    priority cannot be cleared.
    """
    given = {option: value for option, value in said.items() if value not in (None, ())}
    if not given:
        raise Invalid("nothing to change", hint=f"fleet edit {task} --priority 5")
    changes = {field: _value(field, v) for field, v in given.items() if field not in BUDGET}
    budget = {BUDGET[option]: v or None for option, v in given.items() if option in BUDGET}

    async def change(fleet: "Fleet") -> Task:
        if budget:
            changes["budget"] = _budget(await fleet.get(task), budget)
        return await fleet.edit(task, **changes)

    moved(call(change), "was edited", as_json)


def _value(field: str, said: Any) -> Any:
    if isinstance(said, tuple):
        return tuple(each for each in said if each)
    if field == "prompt":
        return read_text("-") if said == "-" else said
    return said if said != "" or field == "title" else None


def _budget(task: Task, changes: dict[str, Any]) -> Budget | None:
    """The task's budget with these parts changed; the others stay."""
    changed = (task.budget or Budget()).evolve(**changes)
    return changed if changed.usd or changed.tokens else None
