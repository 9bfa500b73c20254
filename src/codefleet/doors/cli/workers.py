"""Workers, agents that people call by a handle: workers, spawn, dismiss, output."""

from typing import TYPE_CHECKING

import click

from codefleet.domain.model import Task
from codefleet.domain.worker import Worker
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, json_option, look, say
from codefleet.doors.cli.kinds import how_many
from codefleet.doors.cli.missing import point_out_missing
from codefleet.doors.cli.moves import moved
from codefleet.doors.cli.text import clean, clean_lines, local, table

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

LAST = 100
HEADINGS = ("HANDLE", "STATE", "HEALTH", "TASK", "SWARM", "RESTARTS", "SINCE", "WORKTREE")

handle_argument = click.argument("handle")


@click.command()
@json_option
def workers(as_json: bool) -> None:
    """Show the workers: agents with a handle that have not ended."""
    found = look(lambda fleet: fleet.workers())
    if as_json:
        show.nouns(found)
    elif found:
        click.echo(table(HEADINGS, [_row(each) for each in found], stretch=(7,)))
    else:
        say('no workers; `fleet spawn HANDLE "what to do"` starts one')


@click.command()
@handle_argument
@click.argument("prompt")
@click.option("--swarm", metavar="SWARM", help="The swarm that it works in.")
@click.option("--repo", metavar="NAME|PATH", help="The repository; default: the current one.")
@click.option("--coder", metavar="CODER", help="The agent program.")
@click.option("--model", metavar="MODEL", help="The model.")
@json_option
def spawn(
    handle: str,
    prompt: str,
    swarm: str | None,
    repo: str | None,
    coder: str | None,
    model: str | None,
    as_json: bool,
) -> None:
    """Put an agent to work under a handle, before all that waits; `fleet run` works the queue."""

    async def work(fleet: "Fleet") -> Task:
        from codefleet.doors.cli.repo_choice import repo_name

        where = {"swarm": swarm, "repo": await repo_name(fleet, repo)}
        task = await fleet.spawn(handle, prompt, **where, coder=coder, model=model)
        point_out_missing(fleet, [task])
        return task

    moved(call(work), f"is the task of {clean(handle)}", as_json)


@click.command()
@handle_argument
@json_option
def dismiss(handle: str, as_json: bool) -> None:
    """End a worker and all its processes; its work is kept on an archive branch."""
    moved(call(lambda fleet: fleet.dismiss(handle)), "is cancelled", as_json)


@click.command()
@handle_argument
@click.option(
    "-n", "lines", type=how_many, default=LAST, show_default=True, help="At most this many lines."
)
@json_option
def output(handle: str, lines: int, as_json: bool) -> None:
    """Show what a worker printed last."""

    async def read(fleet: "Fleet") -> tuple[Worker, str]:
        from codefleet.runner import verbs
        from codefleet.runner.context import Context

        worker = await fleet.worker(handle)
        return worker, await verbs.run_log(Context(fleet), worker.task, lines)

    worker, printed = look(read)
    if as_json:
        told = {"handle": worker.handle, "state": worker.state, "output": printed.splitlines()}
        show.data(told)
    else:
        click.echo(clean_lines(printed))


def _row(worker: Worker) -> tuple[str, ...]:
    return (
        worker.handle,
        show.state(worker.state),
        worker.health,
        worker.task,
        worker.swarm or "",
        str(worker.restarts),
        local(worker.spawned_at),
        clean(worker.worktree or ""),
    )
