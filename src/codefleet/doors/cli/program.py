"""The program: its commands, each imported when called, and how errors are reported."""

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from codefleet.config import fleet_home
from codefleet.domain.errors import FleetError, Invalid, WorkspaceTrouble
from codefleet.domain.validation import NO_TEXT
from codefleet.doors.cli import text
from codefleet.doors.cli.commands import AT_A_DISTANCE, COMMANDS, OF_THIS_MACHINE, SECTIONS
from codefleet.doors.cli.groups import no_command

INTERRUPTED = 130
PIPE_CLOSED = 141
LONGEST = 2000
HELP = ["-h", "--help"]
SERVER_VARIABLES = ["FLEET_SERVER", "CLAUDE_FLEET_URL"]


class Program(click.Group):
    """Knows every command by name and imports only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"codefleet.doors.cli.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise no_command(ctx, args[0], COMMANDS)
        if args and not ctx.resilient_parsing and not {*HELP} & {*args}:
            _refuse_distance(ctx, args[0])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in SECTIONS.items():
            with formatter.section(title):
                commands = {name: self.get_command(ctx, name) for name in names}
                formatter.write_dl(
                    [(name, it.get_short_help_str(80)) for name, it in commands.items() if it]
                )


def _refuse_distance(ctx: click.Context, name: str) -> None:
    """Refuse a server to what works only here, however it was named: it would be ignored."""
    if not ctx.params.get("server") or name in AT_A_DISTANCE:
        return
    if ctx.get_parameter_source("server") is ParameterSource.COMMANDLINE:
        way = f"leave out --server, or call `fleet {name}` on the machine of that fleet"
    elif name in OF_THIS_MACHINE:
        return
    else:
        named = next(each for each in SERVER_VARIABLES if os.environ.get(each))
        way = f"{named} is set; `env -u {named} fleet {name} ...` acts on the fleet of this machine"
    raise Invalid(f"`{name}` works on this machine only, not with a server", hint=way)


def _folder(said: str) -> Path:
    """A folder by name; an empty name would mean the current folder, which nobody intends."""
    if not said:
        raise click.BadParameter("a folder needs a name.")
    return Path(said)


def _address(said: str) -> str:
    """The address of a server; anything else would be taken for a folder."""
    if not said.startswith(("http://", "https://")):
        raise click.BadParameter(f"{said!r} is not the address of a server: http://HOST:PORT.")
    return said


@click.group(
    cls=Program,
    invoke_without_command=True,
    context_settings={"help_option_names": HELP, "max_content_width": 100},
)
@click.option(
    "--home",
    metavar="DIR",
    type=_folder,
    help="The fleet's home; default: $FLEET_HOME, else ~/.fleet.",
)
@click.option(
    "--server",
    metavar="URL",
    type=_address,
    envvar=SERVER_VARIABLES,
    help="Use the fleet that is served there, instead of one of this machine.",
)
@click.version_option(package_name="codefleet", message="codefleet %(version)s")
@click.pass_context
def program(ctx: click.Context, home: Path | None, server: str | None) -> None:
    """The commander of a fleet of AI coding agents."""
    ctx.obj = _usable(home.expanduser().absolute() if home else fleet_home(os.environ))
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    if ctx.invoked_subcommand is None:
        _without_a_command(ctx)


def _usable(home: Path) -> Path:
    """Refuse a home whose path is not text: runs record it."""
    try:
        str(home).encode()
    except UnicodeEncodeError:
        raise Invalid(
            f"the path of the home {home} is not valid UTF-8", hint="choose another with --home"
        ) from None
    return home


def _without_a_command(ctx: click.Context) -> None:
    """Show the help; an MCP client that starts `codefleet` gets the server."""
    if ctx.info_name == "codefleet":
        from codefleet.doors.cli.mcp import is_called_by_a_client, mcp

        if is_called_by_a_client():
            ctx.invoke(mcp)
            return
    click.echo(ctx.get_help())


def run(args: Sequence[str] | None) -> None:
    """Run the program and exit with the matching exit code."""
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")
    if args is not None:
        raise SystemExit(_ended(list(args)))
    code = _ended(sys.argv[1:])
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)  # tearing down the interpreter takes a fifth of a short command's time


def _open_what_is_closed() -> None:
    """Replace closed streams with /dev/null, so that no file of ours takes their place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))


def _ended(args: list[str]) -> int:
    """Run, report any error, and return the exit code."""
    try:
        code = _invoked(args)
        sys.stdout.flush()
        return code
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except FleetError as error:
        return _tell(error.problem, error.hint, error.exit_code)
    except click.UsageError as error:
        return _tell(error.format_message(), _usage_hint(error), error.exit_code)
    except click.ClickException as error:
        return _tell(error.format_message(), "", error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo(err=True)
        return INTERRUPTED
    except OSError as error:
        return _system_trouble(error)
    except UnicodeEncodeError:
        return _tell(NO_TEXT, "write it in UTF-8", Invalid.exit_code)
    except Exception as error:
        return _unexpected(error)


def _invoked(args: list[str]) -> int:
    """Run as click would, except for how it handles closed pipes."""
    name = "codefleet" if Path(sys.argv[0]).name == "codefleet" else "fleet"
    wanted = f"_{name.upper()}_COMPLETE"
    if wanted in os.environ:
        from click.shell_completion import shell_complete  # here, because only shells need it

        return shell_complete(program, {}, name, wanted, os.environ[wanted])
    with program.make_context(name, args) as ctx:
        program.invoke(ctx)
    return 0


def _tell(problem: str, hint: str, code: int) -> int:
    click.echo(f"{click.style('error:', fg='red', bold=True)} {_shown(problem)}", err=True)
    if hint:
        click.echo(f"{click.style('hint:', fg='cyan')}  {_shown(hint)}", err=True)
    return code


def _shown(words: str) -> str:
    """Text that is safe for a terminal; one that repeats a whole file is cut."""
    return text.clean_lines(words if len(words) <= LONGEST else f"{words[:LONGEST]}…")


def _usage_hint(error: click.UsageError) -> str:
    if isinstance(error, click.NoSuchOption) and error.ctx and error.ctx.command.name == "add":
        return "put -- before a title that begins with a dash: fleet add -- '--title'"
    path = error.ctx.command_path if error.ctx else "fleet"
    return f"see `{path} --help`"


def _system_trouble(error: OSError) -> int:
    """Report a system error, unless the pipe or terminal was closed."""
    if isinstance(error, BrokenPipeError) or _terminal_is_gone():
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    if error.errno == errno.ENOSPC:
        return _tell("the disk is full", "free some space and try again; nothing was lost", 6)
    if _folder_is_gone():
        return _tell("the current folder no longer exists", "change to another one", 6)
    where = f"{error.filename}: " if error.filename else ""
    _log_crash(error)
    return _tell(
        f"{where}{error.strerror or error}",
        "check that you can read and write it",
        WorkspaceTrouble.exit_code,
    )


def _folder_is_gone() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _terminal_is_gone() -> bool:
    """Every query on a closed terminal fails with an I/O error."""
    import termios  # here, because it is rarely needed

    try:
        termios.tcgetattr(1)
    except termios.error as wrong:
        return bool(wrong.args[0] == errno.EIO)
    return False


def _unexpected(error: Exception) -> int:
    written = _log_crash(error)
    hint = f"this is a bug in codefleet; details are in {written}" if written else ""
    summary = f"unexpected: {type(error).__name__}: {error}"
    return _tell(summary[:500], hint or "FLEET_DEBUG=1 shows the details", 1)


def _log_crash(error: BaseException) -> Path | None:
    """Write the traceback to a file; print it only if FLEET_DEBUG is set."""
    import traceback  # these here, because they are rarely needed

    from codefleet.runner.crash_log import record
    from codefleet.runner.paths import Paths

    if os.environ.get("FLEET_DEBUG"):
        click.echo("".join(traceback.format_exception(error)), err=True)
    log = Paths(_home()).crash_log()
    return log if record(log, "the command line", error) else None


def _home() -> Path:
    ctx = click.get_current_context(silent=True)
    named: Any = ctx.find_root().obj if ctx else None
    return named or fleet_home(os.environ)
