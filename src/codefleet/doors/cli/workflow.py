"""Workflows: run, list, show, cancel, retry, collect, cleanup, check."""

import sys
from typing import TYPE_CHECKING

import click

from codefleet.domain.model import Budget, Workflow
from codefleet.domain.views import WorkflowStatus
from codefleet.domain.words import State
from codefleet.doors.cli import show, stages
from codefleet.doors.cli.call import call, json_option, say
from codefleet.doors.cli.home import tell_each
from codefleet.doors.cli.kinds import amount, whole_number
from codefleet.doors.cli.plans import Change, change, read_plan
from codefleet.doors.cli.text import brief, clean, clean_lines, count, table

if TYPE_CHECKING:
    from codefleet.domain.handover import Collected, StageResult
    from codefleet.domain.plan import Plan
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


@click.group(invoke_without_command=True)
@click.pass_context
def workflow(ctx: click.Context) -> None:
    """Let agents hand results on to one another, in stages that a file describes."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@workflow.command()
@file_argument
@click.option("--prompt", metavar="TEXT", help="What is to be done: {task_prompt} in the stages.")
@click.option("--repo", metavar="PATH|NAME", help="Where to work, if not in the repository here.")
@set_option
@click.option("--agents", type=click.IntRange(1, 256), help="How many agents work at once.")
@click.option("--detach", is_flag=True, help="Only put it into the queue.")
@json_option
def run(
    source: str,
    prompt: str | None,
    repo: str | None,
    changes: tuple[Change, ...],
    agents: int | None,
    detach: bool,
    as_json: bool,
) -> None:
    """Start a workflow and watch it to its end.

    A runner that is at work does it; without one, this command does it itself. The exit code is 1
    when a stage failed.
    """
    plan = read_plan(source, changes, prompt)

    async def work(fleet: "Fleet") -> tuple[WorkflowStatus, int]:
        from codefleet.doors.cli.carrying_out import carry_out

        flow = await _start(fleet, plan, repo)
        say(f"{flow.id}  {clean(flow.name)}: {count(len(flow.tasks), 'stage')} in {flow.repo}")
        watched = None if detach else carry_out(fleet, flow.id, agents=agents, quiet=as_json)
        stopped = await watched if watched else 0
        return await fleet.workflow(flow.id), stopped

    stands, stopped = call(work)
    _tell(stands, as_json, seen=not detach and sys.stdout.isatty())
    failed = stands.state in (State.FAILED, State.CANCELLED)
    click.get_current_context().exit(128 + stopped if stopped else int(failed))


@workflow.command()
@file_argument
@set_option
@json_option
def check(source: str, changes: tuple[Change, ...], as_json: bool) -> None:
    """Say what is wrong with a file, or draw its stages. Nothing is started."""
    plan = read_plan(source, changes)
    if as_json:
        show.noun(plan)
    else:
        click.echo(stages.drawing(plan))


@workflow.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the workflows, the newest first."""
    found = call(lambda fleet: fleet.workflows())
    if as_json:
        show.nouns(found)
    elif found:
        click.echo(table(("ID", "STATE", "STAGES", "NAME"), map(_row, found), stretch=(3,)))
    else:
        say("there is no workflow; `fleet workflow run FILE` starts one")


@workflow.command("show")
@flow_argument
@json_option
def show_(flow: str, as_json: bool) -> None:
    """Show how a workflow stands, stage by stage."""
    _tell(call(lambda fleet: fleet.workflow(flow)), as_json)


@workflow.command()
@flow_argument
@json_option
def cancel(flow: str, as_json: bool) -> None:
    """Stop every stage that has not ended; their work is archived."""
    _tell(call(lambda fleet: fleet.cancel_workflow(flow)), as_json)


@workflow.command()
@flow_argument
@click.option("--budget", type=amount, metavar="USD", help="What the whole may cost from now on.")
@click.option("--budget-tokens", type=whole_number, metavar="N", help="The same in tokens.")
@json_option
def retry(flow: str, budget: float | None, budget_tokens: int | None, as_json: bool) -> None:
    """Put failed and cancelled stages back into the queue."""
    more = Budget(usd=budget, tokens=budget_tokens) if budget or budget_tokens else None
    _tell(call(lambda fleet: fleet.retry_workflow(flow, more)), as_json)


@workflow.command()
@flow_argument
@click.option("--all", "every", is_flag=True, help="Of every stage, not only of the last ones.")
@json_option
def collect(flow: str, every: bool, as_json: bool) -> None:
    """Show what came of a workflow: words of the agents, facts of git."""
    found = call(lambda fleet: fleet.collect_workflow(flow, every=every))
    if as_json:
        show.noun(found)
    else:
        click.echo(_collected(found))


@workflow.command()
@flow_argument
@json_option
def cleanup(flow: str, as_json: bool) -> None:
    """Put away the branches and worktrees of a workflow that has ended.

    Work that is not on the trunk is archived first, under refs/fleet/archive/.
    """

    async def clean(fleet: "Fleet") -> None:
        from codefleet.runner.cleanup import clean_up
        from codefleet.runner.desk import Desk

        told = clean_up(Desk(fleet), flow)
        if as_json:
            show.data([each._asdict() async for each in told])
        else:
            say(f"{count(await tell_each(told), 'thing')} removed")

    call(clean)


async def _start(fleet: "Fleet", plan: "Plan", repo: str | None) -> Workflow:
    from codefleet.doors.cli.place import repo_name
    from codefleet.runner.repos.repository import refuse_unknown

    name = await repo_name(fleet, repo)
    if plan.base and name:
        await refuse_unknown(await fleet.repo(name), plan.base)
    return await fleet.start(plan, name)


def _tell(stands: WorkflowStatus, as_json: bool, *, seen: bool = False) -> None:
    """Show it, unless it was `seen` all the time, and say what it waits for."""
    if as_json:
        show.noun(stands)
    elif not seen:
        click.echo(stages.progress(stands))
    for task in stands.tasks:
        if task.state is State.ASKING:
            say(f"waits for you: {brief(task.note)}; `fleet answer {task.id} ...` lets it go on")


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
