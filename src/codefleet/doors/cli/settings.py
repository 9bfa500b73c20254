"""Settings: `fleet config show` and `fleet config set`."""

import os
from pathlib import Path

import click

from codefleet.config import FILE, KEYS, Config, load, toml, value_of, without_password
from codefleet.config.file import set_value
from codefleet.domain.errors import FleetError, NotFound
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, coder_exists, home, json_option, say
from codefleet.doors.cli.place import repo_here
from codefleet.doors.cli.text import clean, table


@click.group(invoke_without_command=True)
@click.pass_context
def config(ctx: click.Context) -> None:
    """Show or change settings."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@config.command("show")
@json_option
def show_(as_json: bool) -> None:
    """List every setting that holds here, and where its value comes from."""
    root = repo_here()
    found = load(home(), repo=root, repo_name=_name_of(root), env=os.environ)
    values = found.plain()
    for key in ("store", "store_direct"):
        values[key] = without_password(values[key])
    if as_json:
        show.data({key: {"value": values[key], "source": found.source(key)} for key in KEYS})
        return
    rows = [(key, clean(_shown(values[key])), clean(found.source(key))) for key in KEYS]
    click.echo(table(("SETTING", "VALUE", "FROM"), rows, stretch=(1, 2)))


@config.command("set", context_settings={"ignore_unknown_options": True})  # a value may be -3
@click.argument("key", shell_complete=lambda _c, _p, text: [k for k in KEYS if k.startswith(text)])
@click.argument("value")
@click.option("--repo", "in_repo", is_flag=True, help="In the repository's own file.")
def set_(key: str, value: str, in_repo: bool) -> None:
    """Set one setting; an empty VALUE takes it out again.

    \b
    fleet config set agents 5
    fleet config set checks 'make test, make lint' --repo
    fleet config set coders.command.argv '["my-agent", "{prompt_file}"]'
    """
    folder = repo_here() if in_repo else home()
    if folder is None:
        raise NotFound("there is no repository here", hint="go into one, or leave out --repo")
    for name in _coders_in(key, value):
        coder_exists(name)
    set_value(folder / FILE, key, value, in_repo=in_repo)
    say(f"{key} is {'set' if value else 'taken out'} in {folder / FILE}")
    _warn_of_stronger(key, load(home(), repo=repo_here(), env=os.environ))


def _coders_in(key: str, value: str) -> list[str]:
    """The coders that this setting is to name."""
    match key.split("."):
        case ["coder" | "fallback"] | ["repos", _, "coder" | "fallback"] if value:
            return [value]
        case ["coders", name, *_] if value:
            return [name]
        case ["route"] | ["repos", _, "route"] if isinstance(
            rules := value_of("route", value), list
        ):
            return [
                str(rule["coder"]) for rule in rules if isinstance(rule, dict) and "coder" in rule
            ]
    return []


def _warn_of_stronger(key: str, config: Config) -> None:
    source = config.source(key)
    if source.startswith("FLEET_"):
        say(f"warning: the variable {source} is stronger and holds here")


def _name_of(root: Path | None) -> str | None:
    """The repo's name in the fleet; settings must be shown also when the store cannot open."""
    if root is None:
        return None
    try:
        known = {repo.path: repo.name for repo in call(lambda fleet: fleet.repos())}
    except FleetError:
        return root.name
    return known.get(str(root), root.name)


def _shown(value: object) -> str:
    return "-" if value is None else value if isinstance(value, str) else toml(value)
