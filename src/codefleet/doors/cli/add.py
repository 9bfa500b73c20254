"""Add tasks: one from the words on the command line, or many from a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codefleet.domain.checking import checked
from codefleet.domain.errors import Invalid, NotFound
from codefleet.domain.model import Budget, Draft, Repo, Task
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, coder_exists, complete_task, json_option, say
from codefleet.doors.cli.drafts import entry_name, read_drafts, read_text
from codefleet.doors.cli.kinds import amount, size, whole_number
from codefleet.doors.cli.moment import moment
from codefleet.doors.cli.place import repo_name
from codefleet.doors.cli.text import clean

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

COMPARED = 20


@click.command()
@click.argument("title", required=False)
@click.option("-d", "--description", metavar="TEXT", help="What to do, at length; - reads stdin.")
@click.option("--priority", type=click.IntRange(1, 5), help="1 to 5; 5 is most urgent.  [3]")
@click.option("--label", "labels", multiple=True, help="A word to find it by; repeatable.")
@click.option("--scope", multiple=True, metavar="GLOB", help="Files it may touch; repeatable.")
@click.option(
    "--needs",
    multiple=True,
    metavar="TASK",
    shell_complete=complete_task,
    help="A task that must complete first; repeatable.",
)
@click.option("--check", "checks", multiple=True, metavar="CMD", help="Must succeed; repeatable.")
@click.option(
    "--complexity", type=size, metavar="SIZE", help="trivial, small, medium, large or xl."
)
@click.option("--coder", help="The agent program.")
@click.option("--model", help="The model it uses.")
@click.option("--fallback", metavar="CODER", help="Goes on, once, while the coder's account rests.")
@click.option("--repo", metavar="PATH|NAME", help="Where to work, if not in the repository here.")
@click.option("--budget", type=amount, metavar="USD", help="What it may cost.")
@click.option("--budget-tokens", type=whole_number, metavar="N", help="How many tokens it may use.")
@click.option("--not-before", metavar="TIME", help="'2026-11-16 09:00', or +2h from now.")
@click.option(
    "--attempts", "max_attempts", type=whole_number, metavar="N", help="How often to try."
)
@click.option(
    "--timeout", "timeout_s", type=amount, metavar="S", help="The longest a run may take."
)
@click.option("--assign", "assignee", metavar="AGENT", help="Only this agent may take it.")
@click.option("--file", "source", metavar="FILE|-", help="Tasks from YAML or JSON, all or none.")
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
    """Queue a task, or all the tasks of a file.

    \b
    fleet add "Extract the mailer" --scope 'src/mail/**' --priority 4
    fleet add "Test the mailer" --needs k3m9x2pa --check 'pytest -q tests/mail'
    fleet add --file tasks.yaml
    """
    if (title is None) == (source is None):
        raise click.UsageError("say a title, or --file FILE", click.get_current_context())
    drafts = read_drafts(source) if source else [_draft(title, fields)]

    async def queue(fleet: "Fleet") -> Sequence[Task]:
        placed = await _placed(fleet, drafts, repo)
        await _needs_exist(fleet, placed if source else ())
        await _scopes_match(fleet, placed, strict)
        await _point_out_similar(fleet, placed)
        queued = await fleet.add(placed)
        _point_out_missing(fleet, queued)
        return queued

    added = call(queue)
    if as_json and source:
        show.nouns(added)
    elif as_json:
        show.noun(added[0])
    else:
        for task in added:
            click.echo(task.id if quiet else f"{task.id}  {clean(task.title)}")


def _draft(title: str | None, said: dict[str, Any]) -> Draft:
    """Words -> a draft."""
    text = said.pop("description")
    for name in (said["coder"], said["fallback"]):
        if name is not None:
            coder_exists(name)
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
    """The drafts with their repos by name: their own, that of --repo, or the one we stand in."""
    wanted = dict.fromkeys(draft.repo or option for draft in drafts)
    names = {each: await repo_name(fleet, each) for each in wanted}
    placed = [draft.evolve(repo=names[draft.repo or option]) for draft in drafts]
    return [await _based(fleet, draft) for draft in placed]


async def _based(fleet: "Fleet", draft: Draft) -> Draft:
    """The draft with a base that may be one, before it costs a run."""
    if draft.base is None or draft.repo is None:
        return draft
    from codefleet.runner.repos import base  # here, because few tasks have one

    return draft.evolve(base=await base.start(fleet, await fleet.repo(draft.repo), draft.base))


async def _needs_exist(fleet: "Fleet", drafts: Sequence[Draft]) -> None:
    known = {draft.name for draft in drafts}
    for number, draft in enumerate(drafts, start=1):
        for need in set(draft.needs) - known:
            try:
                await fleet.get(need)
                known.add(need)
            except NotFound:
                raise NotFound(
                    f"{entry_name(number, draft)}: needs {need}, which is no task",
                    hint="a need is the `name` of another entry, or the id of a task",
                ) from None


async def _scopes_match(fleet: "Fleet", drafts: Sequence[Draft], strict: bool) -> None:
    """A glob that matches nothing is often a slip, but files may be yet to come."""
    from codefleet.domain import scope

    files: dict[str, list[str]] = {}
    for draft in drafts:
        scope.valid(draft.scope)
        if not draft.scope or not draft.repo:
            continue
        if draft.repo not in files:
            files[draft.repo] = await _files(await fleet.repo(draft.repo))
        for glob in draft.scope:
            if not any(scope.matches([glob], path) for path in files[draft.repo]):
                _matches_nothing(glob, draft.repo, strict)


def _matches_nothing(glob: str, repo: str, strict: bool) -> None:
    problem = f"the scope {glob!r} matches no file in {repo}"
    if strict:
        raise Invalid(problem, hint="without --strict this is only a warning: files may come")
    say(f"warning: {clean(problem)} now; the task may only make new files there")


async def _files(repo: Repo) -> list[str]:
    from codefleet.runner.repos.git import Git

    options = ("-z", "--cached", "--others", "--exclude-standard")
    listed = await Git(Path(repo.path))("ls-files", *options)
    return [path for path in listed.split("\0") if path]


def _point_out_missing(fleet: "Fleet", tasks: Sequence[Task]) -> None:
    """Warn of tasks that no agent here could do, before a run of theirs fails."""
    from codefleet.domain.routing import coder_for
    from codefleet.runner.agents.programs import missing, without_script

    warnings = {}
    for task in tasks:
        config = fleet.config.for_repo(task.repo)
        name = coder_for(task, config.route, config.coder)
        warnings[missing(name, config) or without_script(task, name, config)] = task
    for warning in filter(None, warnings):
        say(f"warning: {clean(warning)}")


async def _point_out_similar(fleet: "Fleet", drafts: Sequence[Draft]) -> None:
    for draft in drafts[:COMPARED]:
        for task in await fleet.similar(draft.title, draft.repo):
            say(f"note: similar to {task.id} ({task.state}): {clean(task.title)}")
