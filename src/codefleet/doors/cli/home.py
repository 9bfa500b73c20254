"""The fleet's home: init, gc, reset."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codefleet.config import FILE, Config, load
from codefleet.config.file import sample, set_value
from codefleet.config.private import open_text
from codefleet.domain.access import Right
from codefleet.domain.errors import Invalid, Refused, WorkspaceTrouble
from codefleet.domain.model import Repo
from codefleet.doors.cli.call import call, home, refuse_agents, say
from codefleet.doors.cli.repo_choice import bare_here, repo_here
from codefleet.doors.cli.text import clean, count
from codefleet.runner import repos
from codefleet.runner.sharing.reachability import has_trunk

NO_AGENT = """\
no agent program is installed: tasks go to `scripted`, which runs the script in a task
for Claude: `npm install -g @anthropic-ai/claude-code`, log in, `fleet config set coder claude`\
"""

if TYPE_CHECKING:
    from codefleet.fleet import Fleet
    from codefleet.runner.gc.collector import Told
    from codefleet.runner.programs.default_coder import Candidate


@click.command()
@click.option("--share", is_flag=True, help="Let other machines work on it, through its remote.")
@click.option("--moved", metavar="NAME", help="This is the repo NAME, which has moved here.")
def init(share: bool, moved: str | None) -> None:
    """Set up the fleet's home and register the current repository.

    Nothing that exists is changed, so you can run it again at any time. In a clone of a repository
    that another machine shares, this machine works in that clone from now on. A repository that has
    moved is recognized if the fleet has worked on it; otherwise use --moved NAME.
    """
    refuse_agents(Right.SET_UP)
    folder = home()
    home_new = not folder.is_dir()
    settings_new = _write_settings(folder)
    here = repo_here() or bare_here()
    if (share or moved is not None) and not here:
        raise Invalid("this is not a git repository", hint="change to the one you mean")
    repo = call(lambda fleet: _register(fleet, here, share=share, moved=moved), create=True)
    say(clean(f"{'created' if home_new else 'found'} the fleet's home {folder}"))
    say(clean(f"{'wrote' if settings_new else 'kept'} the settings {folder / FILE}"))
    if settings_new:
        _choose_coder(folder)
    if repo:
        _introduce(repo)
    else:
        say("this is not a git repository; run `fleet init` inside one to register it")


def _choose_coder(folder: Path) -> None:
    """Choose an installed, logged-in agent program as the coder of a new fleet, and say so."""
    from codefleet.runner.programs.default_coder import candidates, preferred

    config = load(folder, env=os.environ)
    if config.source("coder") != "default":
        return
    found = asyncio.run(candidates(config))
    taken = preferred(found)
    if taken:
        set_value(folder / FILE, "coder", taken.name)
        others = [each.name for each in found if each.is_ready and each != taken]
        also = f"; also ready: {', '.join(others)}" if others else ""
        say(f"tasks go to {taken.name}{also} (change it: `fleet config set coder NAME`)")
        _point_out_missing_variables(taken, config)
        return
    for each in found:
        is_out = each.logged_in is False and not each.silent
        wrong = f"not logged in: {each.log_in}" if is_out else each.silent
        say(clean(f"{each.name} is installed" + (f", but {wrong}" if wrong else "")))
        say(f"to give it the tasks: `fleet config set coder {each.name}`")
    if not found:
        say(NO_AGENT)


def _point_out_missing_variables(taken: "Candidate", config: Config) -> None:
    from codefleet.runner.programs.login import not_passed_on, pass_on

    if not taken.logged_in:
        names = taken.missing_variables
        say(f"{not_passed_on(names)}; pass it on: {pass_on(names, config)}")


def _introduce(repo: Repo) -> None:
    say(clean(f"{repo.name} is a repo of this fleet: {repo.path}, trunk {repo.trunk}"))
    if repo.shared:
        say(clean(f"its work is shared through {repo.remote}; any machine of the fleet may join"))
    if asyncio.run(has_trunk(repo)):
        say('next: fleet add "What to do", then fleet run')
    else:
        name = f"`fleet config set repos.{repo.name}.trunk BRANCH`"
        say(clean(f"there is no branch {repo.trunk}; create it, or name another: {name}"))


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
def gc(dry_run: bool) -> None:
    """Remove idle worktrees, branches of finished tasks and files of old runs.

    Work that is not on the trunk is archived first, under refs/fleet/archive/.
    """

    async def collect(fleet: "Fleet") -> int:
        from codefleet.runner import verbs
        from codefleet.runner.context import Context

        return await tell_each(verbs.gc(Context(fleet), dry_run=dry_run))

    gone = call(collect)
    say(f"{count(gone, 'item')} {'would be removed' if dry_run else 'removed'}")


@click.command()
@click.option("--yes", is_flag=True, help="Confirm that every task is to be deleted.")
def reset(yes: bool) -> None:
    """Delete every task, run and event; all branches of the fleet are archived first.

    Agents that a killed runner left running are stopped and their work is saved. A branch that you
    have checked out is archived but not removed.
    """
    if not yes:
        raise Refused(
            "this deletes every task of the fleet",
            hint="keep a copy with `fleet export FILE`, then run `fleet reset --yes`",
        )

    async def forget(fleet: "Fleet") -> int:
        from codefleet.runner.context import Context
        from codefleet.runner.gc.collector import reset

        return await tell_each(reset(Context(fleet)))

    call(forget)
    say("the fleet is empty")


async def tell_each(news: "AsyncIterator[Told]") -> int:
    """Print what was removed, and to stderr what had to stay; returns how many were removed."""
    gone = 0
    async for told in news:
        click.echo(clean(told.text), err=not told.gone)
        gone += told.gone
    return gone


def _write_settings(folder: Path) -> bool:
    """Write a file of commented defaults, unless there is one."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / ".gitignore").write_text("*\n")  # the home may be inside a repository
        with open_text(folder / FILE) as file:
            file.write(sample())
    except FileExistsError:
        if folder.is_dir():
            return False
        raise WorkspaceTrouble(f"{folder} is a file", hint="name a folder: --home DIR") from None
    except OSError as wrong:
        raise WorkspaceTrouble(
            f"cannot create the fleet's home {folder}: {wrong.strerror}",
            hint="choose a folder that you can write to: --home DIR, or $FLEET_HOME",
        ) from wrong
    return True


async def _register(
    fleet: "Fleet", folder: Path | None, *, share: bool, moved: str | None
) -> Repo | None:
    from codefleet.runner.context import Context

    if folder and moved is not None:
        await repos.moved(fleet, moved, folder)
    known = await repos.known_repo(fleet, folder) if folder else None
    if known and share:
        return await repos.share(Context(fleet), known.name)
    return await Context(fleet).repo(known.name) if known else None
