"""The reference pages match the code."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from codefleet.config import KEYS
from codefleet.domain.events import KINDS
from codefleet.doors.cli.commands import COMMANDS
from codefleet.fleet import Fleet

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["cli.md", "config.md", "events.md", "library.md", "mcp.md"])
def test_a_page_is_as_the_code_would_write_it(generate: ModuleType, page: str) -> None:
    written = (DOCS / "reference" / page).read_text(encoding="utf-8")
    assert written == generate.pages()[page], "run `make docs`"


def test_every_command_setting_and_event_is_in_the_reference(generate: ModuleType) -> None:
    pages = generate.pages()
    assert [name for name in COMMANDS if f"### fleet {name}\n" not in pages["cli.md"]] == []
    assert [key for key in KEYS if f"| `{key}` |" not in pages["config.md"]] == []
    assert [kind for kind in KINDS if f"| `{kind}` |" not in pages["events.md"]] == []


def test_every_name_of_the_fleet_is_in_the_reference_with_an_explanation(
    generate: ModuleType,
) -> None:
    public = [name for name in dir(Fleet) if not name.startswith("_")]
    page = generate.pages()["library.md"]
    assert [name for name in public if f"### {name}\n" not in page] == []
    assert [name for name in public if not getattr(Fleet, name).__doc__] == []


def test_every_command_and_option_has_words_of_help(generate: ModuleType) -> None:
    import click

    from codefleet.doors.cli.program import program

    root = click.Context(program, info_name="fleet")
    for name in COMMANDS:
        command = program.get_command(root, name)
        assert command
        assert command.help, name
        options = [param for param in command.params if isinstance(param, click.Option)]
        assert [option.name for option in options if not option.help] == [], name
