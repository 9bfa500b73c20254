"""Write the reference pages from the code; a test fails when one is stale."""

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from codefleet.config import FLEET_WIDE, NOT_IN_A_REPO, toml
from codefleet.config.settings import DEFAULT, meanings
from codefleet.domain import errors
from codefleet.domain.events import KINDS
from codefleet.domain.routing import Route
from codefleet.doors.cli.program import SECTIONS, program
from codefleet.doors.mcp.server import DEFAULT as USUAL
from codefleet.doors.mcp.server import TOOLSETS

FOLDER = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate.py from the code; edit the code instead. -->"

ABOUT_COMMANDS = """\
`fleet` and `codefleet` are the same program. Data goes to stdout, messages go to stderr. Refer to a
task by its id or by the beginning of its id."""
ABOUT_SETTINGS = """\
From strongest to weakest: a flag, a `FLEET_*` variable (`FLEET_AGENTS=5`), the table
`[repos.NAME]` in the home's `fleet.toml`, the rest of that file, the default. The repo's own
`fleet.toml`, as its trunk has it, can only be
[stricter](../how-to/permissions.md#what-a-repo-may-decide). `fleet config show` tells which one
holds. A running fleet picks up a changed file by itself, and keeps the last good settings when the
new ones are bad; where a repo's own file is bad, nothing starts until it is fixed. Commands that
only read (`status`, `list`, `show`, `log`, ...) use the last good settings too, with a warning; the
others refuse until the file is fixed."""
ABOUT_PLACES = """\
*fleet*: only in the home's file, a variable or a flag. *owner*: also in `[repos.NAME]` of the
home's file. *any*: also in the repo's own file, where it can tighten."""
ABOUT_TOOLS = """\
`fleet mcp` serves the toolsets that `--toolsets` names. A refusal is `{code, problem, hint}`, the
same as at every other door. Resources are `fleet://runs/RUN/log`, `diff` and `evidence`; prompts
are `plan_this`, `review_what_landed` and `what_needs_me`."""
ABOUT_ROUTES = """\
A task that names no coder or no model gets that of the first rule that fits it, when it first
starts. What a rule leaves out fits every task. Priority 5 is the most urgent.

```toml
[[route]]
name = "hard"
complexity = ["large"]
coder = "claude"
model = "opus"
```"""
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
        "mcp.md": "\n".join([NOTE, "", *_tools()]) + "\n",
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
    yield from ("", "## Exit codes", "", "| code | means |", "|--:|---|", "| 0 | success |")
    yield "| 1 | a task failed (`fleet run --until-idle`), `fleet doctor` found something to fix, \
or there is a bug in codefleet |"
    for error in (errors.Invalid, errors.NotFound, errors.Refused, errors.StoreTrouble):
        yield f"| {error.exit_code} | {_sentence(error)} |"
    yield f"| {errors.Workspace.exit_code} | {_sentence(errors.Workspace)} |"
    yield f"| {errors.NEEDS_HUMAN} | what is left needs you: a question, a review, a landing |"
    yield "| 130 | stopped by Ctrl-C; a runner has kept the work of its agents |"
    yield "| 141 | the reader of the output is gone |"
    yield "| 143 | a runner was stopped by SIGTERM, as gracefully as by Ctrl-C |"


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
    for key, meaning in meanings().items():
        default = getattr(DEFAULT, key)
        shown = "" if default is None else f"`{toml(default)}`"
        yield f"| `{key}` | {shown} | {meaning} | {_where(key)} |"
    yield ""
    yield ABOUT_PLACES
    yield from ("", "## Rules that choose", "", ABOUT_ROUTES, "")
    yield from ("| field of `[[route]]` | default | what it is |", "|---|---|---|")
    for key, meaning in meanings(Route).items():
        default = getattr(Route(name=""), key)
        shown = f"`{toml(default)}`" if default not in ("", None) else ""
        yield f"| `{key}` | {shown} | {meaning} |"


def _where(key: str) -> str:
    return "fleet" if key in FLEET_WIDE else "owner" if key in NOT_IN_A_REPO else "any"


def _events() -> Iterator[str]:
    yield from ("# Events", "")
    yield ABOUT_EVENTS
    yield from ("", "| kind | means |", "|---|---|")
    yield from (f"| `{kind}` | {meaning} |" for kind, meaning in KINDS.items())


def _tools() -> Iterator[str]:
    yield from ("# Tools of the MCP server", "")
    yield ABOUT_TOOLS
    for name, toolset in TOOLSETS.items():
        usual = " (by default)" if name in USUAL else ""
        yield from ("", f"## {name}{usual}", "", _first_line(toolset))
        for tool in (*toolset.READS, *toolset.WRITES):
            yield from ("", f"### {tool}", "")
            yield inspect.getdoc(getattr(toolset, tool)) or ""
            yield from _arguments(getattr(toolset, tool))


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").splitlines()[0]


def _arguments(tool: Callable[..., object]) -> Iterator[str]:
    known = inspect.signature(tool).parameters.values()
    taken = [each for each in known if each.name not in ("self", "ctx")]
    if taken:
        yield from ("", "| argument | default |", "|---|---|")
    for each in taken:
        needed = each.default is inspect.Parameter.empty
        yield f"| `{each.name}` | {'required' if needed else f'`{toml(each.default)}`'} |"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"wrote {len(pages())} pages to {FOLDER}\n")


if __name__ == "__main__":
    main()
