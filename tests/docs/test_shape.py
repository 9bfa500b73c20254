"""The code keeps its shape: small modules, small classes, short functions."""

import ast
from collections.abc import Iterator

from tests.docs.test_wired import modules, parsed

LONGEST_MODULE = 300
MOST_METHODS = 15
LONG_FUNCTION = 15
"""Nine functions in ten are no longer than this."""
WIDE = {"RemoteFleet", "Store"}
"""A port is as wide as what it stands for."""
HANDLERS = ("action_", "on_")
"""A screen's framework calls these by their names: each is a key or an event."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_no_module_is_longer_than_three_hundred_lines() -> None:
    lines = {name: file.read_text().count("\n") for name, file in modules().items()}
    assert {name: many for name, many in lines.items() if many > LONGEST_MODULE} == {}


def test_no_class_has_more_than_fifteen_public_methods() -> None:
    wide = {
        f"{module}.{node.name}": len(methods)
        for module in modules()
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.ClassDef) and node.name not in WIDE
        if len(methods := [*_public(node)]) > MOST_METHODS
    }
    assert wide == {}


def test_nine_functions_in_ten_have_at_most_fifteen_lines() -> None:
    lengths = sorted(
        int(node.end_lineno or 0) - node.lineno + 1
        for module in modules()
        for node in ast.walk(parsed(module))
        if isinstance(node, Function)
    )
    assert lengths[len(lengths) * 9 // 10] <= LONG_FUNCTION


def _public(node: ast.ClassDef) -> Iterator[str]:
    for method in node.body:
        if isinstance(method, Function) and not method.name.startswith(("_", *HANDLERS)):
            yield method.name
