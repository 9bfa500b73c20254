"""Read tasks: list, ready, show."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from codefleet.domain.lifecycle import WORDS
from codefleet.domain.model import Task, TaskId
from codefleet.domain.scheduling import Hold
from codefleet.domain.views import HELD, IN_LANE
from codefleet.domain.words import UNFINISHED, State
from codefleet.doors.cli import show
from codefleet.doors.cli.call import json_option, look, say, task_argument
from codefleet.doors.cli.kinds import how_many
from codefleet.ports import TaskQuery

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

OPEN = (*UNFINISHED, State.FAILED)
KINDS_OF_WAITING = {
    **dict.fromkeys(("ready", "blocked", "waits", "paused"), State.PENDING),
    **dict.fromkeys((IN_LANE, HELD), State.REVIEW),
}
"""Derived states, and the stored state of such tasks."""


class Listed(NamedTuple):
    """Tasks, what they wait for, and how many repos the fleet has."""

    tasks: Sequence[Task]
    holds: Mapping[TaskId, Hold]
    repos: int


limit_option = click.option(
    "-n",
    "limit",
    type=how_many,
    metavar="N",
    default=50,
    show_default=True,
    help="At most this many.",
)


def _state_words(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> list[str]:
    """States by any of their names: ours, those of other systems, or derived ones."""
    known = [*(state.value for state in State), *KINDS_OF_WAITING]
    found = [WORDS.get(plain, plain) for plain in (w.lower().replace("-", "_") for w in words)]
    for word in found:
        if word not in known:
            raise click.BadParameter(f"{word!r} is not a state; states are {', '.join(known)}")
    return found


@click.command("list")
@click.argument("words", required=False, metavar="[TEXT]")
@click.option(
    "--state",
    "states",
    multiple=True,
    callback=_state_words,
    metavar="STATE",
    help="Only tasks in this state; repeatable.",
)
@click.option("--repo", metavar="NAME", help="Only tasks in this repo.")
@click.option("--label", metavar="LABEL", help="Only tasks with this label.")
@click.option("--team", metavar="NAME", help="Only tasks of this team.")
@click.option("--all", "everything", is_flag=True, help="Include completed and cancelled tasks.")
@limit_option
@json_option
def list_(
    words: str | None,
    states: list[str],
    repo: str | None,
    label: str | None,
    team: str | None,
    everything: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List tasks, most urgent first, with what each waits for.

    Without --state or --all, completed and cancelled tasks are left out. TEXT selects tasks with
    all its words in the title, labels or prompt; a word also matches longer words that start with
    it.
    """
    kinds_of_waiting = set(states) & set(KINDS_OF_WAITING)
    stored = {State(word) for word in set(states) - kinds_of_waiting}
    stored |= {KINDS_OF_WAITING[word] for word in kinds_of_waiting}
    query = TaskQuery(
        states=sorted(stored) or (() if everything else OPEN),
        repo=repo,
        label=label,
        team=team,
        text=words,
        limit=None if kinds_of_waiting else limit + 1,  # one extra shows that there are more
    )

    async def read(fleet: "Fleet") -> Listed:
        if repo is not None:
            await fleet.repo(repo)
        if team is not None:
            await fleet.team(team)
        found = await fleet.list(query)
        holds = await fleet.why(found if kinds_of_waiting else found[:limit])
        if kinds_of_waiting:
            found = [t for t in found if t.state in states or show.word(t, holds) in states]
        return Listed(found, holds, len(await fleet.repos()))

    listed = look(read)
    tell(listed._replace(tasks=listed.tasks[:limit]), as_json)
    if len(listed.tasks) > limit:
        say(f"and more; `-n {limit * 10}` shows up to {limit * 10}")


@click.command()
@limit_option
@json_option
def ready(limit: int, as_json: bool) -> None:
    """List the tasks a free agent would take now, in order."""

    listed = look(lambda fleet: _able(fleet, limit))
    tell(listed, as_json, "nothing is ready; `fleet list` shows what each task waits for")


async def _able(fleet: "Fleet", limit: int) -> Listed:
    """The tasks that could start now; one whose needs are met may still wait for something else."""
    looked_at = limit
    while True:
        query = TaskQuery(states=[State.PENDING], ready=True, limit=looked_at)
        found = await fleet.list(query)
        holds = await fleet.why(found)
        able = [task for task in found if show.word(task, holds) == "ready"]
        if len(able) >= limit or len(found) < looked_at:
            return Listed(able[:limit], holds, len(await fleet.repos()))
        looked_at *= 4


def tell(
    listed: Listed,
    as_json: bool,
    nothing: str = 'no tasks found; `fleet add "Title"` queues one',
) -> None:
    """Print tasks, or that there are none."""
    if as_json:
        show.nouns(listed.tasks)
    elif listed.tasks:
        click.echo(show.tasks(listed.tasks, listed.holds, repos=listed.repos))
    else:
        say(nothing)


@click.command("show")
@task_argument
@json_option
def show_(task: str, as_json: bool) -> None:
    """Show everything about one task: fields, needs, runs, evidence, and why it waits."""
    from codefleet.doors.cli import task_page  # here, because only this command draws it

    page = look(lambda fleet: task_page.read(fleet, task))
    if as_json:
        show.data(page.plain())
    else:
        click.echo(task_page.draw(page))
