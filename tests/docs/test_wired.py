"""Wired or absent: there is no code that nothing reaches, reads or emits."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from codefleet.config import KEYS
from codefleet.domain.events import KINDS
from codefleet.doors.cli.commands import COMMANDS
from tests.docs.pages import ROOT

SOURCE = ROOT / "src"
WALK = ROOT / "docs" / "explanation" / "the-walk.md"
PROGRAMS = {
    "codefleet.runner.process.keeper",
    "codefleet.coders.scripted_agent",
    "codefleet.coders.acp.bridge",
}
"""Started as separate programs, by file path."""
LIBRARY = {"codefleet", "codefleet.wiring", "codefleet.testing.conformance"}
"""Imported by users' programs."""
TELLING = {"event", "tell", "_finish"}
"""Functions called with the kind of the event that they append."""
HOP = re.compile(r"\[`([\w/]+\.py)`\]\([^)]+\) `(\w+)`")


@cache
def modules() -> dict[str, Path]:
    files = (SOURCE / "codefleet").rglob("*.py")
    sample = SOURCE / "codefleet" / "doors" / "cli" / "sample"
    return {_module(file): file for file in files if not file.is_relative_to(sample)}


def _module(file: Path) -> str:
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def imports(module: str) -> Iterator[str]:
    """Our modules that this one imports, anywhere in it, and the packages around them."""
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in named:
            yield from (package for package in _packages(name) if package in modules())


def _packages(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


def doors() -> set[str]:
    """The entry points of users: programs and their commands, the library, coders."""
    commands = {f"codefleet.doors.cli.{place.partition(':')[0]}" for place in COMMANDS.values()}
    coders = {entry.module for entry in entry_points(group="codefleet.coders")}
    programs = {module for module in modules() if module.endswith(".__main__")} | PROGRAMS
    return (programs | commands | coders | LIBRARY) & set(modules())


def texts(*, without: str) -> str:
    return "\n".join(
        file.read_text(encoding="utf-8") for name, file in modules().items() if name != without
    )


def test_every_module_is_reached_from_a_door() -> None:
    reached: set[str] = set()
    ahead = doors()
    while ahead:
        module = ahead.pop()
        reached.add(module)
        ahead |= set(imports(module)) - reached
    assert set(modules()) - reached == set()


def test_every_program_that_is_started_by_its_path_is_started_somewhere() -> None:
    said = texts(without="")
    for program in PROGRAMS:
        assert f'with_name("{program.rpartition(".")[2]}.py")' in said, program


def test_every_setting_is_read_outside_the_module_that_defines_it() -> None:
    said = texts(without="codefleet.config")
    unread = [key for key in KEYS if not re.search(rf"\b(config|settings)\.{key}\b", said)]
    assert unread == []


def test_every_kind_of_event_is_emitted_somewhere() -> None:
    told = {
        word.value
        for module in modules()
        for call in ast.walk(parsed(module))
        if isinstance(call, ast.Call) and _name(call.func) in TELLING
        for word in call.args
        if isinstance(word, ast.Constant)
    }
    said = texts(without="codefleet.domain.events")
    paused = {f"{who}.{what}" for who in ("task", "fleet") for what in ("paused", "resumed")}
    assert 'event(f"fleet.{past}"' in said
    assert 'event(f"task.{past}"' in said
    assert set(KINDS) - told - paused == set()


def _name(function: ast.expr) -> str:
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def test_nothing_goes_past_the_two_halves_to_the_core_and_its_store() -> None:
    around = [
        f"{module}:{node.lineno}"
        for module in modules()
        if module.startswith(("codefleet.doors", "codefleet.runner"))
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.Attribute) and node.attr in ("core", "store")
        if ast.unparse(node.value).endswith(("fleet", "dispatch", "Dispatch(fleet)", "own"))
    ]
    assert around == []


def test_every_name_on_the_walk_is_in_its_file() -> None:
    hops = HOP.findall(WALK.read_text())
    assert len(hops) >= 5
    for file, function in hops:
        tree = parsed("codefleet." + file.removesuffix(".py").replace("/", "."))
        defined = (ast.FunctionDef, ast.AsyncFunctionDef)
        names = {node.name for node in ast.walk(tree) if isinstance(node, defined)}
        assert function in names, f"{file}: {function}"
