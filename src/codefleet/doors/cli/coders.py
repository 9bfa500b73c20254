"""`fleet coders`: what each can do, which accounts rest, and how recorded output is read."""

import os
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from codefleet.coder import Coder
from codefleet.coders import registry
from codefleet.config import Config, last_good, load
from codefleet.domain.accounts import coder_of, sentence
from codefleet.domain.errors import BadConfig, StoreTrouble
from codefleet.domain.model import Rest
from codefleet.domain.noun import Noun
from codefleet.domain.signals import Signal
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, home, json_option, look, say
from codefleet.doors.cli.groups import Subcommands
from codefleet.doors.cli.text import brief, clean, table
from codefleet.runner.process.custody import Exit
from codefleet.runner.programs.installed import program_of
from codefleet.runner.run import replay
from codefleet.runner.run.replay import Recording
from codefleet.runner.run.verdict import Delivered, Failed, Released

HEADINGS = ("CODER", "PROGRAM", "RESUMES", "COST", "CONTEXT", "VERIFIED")
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(cls=Subcommands, invoke_without_command=True)
@json_option
@click.pass_context
def coders(ctx: click.Context, as_json: bool) -> None:
    """List the agent programs, what each can do, and which accounts are resting."""
    if ctx.invoked_subcommand:
        return
    config = _settings()
    described = [_described(coder, config) for coder in _installed()]
    rests = _rests()
    if as_json:
        show.data([{**each, "rests": _of(str(each["name"]), rests)} for each in described])
        return
    click.echo(table(HEADINGS, [_row(each) for each in described], stretch=(1,)))
    for words in registry.shadowed():
        say(clean(words))
    for rest in rests:
        click.echo(click.style(clean(sentence(rest, datetime.now(UTC))), fg="yellow"))


@coders.command("wake")
@click.argument("name", metavar="ACCOUNT")
@json_option
def wake(name: str, as_json: bool) -> None:
    """Use an account again, after you log in or its limit is lifted."""
    woken = call(lambda fleet: fleet.wake(name))
    if as_json:
        show.noun(woken)
    else:
        say(f"{clean(woken.account)} can be used again")


@coders.command("read")
@click.argument("name", shell_complete=lambda _c, _p, text: _beginning(text))
@click.argument("file", type=FILE)
@click.option(
    "--exit-code", type=int, default=0, help="The program's exit code; -9 means killed by signal 9."
)
@click.option("--stderr", type=FILE, help="A file with its stderr output.")
@json_option
def read(name: str, file: Path, exit_code: int, stderr: Path | None, as_json: bool) -> None:
    """Read recorded output as a run would, and show what it means."""
    exit = Exit(code=exit_code) if exit_code >= 0 else Exit(signal=-exit_code)
    complaints = stderr.read_text(errors="replace") if stderr else ""
    printed_at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    found = replay.read(
        registry.coder(name), file.read_bytes(), exit, complaints, printed_at=printed_at
    )
    if as_json:
        signals = [_fields(signal) for signal in found.signals]
        show.data({"signals": signals, "outcome": _outcome(found)})
        return
    for signal in found.signals:
        click.echo(_line(signal))
    click.echo()
    click.echo(_summary(found))


def _beginning(text: str) -> list[str]:
    return [name for name in registry.names() if name.startswith(text)]


def _installed() -> Iterator[Coder]:
    for name in registry.names():
        try:
            yield registry.coder(name)
        except BadConfig as trouble:
            say(clean(trouble.problem))


def _settings() -> Config:
    """The settings, or the last good ones; who reads the store next is warned of that."""
    try:
        return load(home(), env=os.environ)
    except BadConfig as wrong:
        return last_good.load_anyway(home(), wrong, os.environ)


def _rests() -> Sequence[Rest]:
    """The resting accounts; none if there is no fleet yet."""
    try:
        return look(lambda fleet: fleet.rests())
    except StoreTrouble:
        return ()


def _of(coder: str, rests: Sequence[Rest]) -> list[Rest]:
    return [rest for rest in rests if coder_of(rest.account) == coder]


def _described(coder: Coder, config: Config) -> dict[str, object]:
    program = program_of(coder, config.coders.get(coder.name, {}))
    return {
        "name": coder.name,
        "program": program,
        "path": shutil.which(program) if program else None,
        **coder.abilities._asdict(),
        "verified": coder.abilities.verified and registry.is_built_in(coder.name),
    }


def _row(described: dict[str, object]) -> tuple[str, ...]:
    program, path = described["program"], described["path"]
    missing = click.style(f"{clean(str(program))}: not found", fg="yellow")
    return (
        clean(str(described["name"])),
        clean(str(path)) if path else missing if program else "-",
        _yes(described["resume"]),
        _yes(described["reports_cost"]),
        _yes(described["reports_context"]),
        _yes(described["verified"]),
    )


def _yes(it: object) -> str:
    return "yes" if it else "no"


def _fields(signal: Signal) -> dict[str, object]:
    plain = {name: _plain(value) for name, value in signal._asdict().items()}
    return {"signal": type(signal).__name__, **plain}


def _plain(value: object) -> object:
    if isinstance(value, Noun):
        return value.plain()
    return value.isoformat() if isinstance(value, datetime) else value


def _line(signal: Signal) -> str:
    kind, *told = _fields(signal).items()
    said = "  ".join(f"{name}={brief(str(value))}" for name, value in told if value)
    return f"{click.style(str(kind[1]), fg='cyan')}  {said}".rstrip()


def _summary(found: Recording) -> str:
    """The outcome for a human, without what is unknown."""
    told = _outcome(found)
    told |= {"ok": _yes(told["ok"]), "usage": show.usage(found.heard.spent), "cost_usd": None}
    return "\n".join(f"{key:<9}  {clean(str(value))}" for key, value in told.items() if value)


def _outcome(found: Recording) -> dict[str, object]:
    heard, ended = found.heard, found.verdict
    failed = ended if isinstance(ended, Failed | Released) else None
    return {
        "ok": isinstance(ended, Delivered),
        "reason": failed.reason if failed else None,
        "note": failed.note if failed else "",
        "session": heard.session,
        "text": (heard.end.text if heard.end else "") or heard.said,
        "usage": {k: v for k, v in heard.spent.plain().items() if k != "cost_usd"},
        "cost_usd": heard.spent.cost_usd,
        "resets_at": _plain(ended.until) if isinstance(ended, Released) else None,
    }
