"""The fleet's log: past events, and new ones as they happen."""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from codefleet.domain.model import Event
from codefleet.doors.cli import show
from codefleet.doors.cli.call import json_option, look, optional_task, say
from codefleet.doors.cli.kinds import countable, how_many
from codefleet.doors.cli.text import clean_lines

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

LAST = 20
PAGE = 1000


@click.command()
@optional_task
@click.option("-f", "--follow", is_flag=True, help="Keep printing new events until Ctrl-C.")
@click.option(
    "-n", "limit", type=how_many, metavar="N", help=f"At most this many; default: the last {LAST}."
)
@click.option("--since", type=countable, metavar="SEQ", help="Show all events after this one.")
@click.option("--archived", is_flag=True, help="Include what `fleet archive` moved to files.")
@click.option("--output", is_flag=True, help="Show instead what the task's last agent printed.")
@json_option
def log(
    task: str | None,
    follow: bool,
    limit: int | None,
    since: int | None,
    archived: bool,
    output: bool,
    as_json: bool,
) -> None:
    """Show what happened, to one task or to the whole fleet, oldest first.

    With --json, each event is one line; `seq` increases, so a reader can continue with --since.
    With --output, TASK may also be a run, such as k3m9x2pa.2.
    """
    if output:
        _put_output(task, limit or LAST)
        return

    async def read(fleet: "Fleet") -> None:
        if since is None:
            read_last = _last_of_story if archived else _last
            seen = _put(await read_last(fleet, task, limit or LAST), 0, as_json)
        else:
            read_all = _story_since if archived else _all_since
            seen = await read_all(fleet, task, since, limit, as_json)
        if task and not archived and await fleet.is_archived(task):
            say(f"earlier events are archived: `fleet log {task} --archived` shows them")
        if follow:
            seen = seen or await fleet.last_seq()
            async for event in fleet.follow(after=seen, task=task):
                _put([event], seen, as_json)

    look(read)


def _put_output(ref: str | None, lines: int) -> None:
    from codefleet.runner import verbs
    from codefleet.runner.context import Context

    if ref is None:
        raise click.UsageError("--output needs a task or a run", click.get_current_context())
    click.echo(clean_lines(look(lambda fleet: verbs.run_log(Context(fleet), ref, lines))))


async def _last(fleet: "Fleet", task: str | None, limit: int) -> Sequence[Event]:
    return await fleet.events(task=task, limit=limit, newest=True)


async def _last_of_story(fleet: "Fleet", task: str | None, limit: int) -> Sequence[Event]:
    last: deque[Event] = deque(maxlen=limit)
    async for event in fleet.story(task=task):
        last.append(event)
    return last


async def _story_since(
    fleet: "Fleet", task: str | None, seen: int, limit: int | None, as_json: bool
) -> int:
    left = limit
    async for event in fleet.story(task=task, after=seen):
        if left == 0:
            break
        seen = _put([event], seen, as_json)
        left = None if left is None else left - 1
    return seen


async def _all_since(
    fleet: "Fleet", task: str | None, seen: int, limit: int | None, as_json: bool
) -> int:
    left = limit
    while left is None or left > 0:
        size = PAGE if left is None else min(PAGE, left)
        page = await fleet.events(task=task, after=seen, limit=size)
        seen = _put(page, seen, as_json)
        left = None if left is None else left - len(page)
        if len(page) < size:
            break
    return seen


def _put(events: Sequence[Event], seen: int, as_json: bool) -> int:
    for event in events:
        seen = event.seq
        if as_json:
            show.noun(event)
        else:
            show.event(event)
    return seen
