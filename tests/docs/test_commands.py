"""Every command line in the docs is one that the program understands."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from codefleet.coders import scripted_agent
from codefleet.domain.model import Reason
from codefleet.doors.cli.program import program
from tests.docs.pages import PAGES, ROOT, blocks, name, prose

INLINE = re.compile(r"`(fleet [^`]+)`")
ELLIPSIS = {"...", "…"}
SCRIPTS = ROOT / "docs" / "how-to" / "write-a-script.md"


def commands(page: Path) -> Iterator[str]:
    """The command lines of a page: those in its shell blocks, and those inside sentences."""
    for block in blocks(page):
        if block.language in ("sh", "console"):
            lines = (line.removeprefix("$ ") for line in block.lines)
            yield from (line for line in lines if line.startswith("fleet "))
    yield from (" ".join(found.split()) for found in INLINE.findall(prose(page)))


def understand(line: str) -> None:
    """Let the program read a command line down to its last option, and do nothing."""
    words = [word for word in shlex.split(line, comments=True)[1:] if word not in ELLIPSIS]
    if "<" in words:
        words = words[: words.index("<")]
    context = program.make_context("fleet", words, resilient_parsing=False)
    command: click.Command | None = program
    while isinstance(command, click.Group) and (rest := context.protected_args + context.args):
        _, command, words = command.resolve_command(context, rest)
        assert command
        if not words and not isinstance(command, click.Group):
            return  # just the name of a command, as one speaks of it
        context = command.make_context(command.name, words, parent=context)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_on_a_page_is_understood(page: Path) -> None:
    for line in commands(page):
        try:
            understand(line)
        except click.ClickException as wrong:
            pytest.fail(f"{name(page)}: {line}: {wrong.format_message()}")


@pytest.mark.parametrize(
    "line", ["fleet nonsense", "fleet run --nonsense", "fleet add --priority 9"]
)
def test_a_command_that_is_not_there_is_noticed(line: str) -> None:
    with pytest.raises(click.ClickException):
        understand(line)


def test_every_step_of_a_script_is_explained() -> None:
    explained = set(re.findall(r"^\| `(\w+)", SCRIPTS.read_text(), re.MULTILINE))
    assert explained == set(scripted_agent.STEPS)


def test_the_first_script_of_the_page_can_be_followed() -> None:
    example = next(block for block in blocks(SCRIPTS) if block.language == "markdown")
    steps = scripted_agent.sections(scripted_agent.script("\n".join(example.lines)))[1]
    assert [step.name for step in steps] == ["say", "write", "edit", "commit"]


def test_every_reason_is_in_the_lifecycle() -> None:
    page = (ROOT / "docs" / "explanation" / "lifecycle.md").read_text()
    assert [reason for reason in Reason if f"| `{reason}` |" not in page] == []
