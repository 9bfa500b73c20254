"""From what a script wants done to the tool that a program offers for it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from codefleet.testing.model_server.dialect import Call, Json, new_id
from codefleet.testing.model_server.script import BadScript

Action = Mapping[str, Any]
Tools = Mapping[str, Json]

WRITERS = ("Write", "write_file", "write")
EDITORS = ("Edit", "replace", "edit")
SHELLS = ("Bash", "run_shell_command", "bash", "exec_command", "shell_command", "shell")

ARGUMENTS = {
    "path": ("file_path", "filePath", "path"),
    "content": ("content", "file_text"),
    "old": ("old_string", "oldString", "before"),
    "new": ("new_string", "newString", "after"),
    "command": ("command", "cmd"),
    "why": ("description", "instruction"),
}
"""What the programs call their arguments."""


def calls(actions: Sequence[Action], tools: Tools) -> tuple[Call, ...]:
    """The calls that do these actions with these tools."""
    return tuple(_call(action, tools) for action in actions)


def _call(action: Action, tools: Tools) -> Call:
    for name, given in _ways(action, tools):
        return Call(name, given, new_id("call"))
    raise BadScript(f"the program offers no tool for {dict(action)}; it has {', '.join(tools)}")


def _ways(action: Action, tools: Tools) -> Iterator[tuple[str, Json | str]]:
    """Every way to do an action with these tools, the most natural one first."""
    match action:
        case {"tool": str(name)}:
            yield name, action.get("input", {})
        case {"write": [str(path), str(content)]}:
            yield from _natural(WRITERS, tools, path=path, content=content)
            yield from _by_patch(_addition(path, content), tools)
        case {"edit": [str(path), str(old), str(new)]}:
            yield from _natural(EDITORS, tools, path=path, old=old, new=new, why="as scripted")
            yield from _by_patch(_update(path, old, new), tools)
        case {"sh": str(command)}:
            yield from _natural(SHELLS, tools, command=command, why="as scripted")
            yield from _by_program("exec_command", {"cmd": command}, tools)
        case _:
            raise BadScript(f"a step cannot do {dict(action)}")


def _natural(names: Sequence[str], tools: Tools, **given: str) -> Iterator[tuple[str, Json]]:
    """A tool of one of these names, its arguments called as the program calls them."""
    for name in names:
        if name in tools:
            yield name, dict(_arguments(tools[name], given))


def _arguments(schemas: Json, given: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for meaning, value in given.items():
        known = next((name for name in ARGUMENTS[meaning] if name in schemas), None)
        if known:
            takes_list = schemas[known].get("type") == "array"
            yield known, ["bash", "-lc", value] if takes_list else value


def _by_patch(patch: str, tools: Tools) -> Iterator[tuple[str, str]]:
    if "apply_patch" in tools:
        yield "apply_patch", patch
    yield from _by_program("apply_patch", patch, tools)


def _by_program(name: str, given: Json | str, tools: Tools) -> Iterator[tuple[str, str]]:
    """Some models are offered one tool only, which runs a small JavaScript that calls the rest."""
    if "exec" in tools:
        yield "exec", f"text(await tools.{name}({json.dumps(given)}))"


def _addition(path: str, content: str) -> str:
    return _patch(f"*** Add File: {path}", _marked("+", content))


def _update(path: str, old: str, new: str) -> str:
    return _patch(f"*** Update File: {path}", "@@", _marked("-", old), _marked("+", new))


def _patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))


def _marked(mark: str, text: str) -> str:
    return "\n".join(mark + line for line in text.removesuffix("\n").split("\n"))
