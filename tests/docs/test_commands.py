"""Every command line in the docs is one that the program accepts."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from codefleet.coders import script_steps, script_text
from codefleet.domain.words import Reason
from codefleet.doors.cli.program import program
from tests.docs.pages import PAGES, ROOT, blocks, name, prose

INLINE = re.compile(r"`(fleet [^`]+)`")
SCRIPTS = ROOT / "docs" / "how-to" / "write-a-script.md"


def commands(page: Path) -> Iterator[str]:
    """The command lines of a page: those in its shell blocks, and those inside sentences."""
    for block in blocks(page):
        if block.language in ("sh", "console"):
            lines = (line.removeprefix("$ ") for line in block.lines)
            yield from (line for line in lines if line.startswith("fleet "))
    yield from (" ".join(found.split()) for found in INLINE.findall(prose(page)))


def understand(line: str) -> None:
    """Let the program parse a command line down to its last option, and do nothing."""
    words = [_filled(word) for word in shlex.split(line, comments=True)[1:] if word != "..."]
    words = words[: words.index("<")] if "<" in words else words
    command: click.Command = program
    context = click.Context(program, info_name="fleet", **program.context_settings)
    while isinstance(command, click.Group) and words:
        _, words, _ = command.make_parser(context).parse_args(words)
        if not words:
            return
        _, found, words = command.resolve_command(context, words)
        assert found
        command = found
        context = click.Context(command, context, command.name)
    if words:  # prose refers to a command by its name alone
        command.make_context(command.name, words, parent=context.parent)


def _filled(word: str) -> str:
    """A word in capitals is a placeholder; 1 is as good a number as it is a name."""
    return "1" if word.isalpha() and word.isupper() else word


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
    explained = set(re.findall(r"^\| `([\w-]+)", SCRIPTS.read_text(), re.MULTILINE))
    assert explained == set(script_steps.STEPS)


def test_the_first_script_of_the_page_can_be_followed() -> None:
    example = next(block for block in blocks(SCRIPTS) if block.language == "markdown")
    steps = script_text.steps_of("\n".join(example.lines), attempt=1)
    assert [step.name for step in steps] == ["say", "write", "edit", "commit"]


def test_every_reason_is_in_the_lifecycle() -> None:
    page = (ROOT / "docs" / "explanation" / "lifecycle.md").read_text()
    assert [reason for reason in Reason if f"| `{reason}` |" not in page] == []
