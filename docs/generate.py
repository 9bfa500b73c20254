"""Write the reference pages from the code; a test fails when one is stale."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from codefleet.api.table import OPERATIONS, PREFIX
from codefleet.config import FLEET_WIDE, NOT_IN_A_REPO, toml
from codefleet.config.settings import DEFAULT, meanings
from codefleet.domain import errors
from codefleet.domain.events import KINDS
from codefleet.domain.routing import Route
from codefleet.doors.cli.commands import SECTIONS
from codefleet.doors.cli.program import program
from codefleet.doors.http.claude_fleet.table import AUTH, ROUTES
from codefleet.doors.mcp.server import DEFAULT as USUAL
from codefleet.doors.mcp.server import TOOLSETS
from codefleet.fleet import Fleet

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
with `seq`, `at`, `kind`, `task`, `run`, `agent`, `by`, `text` and `data`; `seq` rises strictly, so
a reader goes on with `fleet log --since SEQ`. `by` says who caused it: `human`, `owner` (with the
owner's token), `HANDLE@TEAM` (with a member's), `run ID` (the agent of that run) or `runner HOST`;
it is empty in the logs of older versions."""


ABOUT_HTTP = """\
`fleet serve` offers every verb over HTTP; [Serve the fleet](../how-to/serve.md) shows it at work.
Every request needs the header `Authorization: Bearer TOKEN`, or the cookie that `POST /session`
gives to a browser, except `/health`, `/auth`, `/session` and `/openapi.json`, which describes
requests and answers in full (OpenAPI 3.1). An error is
`application/problem+json` with `code`, `detail` and `hint`, the same as at every other door.

- A request that creates something (201) may carry an `Idempotency-Key`. Sent again with the same
  key within a day, it creates nothing and returns what the first one created. The secret of an
  invite and the text of a token are not stored, but made again with a key of the home; once that
  is gone, or if another machine made them, they are not told again (409). The same if you can no
  longer see what the request created. `/workflows/{ref}/start` of claude-fleet refuses a key (422).
- A task has an `ETag`. A request that changes one task takes it as `If-Match`, and is refused (412)
  if the task has changed since. Every other request refuses `If-Match` (422).
- A long list comes in pages: pass `next_cursor` as `cursor`.
- `GET /api/v1/events` with `Accept: text/event-stream` follows the log. `Last-Event-ID` continues
  after an event; `task`, `run`, `kinds` and `team` narrow it. The event `gap` names what a client
  that did not keep up has missed; `drain` announces that the server stops.
- `/ws` offers the same over a WebSocket: send `{"type": "auth", "token": ...}`, then
  `{"type": "subscribe", "after": SEQ, "task": ..., "run": ..., "kinds": [...],
  "team": ...}`.
- `/metrics` is for [Prometheus](../how-to/monitor.md); `/metrics/json` has the most important."""
ABOUT_CLAUDE_FLEET = """\
At the root of the server, for clients that were written for claude-fleet, with its payloads: views
of the same tasks, runs and messages. [Come from claude-fleet](../how-to/come-from-claude-fleet.md)
maps the rest. An error also has the key `error`."""
ABOUT_THE_LIBRARY = """\
`async with open_fleet() as fleet:` gives you a `Fleet`. The how-to
[Use it as a library](../how-to/use-as-a-library.md) shows it at work. A `ref` is the id of a task
or workflow, or the beginning of one. Every call that is not possible raises a `FleetError` with a
sentence and a hint. Records that you get are frozen."""
LIBRARY = {
    "Tasks": "add get list edit pause resume cancel retry why details watch",
    "What waits for a human": (
        "inbox answer land reject alert settle_alert reviews comment withdraw_comment"
    ),
    "The whole fleet": (
        "status counts left agents crew send message broadcast notify cost trends rests wake"
    ),
    "Runs": "runs_of last_runs find_runs runs_during heartbeats",
    "Workers and swarms": (
        "spawn dismiss worker workers own_handle create_swarm swarm swarms kill_swarm "
        "post read_post read_posts mark_posts_read archive_posts send_mail mail mark_mail_read "
        "hand_off handoffs add_checkpoint checkpoint checkpoints accept_checkpoint "
        "reject_checkpoint remember recall search_memory memories"
    ),
    "Workflows": (
        "start workflow workflows family_of collect_workflow cancel_workflow retry_workflow"
    ),
    "Comparing tasks": (
        "similar search find dependencies open_conflicts shared_files claim_files file_claims"
    ),
    "The log": "events follow last_seq changed failed_since archive is_archived story",
    "Repos": "repos repo register",
    "A whole fleet": "export load forget",
    "Requests that are repeated": "once expecting forget_receipts",
    "Teams": (
        "create_team teams team members remove_team "
        "invite invite_again invites withdraw_invite join"
    ),
    "Tokens": (
        "create_token token_again tokens revoke_token rotate_keys with_token check_token "
        "sign_in_code with_code session with_session"
    ),
    "Who asks": "actor acting_as asking permit permit_reading rights moves",
    "Facts": "home host config now",
}


def pages() -> dict[str, str]:
    """Every generated page by its file name."""
    return {
        "cli.md": "\n".join([NOTE, "", *_cli()]) + "\n",
        "config.md": "\n".join([NOTE, "", *_config()]) + "\n",
        "http.md": "\n".join([NOTE, "", *_http()]) + "\n",
        "events.md": "\n".join([NOTE, "", *_events()]) + "\n",
        "library.md": "\n".join([NOTE, "", *_library()]) + "\n",
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
    yield f"| {errors.WorkspaceTrouble.exit_code} | {_sentence(errors.WorkspaceTrouble)} |"
    yield f"| {errors.NEEDS_HUMAN} | what is left needs you: a question, a review, a landing |"
    yield "| 130 | stopped by Ctrl-C; a runner has kept the work of its agents |"
    yield "| 141 | the reader of the output is gone |"
    yield "| 143 | a runner was stopped by SIGTERM, as gracefully as by Ctrl-C |"


def _http() -> Iterator[str]:
    yield from ("# The HTTP API", "")
    yield ABOUT_HTTP
    yield from ("", "| verb | request | what it does |", "|---|---|---|")
    for operation in OPERATIONS:
        asked = f"{operation.method} {PREFIX}{operation.path}"
        yield f"| `{operation.name}` | `{asked}` | {operation.summary} |"
    yield from ("", "## The routes of claude-fleet", "", ABOUT_CLAUDE_FLEET)
    yield from ("", "| request | what it does |", "|---|---|")
    for operation in (AUTH, *ROUTES):
        yield f"| `{operation.method} {operation.path}` | {operation.summary} |"
    yield from ("", "## Errors", "", "| status | code | means |", "|--:|---|---|")
    for error in sorted(_errors(errors.FleetError), key=lambda each: (each.status, each.code)):
        yield f"| {error.status} | `{error.code}` | {_sentence(error)} |"


def _errors(root: type[errors.FleetError]) -> Iterator[type[errors.FleetError]]:
    for error in root.__subclasses__():
        if error.__module__ == errors.__name__:
            yield error
            yield from _errors(error)


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
    for name, parts in TOOLSETS.items():
        usual = " (by default)" if name in USUAL else ""
        yield from ("", f"## {name}{usual}", "", _first_line(parts[0]))
        for part in parts:
            for tool in (*part.READS, *part.WRITES):
                yield from ("", f"### {tool}", "")
                yield inspect.getdoc(getattr(part, tool)) or ""
                yield from _arguments(getattr(part, tool))


def _library() -> Iterator[str]:
    yield from ("# The library", "")
    yield ABOUT_THE_LIBRARY
    for title, names in LIBRARY.items():
        yield from ("", f"## {title}")
        for name in names.split():
            member = getattr(Fleet, name)
            yield from ("", f"### {name}", "", "```", _signature(name, member), "```", "")
            yield inspect.getdoc(member) or ""


def _signature(name: str, member: object) -> str:
    if isinstance(member, property):
        assert member.fget
        return f"{name}: {_short(str(inspect.signature(member.fget)).partition(' -> ')[2])}"
    assert callable(member)
    called = inspect.signature(member)
    own = called.replace(parameters=list(called.parameters.values())[1:])
    word = "async def" if inspect.iscoroutinefunction(member) else "def"
    return f"{word} {_short(f'{name}{own}')}"


def _short(types: str) -> str:
    """Types by their names alone, without the modules they are in."""
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=\w)", "", types)


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
