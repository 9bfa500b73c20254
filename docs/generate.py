"""Write the reference pages from the code; a test fails when one is stale."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from codefleet.config import FLEET_WIDE, NOT_IN_A_REPO, Config, toml
from codefleet.domain import errors
from codefleet.domain.events import KINDS
from codefleet.doors.cli.program import SECTIONS, program

FOLDER = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate.py from the code; edit the code instead. -->"

ABOUT_COMMANDS = """\
`fleet` and `codefleet` are the same program. Data goes to stdout, words go to stderr. A task is
named by its id or by the beginning of its id."""
ABOUT_SETTINGS = """\
From strongest to weakest: a flag, a `FLEET_*` variable (`FLEET_AGENTS=5`), the repo's own
`fleet.toml`, the table `[repos.NAME]` in the home's `fleet.toml`, the rest of that file, the
default. `fleet config show` tells which one holds. A running fleet takes over a changed file by
itself, and keeps the last good settings when the new ones are bad."""
ABOUT_PLACES = """\
*fleet*: only in the home's file, a variable or a flag. *owner*: also in `[repos.NAME]` of the
home's file. *any*: also in the repo's own file."""
ABOUT_EVENTS = """\
Everything that happens is one line of the fleet's log. `fleet log --json` prints each as an object
with `seq`, `at`, `kind`, `task`, `run`, `agent`, `text` and `data`; `seq` rises strictly, so a
reader goes on with `fleet log --since SEQ`."""


def pages() -> dict[str, str]:
    """Every generated page by its file name."""
    return {
        "cli.md": "\n".join([NOTE, "", *_cli()]) + "\n",
        "config.md": "\n".join([NOTE, "", *_config()]) + "\n",
        "events.md": "\n".join([NOTE, "", *_events()]) + "\n",
    }


def _cli() -> Iterator[str]:
    yield from ("# The command line", "")
    yield ABOUT_COMMANDS
    root = click.Context(program, info_name="fleet", **program.context_settings)
    for title, names in SECTIONS.items():
        yield from ("", f"## {title}")
        for name in names:
            command = program.get_command(root, name)
            assert command
            yield from _command(click.Context(command, root, name))
    yield from ("", "## Exit codes", "", "| code | means |", "|--:|---|", "| 0 | all is well |")
    yield "| 1 | a task failed (`fleet run --until-idle`), `fleet doctor` found something to mend, \
or there is a mistake in codefleet |"
    for error in (errors.Invalid, errors.NotFound, errors.Refused, errors.StoreTrouble):
        yield f"| {error.exit_code} | {_sentence(error)} |"
    yield f"| {errors.Workspace.exit_code} | {_sentence(errors.Workspace)} |"
    yield "| 130 | stopped by Ctrl-C; a runner has kept the work of its agents |"
    yield "| 141 | nobody reads the output any more |"
    yield "| 143 | a runner was stopped by SIGTERM, as gently as by Ctrl-C |"


def _command(ctx: click.Context) -> Iterator[str]:
    yield from ("", f"### {ctx.command_path}", "", "```", ctx.get_help(), "```")
    if isinstance(ctx.command, click.Group):
        for name in ctx.command.list_commands(ctx):
            command = ctx.command.get_command(ctx, name)
            assert command
            yield from _command(click.Context(command, ctx, name))


def _sentence(error: type[errors.FleetError]) -> str:
    said = (error.__doc__ or "").rstrip(".")
    return said[0].lower() + said[1:]


def _config() -> Iterator[str]:
    yield from ("# Settings", "")
    yield ABOUT_SETTINGS
    yield ""
    yield "| setting | default | what it is | where |"
    yield "|---|---|---|---|"
    for key, field in Config.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = "" if default is None else f"`{toml(default)}`"
        yield f"| `{key}` | {shown} | {field.description} | {_where(key)} |"
    yield ""
    yield ABOUT_PLACES


def _where(key: str) -> str:
    return "fleet" if key in FLEET_WIDE else "owner" if key in NOT_IN_A_REPO else "any"


def _events() -> Iterator[str]:
    yield from ("# Events", "")
    yield ABOUT_EVENTS
    yield from ("", "| kind | means |", "|---|---|")
    yield from (f"| `{kind}` | {meaning} |" for kind, meaning in KINDS.items())


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"wrote {len(pages())} pages to {FOLDER}\n")


if __name__ == "__main__":
    main()
