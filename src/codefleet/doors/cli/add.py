"""Add tasks: one from the command line, or many from a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codefleet.domain.drafting import entry_name
from codefleet.domain.errors import Invalid, NotFound
from codefleet.domain.model import Budget, Draft, Repo, Task
from codefleet.domain.validation import checked
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, complete_task, json_option, say
from codefleet.doors.cli.drafts import read_drafts, read_text
from codefleet.doors.cli.kinds import amount, size, whole_number
from codefleet.doors.cli.missing import point_out_missing
from codefleet.doors.cli.moment import moment, now
from codefleet.doors.cli.repo_choice import repo_name
from codefleet.doors.cli.text import clean

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

COMPARED = 20


@click.command()
@click.argument("title", required=False)
@click.option("-d", "--description", metavar="TEXT", help="What to do, in detail; - reads stdin.")
@click.option("--priority", type=click.IntRange(1, 5), help="1 to 5; 5 is most urgent.  [3]")
@click.option("--label", "labels", multiple=True, help="A label to find it by; repeatable.")
@click.option("--scope", multiple=True, metavar="GLOB", help="Files it may touch; repeatable.")
@click.option(
    "--needs",
    multiple=True,
    metavar="TASK",
    shell_complete=complete_task,
    help="A task that must complete first; repeatable.",
)
@click.option(
    "--check", "checks", multiple=True, metavar="CMD", help="A command that must pass; repeatable."
)
@click.option(
    "--complexity", type=size, metavar="SIZE", help="trivial, small, medium, large or xl."
)
@click.option("--coder", help="The agent program to use.")
@click.option("--model", help="The model to use.")
@click.option("--fallback", metavar="CODER", help="Takes over, once, while the account rests.")
@click.option("--repo", metavar="PATH|NAME", help="Where to work; default: this repository.")
@click.option("--budget", type=amount, metavar="USD", help="Maximum cost.")
@click.option("--budget-tokens", type=whole_number, metavar="N", help="Maximum tokens.")
@click.option("--not-before", metavar="TIME", help="Earliest start: '2026-11-16 09:00', or +2h.")
@click.option(
    "--attempts", "max_attempts", type=whole_number, metavar="N", help="Maximum attempts."
)
@click.option(
    "--timeout", "timeout_s", type=amount, metavar="S", help="Time limit of a run, in seconds."
)
@click.option("--assign", "assignee", metavar="AGENT", help="Only this agent may take it.")
@click.option("--team", metavar="NAME", help="The team that it belongs to.")
@click.option("--file", "source", metavar="FILE|-", help="Tasks in YAML or JSON, all or none.")
@click.option("--strict", is_flag=True, help="Refuse a scope that matches no file.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the id.")
@json_option
def add(
    title: str | None,
    source: str | None,
    repo: str | None,
    strict: bool,
    quiet: bool,
    as_json: bool,
    **fields: Any,
) -> None:
    """Queue a task, or all tasks in a file.

    \b
    fleet add "Extract the mailer" --scope 'src/mail/**' --priority 4
    fleet add "Test the mailer" --needs k3m9x2pa --check 'pytest -q tests/mail'
    fleet add --file tasks.yaml
    """
    if (title is None) == (source is None):
        raise click.UsageError("give a title, or --file FILE", click.get_current_context())
    if source:
        _refuse_beside_file(fields)
    drafts = read_drafts(source, now) if source else [_draft(title, fields)]

    async def queue(fleet: "Fleet") -> Sequence[Task]:
        from codefleet.runner.elsewhere import elsewhere

        placed = await _placed(fleet, drafts, repo)
        await _needs_exist(fleet, placed if source else ())
        if not elsewhere(fleet):
            await _scopes_match(fleet, placed, strict)
        await _point_out_similar(fleet, placed)
        queued = await fleet.add(placed)
        point_out_missing(fleet, queued)
        return queued

    added = call(queue)
    if as_json and source:
        show.nouns(added)
    elif as_json:
        show.noun(added[0])
    else:
        for task in added:
            click.echo(task.id if quiet else f"{task.id}  {clean(task.title)}")


def _refuse_beside_file(fields: dict[str, Any]) -> None:
    """Refuse options that describe one task: the tasks in a file have their own."""
    context = click.get_current_context()
    options = {option.name: option.opts[-1] for option in context.command.params}
    if given := [options[name] for name, value in fields.items() if value not in (None, ())]:
        raise click.UsageError(f"{', '.join(given)}: set this in the file, for each task", context)


def _draft(title: str | None, said: dict[str, Any]) -> Draft:
    """The draft that the arguments describe."""
    text = said.pop("description")
    usd, tokens = said.pop("budget"), said.pop("budget_tokens")
    later = said.pop("not_before")
    fields = {name: value for name, value in said.items() if value not in (None, ())}
    given = {
        "title": title or "",
        "prompt": read_text("-") if text == "-" else text or "",
        "budget": Budget(usd=usd, tokens=tokens) if usd or tokens else None,
        "not_before": moment(later) if later else None,
    }
    return checked(Draft, given | fields)


async def _placed(fleet: "Fleet", drafts: Sequence[Draft], option: str | None) -> Sequence[Draft]:
    """The drafts with their repos by name: their own, else --repo, else the current one."""
    wanted = dict.fromkeys(draft.repo or option for draft in drafts)
    names = {each: await repo_name(fleet, each) for each in wanted}
    return [draft.evolve(repo=names[draft.repo or option]) for draft in drafts]


async def _needs_exist(fleet: "Fleet", drafts: Sequence[Draft]) -> None:
    known = {draft.name for draft in drafts}
    for number, draft in enumerate(drafts, start=1):
        for need in set(draft.needs) - known:
            try:
                await fleet.get(need)
                known.add(need)
            except NotFound:
                raise NotFound(
                    f"{entry_name(number, draft)}: needs {need}, which is not a task",
                    hint="a need is the `name` of another entry, or the id of a task",
                ) from None


async def _scopes_match(fleet: "Fleet", drafts: Sequence[Draft], strict: bool) -> None:
    """Warn of a glob that matches nothing: often a typo, but the task may create the files."""
    from codefleet.domain import scope

    files: dict[str, list[str]] = {}
    for draft in drafts:
        if not draft.scope or not draft.repo:
            continue
        scope.valid(draft.scope)  # what is no scope at all gets no warning
        if draft.repo not in files:
            files[draft.repo] = await _files(await fleet.repo(draft.repo))
        for glob in draft.scope:
            if not any(scope.matches([glob], path) for path in files[draft.repo]):
                _matches_nothing(glob, draft.repo, strict)


def _matches_nothing(glob: str, repo: str, strict: bool) -> None:
    problem = f"the scope {glob!r} matches no file in {repo}"
    if strict:
        raise Invalid(problem, hint="without --strict this is only a warning")
    say(f"warning: {clean(problem)} yet; the task can only create files there")


async def _files(repo: Repo) -> list[str]:
    from codefleet.runner.git.git import Git

    options = ("-z", "--cached", "--others", "--exclude-standard")
    listed = await Git(Path(repo.path))("ls-files", *options)
    return [path for path in listed.split("\0") if path]


async def _point_out_similar(fleet: "Fleet", drafts: Sequence[Draft]) -> None:
    for draft in drafts[:COMPARED]:
        for task in await fleet.similar(draft.title, draft.repo):
            say(f"note: similar to {task.id} ({task.state}): {clean(task.title)}")
