"""Move a whole fleet: export, import."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from codefleet.config.private import open_text
from codefleet.domain.errors import Refused, Unreachable
from codefleet.doors.cli.call import call, look, say
from codefleet.doors.cli.drafts import read_text
from codefleet.doors.cli.text import count

if TYPE_CHECKING:
    from codefleet.fleet import Fleet


@click.command()
@click.argument("file", metavar="FILE|-")
def export(file: str) -> None:
    """Write every task, run and event as JSON lines."""

    async def write(fleet: "Fleet") -> int:
        lines = 0
        async for line in fleet.export():
            target.write(line + "\n")
            lines += 1
        return lines

    with _whole(file) as target:
        lines = look(write)
    say(f"{count(lines, 'line')} written")


@contextmanager
def _whole(file: str) -> Iterator[IO[str]]:
    """A new file that gets its name only once it is complete: half an export could be imported, and
    would be taken for the whole."""
    if file == "-":
        with click.open_file("-", "w", encoding="utf-8") as text:
            yield text
        return
    target = Path(file)
    if target.exists():
        hint = "choose another name, or remove it first"
        raise Refused(f"{target} already exists", hint=hint)
    draft = target.with_name(f"{target.name}.part")
    draft.unlink(missing_ok=True)  # left by an export that was cut off
    try:
        with open_text(draft) as text:
            yield text
        draft.rename(target)
    except Unreachable:  # what came so far stays, if there is anything
        if not draft.stat().st_size:
            draft.unlink()
        raise
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@click.command("import")
@click.argument("file", metavar="FILE|-")
def import_(file: str) -> None:
    """Load what `fleet export` wrote, all or nothing, into an empty fleet."""
    text = read_text(file, most=None)
    lines = text.split("\n")  # not splitlines: a text may contain other Unicode line ends
    say(f"{count(call(lambda fleet: fleet.load(lines), create=True), 'line')} read")
