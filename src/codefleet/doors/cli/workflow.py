"""Workflows: run, list, show, cancel, retry, collect, cleanup, check."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from codefleet.domain.errors import NEEDS_HUMAN
from codefleet.domain.model import Budget, Workflow
from codefleet.domain.views import Left, WorkflowStatus
from codefleet.domain.words import State
from codefleet.doors.cli import show, stages
from codefleet.doors.cli.call import call, json_option, look, say
from codefleet.doors.cli.groups import Subcommands
from codefleet.doors.cli.home import tell_each
from codefleet.doors.cli.kinds import amount, whole_number
from codefleet.doors.cli.plans import Change, change, read_plan
from codefleet.doors.cli.text import brief, clean, clean_lines, count, table

if TYPE_CHECKING:
    from codefleet.domain.workflow.plan import Plan
    from codefleet.domain.workflow.results import Collected, StageResult
    from codefleet.fleet import Fleet

set_option = click.option(
    "--set",
    "changes",
    multiple=True,
    type=change,
    metavar="FIELD=VALUE",
    help="Set a field of every stage, or of one: review.coder=claude; repeatable.",
)
file_argument = click.argument("source", metavar="FILE|-")
flow_argument = click.argument("flow", metavar="WORKFLOW")


@click.group(cls=Subcommands, invoke_without_command=True)
@click.pass_context
def workflow(ctx: click.Context) -> None:
    """Let agents pass results to one another, in stages described by a file."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@workflow.command()
@file_argument
@click.option("--prompt", metavar="TEXT", help="What to do: {task_prompt} in the stages.")
@click.option("--repo", metavar="PATH|NAME", help="Where to work; default: this repository.")
@click.option("--team", metavar="NAME", help="The team that it belongs to.")
@set_option
@click.option("--agents", type=click.IntRange(1, 256), help="How many agents work at once.")
@click.option("--detach", is_flag=True, help="Only queue it; any runner can take it.")
@json_option
def run(
    source: str,
    prompt: str | None,
    repo: str | None,
    team: str | None,
    changes: tuple[Change, ...],
    agents: int | None,
    detach: bool,
    as_json: bool,
) -> None:
    """Start a workflow and work on it until it ends or waits for you.

    It works only on this workflow, and leaves the rest of the queue to `fleet run`. If a runner is
    already running, it leaves the stages to that runner and watches. The exit code is 1 if a stage
    failed, and 8 if what is left needs you.
    """
    plan = read_plan(source, changes, prompt)

    async def work(fleet: "Fleet") -> _Ended:
        flow = await _start(fleet, plan, repo, team)
        say(f"{flow.id}  {clean(flow.name)}: {count(len(flow.tasks), 'stage')} in {flow.repo}")
        if detach:
            return _Ended(await fleet.workflow(flow.id), ())
        return await _carried_out(fleet, flow.id, agents=agents, quiet=as_json)

    _end(call(work), as_json, seen=not detach and sys.stdout.isatty())


@workflow.command()
@flow_argument
@click.option("--agents", type=click.IntRange(1, 256), help="How many agents work at once.")
@json_option
def resume(flow: str, agents: int | None, as_json: bool) -> None:
    """Continue a workflow that was stopped, detached or waiting.

    Like `fleet workflow run`, it works only on this workflow, with the same exit codes.
    """

    async def work(fleet: "Fleet") -> _Ended:
        known = (await fleet.workflow(flow)).workflow
        return await _carried_out(fleet, known.id, agents=agents, quiet=as_json)

    _end(call(work), as_json, seen=sys.stdout.isatty())


@workflow.command()
@file_argument
@set_option
@json_option
def check(source: str, changes: tuple[Change, ...], as_json: bool) -> None:
    """Check a file and draw its stages, without starting anything."""
    plan = read_plan(source, changes)
    if as_json:
        show.noun(plan)
    else:
        click.echo(stages.drawing(plan))


@workflow.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the workflows, newest first."""
    found = look(lambda fleet: fleet.workflows())
    if as_json:
        show.nouns(found)
    elif found:
        click.echo(table(("ID", "STATE", "STAGES", "NAME"), map(_row, found), stretch=(3,)))
    else:
        say("no workflows; `fleet workflow run FILE` starts one")


@workflow.command("show")
@flow_argument
@json_option
def show_(flow: str, as_json: bool) -> None:
    """Show the status of a workflow, stage by stage."""

    async def read(fleet: "Fleet") -> tuple[WorkflowStatus, Sequence[Left]]:
        return await fleet.workflow(flow), await fleet.left(await fleet.family_of(flow))

    stands, left = look(read)
    _tell(stands, as_json)
    for each in left:
        if each.item:
            say(show.left(each))


@workflow.command()
@flow_argument
@json_option
def cancel(flow: str, as_json: bool) -> None:
    """Stop every unfinished stage; its work is archived."""
    _tell(call(lambda fleet: fleet.cancel_workflow(flow)), as_json)


@workflow.command()
@flow_argument
@click.option("--budget", type=amount, metavar="USD", help="New maximum cost of the workflow.")
@click.option("--budget-tokens", type=whole_number, metavar="N", help="The same in tokens.")
@json_option
def retry(flow: str, budget: float | None, budget_tokens: int | None, as_json: bool) -> None:
    """Put failed and cancelled stages back in the queue."""
    more = Budget(usd=budget, tokens=budget_tokens) if budget or budget_tokens else None
    _tell(call(lambda fleet: fleet.retry_workflow(flow, more)), as_json)


@workflow.command()
@flow_argument
@click.option("--all", "every", is_flag=True, help="Show every stage, not only the last ones.")
@json_option
def collect(flow: str, every: bool, as_json: bool) -> None:
    """Show the results: what agents reported, and facts from git."""
    found = look(lambda fleet: fleet.collect_workflow(flow, every=every))
    if as_json:
        show.noun(found)
    else:
        click.echo(_collected(found))


@workflow.command()
@flow_argument
@json_option
def cleanup(flow: str, as_json: bool) -> None:
    """Remove the branches and worktrees of a finished workflow.

    Work that is not on the trunk is archived first, under refs/fleet/archive/.
    """

    async def clean(fleet: "Fleet") -> None:
        from codefleet.runner import verbs
        from codefleet.runner.context import Context

        told = verbs.cleanup_workflow(Context(fleet), flow)
        if as_json:
            show.data([each._asdict() async for each in told])
        else:
            say(f"{count(await tell_each(told), 'item')} removed")

    call(clean)


async def _start(fleet: "Fleet", plan: "Plan", repo: str | None, team: str | None) -> Workflow:
    from codefleet.doors.cli.repo_choice import repo_name

    return await fleet.start(plan, await repo_name(fleet, repo), team)


def _tell(stands: WorkflowStatus, as_json: bool, *, seen: bool = False) -> None:
    """Show it, unless the user has `seen` it live."""
    if as_json:
        show.noun(stands)
    elif not seen:
        click.echo(stages.progress(stands))


async def _carried_out(fleet: "Fleet", flow: str, *, agents: int | None, quiet: bool) -> "_Ended":
    from codefleet.doors.cli.workflow_run import carry_out

    stopped = await carry_out(fleet, flow, agents=agents, quiet=quiet)
    left = await fleet.left(await fleet.family_of(flow))
    return _Ended(await fleet.workflow(flow), left, stopped)


class _Ended(NamedTuple):
    """How a command leaves a workflow: its status, what is left, and the signal that stopped us."""

    stands: WorkflowStatus
    left: Sequence[Left]
    stopped: int = 0

    @property
    def exit_code(self) -> int:
        if self.stopped:
            return 128 + self.stopped
        if self.left:
            return NEEDS_HUMAN
        return int(self.stands.state in (State.FAILED, State.CANCELLED))


def _end(ended: _Ended, as_json: bool, *, seen: bool) -> None:
    _tell(ended.stands, as_json, seen=seen)
    for each in ended.left:
        say(show.left(each))
    if ended.left:
        say(f"then: fleet workflow resume {ended.stands.workflow.id}")
    click.get_current_context().exit(ended.exit_code)


def _row(stands: WorkflowStatus) -> tuple[str, ...]:
    done = sum(task.state is State.COMPLETED for task in stands.tasks)
    flow = stands.workflow
    return flow.id, show.state(stands.state), f"{done}/{len(stands.tasks)}", clean(flow.name)


def _collected(found: "Collected") -> str:
    return "\n\n".join(_result(each) for each in found.results)


def _result(it: "StageResult") -> str:
    facts = {
        "picked": it.choice,
        "files": ", ".join(it.files),
        "branch": it.branch if it.status and not it.landed else "",
        "landed": it.landed,
        "checks": ", ".join(f"{each.command} ({each.exit_code})" for each in it.checks),
        "next": "; ".join(it.next_steps),
    }
    lines = [f"  {name:<7} {brief(str(value))}" for name, value in facts.items() if value]
    said = "\n".join(f"  {line}" for line in clean_lines(it.summary).splitlines())
    head = f"{it.stage}: {show.state(it.status or it.state)}"
    return "\n".join(filter(None, [head, said, *lines]))
