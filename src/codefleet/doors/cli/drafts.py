"""Read drafts from a file of tasks."""

import json
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from codefleet.domain.drafting import read_all
from codefleet.domain.errors import Invalid
from codefleet.domain.model import Draft

MOST = 20_000_000
"""More bytes than anyone writes as tasks or stages; some files never end."""
MOST_VALUES = 1_000_000
LIST = 'a list of tasks, or {"tasks": [...]}'


def read_text(source: str, most: int | None = MOST) -> str:
    """The whole content of a file, or of stdin if it is `-`."""
    try:
        raw = _bytes(source, -1 if most is None else most + 1)
        if most is not None and len(raw) > most:
            raise Invalid(f"{source} is larger than {most:,} bytes", hint="is it the right file?")
        return raw.decode("utf-8-sig")
    except OSError as wrong:
        raise Invalid(f"cannot read {source}: {wrong.strerror}", hint="check the path") from None
    except UnicodeDecodeError as wrong:
        raise Invalid(
            f"{source} is not UTF-8 text (byte {wrong.start})", hint="save it as UTF-8"
        ) from None


def _bytes(source: str, many: int) -> bytes:
    if source == "-":
        return sys.stdin.buffer.read(many)
    with Path(source).open("rb") as file:
        return file.read(many)


def read_drafts(source: str, now: Callable[[], datetime]) -> list[Draft]:
    """Every task that a YAML or JSON file describes; its times may be relative to `now`."""
    content = read_content(source, read_text(source))
    if isinstance(content, dict) and set(content) == {"tasks"}:
        content = content["tasks"]
    if not isinstance(content, list) or not content:
        raise Invalid(f"{source} contains no tasks", hint=f"a file of tasks is {LIST}")
    return read_all(content, now())


def read_content(source: str, text: str) -> Any:
    """The content of a YAML or JSON file."""
    return _json(source, text) if _is_json(source, text) else _yaml(source, text)


def _is_json(source: str, text: str) -> bool:
    return source.endswith(".json") or (source == "-" and text.lstrip().startswith(("[", "{")))


def _json(source: str, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as wrong:
        raise Invalid(f"{source} is not JSON: {wrong}", hint="fix that line") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object as a dict; of duplicate keys, JSON would silently drop the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:40]!r} is given twice")
    return found


def _yaml(source: str, text: str) -> Any:
    import yaml  # here, because only files of tasks need it

    try:
        return yaml.load(text, Loader=_strict())
    except yaml.MarkedYAMLError as wrong:
        line = f"line {wrong.problem_mark.line + 1}: " if wrong.problem_mark else ""
        raise Invalid(
            f"{source} is not YAML: {line}{wrong.problem}", hint="fix that line"
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as wrong:
        raise Invalid(f"{source} is not YAML: {str(wrong)[:200]}", hint="fix it") from None


def _inside(node: Any) -> Iterator[Any]:
    """The direct children of a YAML node."""
    for each in node.value if isinstance(node.value, list) else ():
        yield from each if isinstance(each, tuple) else (each,)


def _strict() -> Any:
    """A loader that refuses duplicate keys, where YAML would silently drop the first, and aliases
    that expand enormously or contain themselves."""
    import yaml

    class Strict(yaml.SafeLoader):
        def __init__(self, text: str) -> None:
            super().__init__(text)
            self._sizes: dict[yaml.Node, int] = {}

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            node: Any = super().compose_node(parent, index)
            if isinstance(event, yaml.AliasEvent):
                size = self._sizes.get(node, MOST_VALUES + 1)  # unknown until it is complete
            else:
                size = self._sizes[node] = 1 + sum(map(self._sizes.__getitem__, _inside(node)))
            if size > MOST_VALUES:
                problem = f"with its aliases it has more than {MOST_VALUES:,} values"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
            return node

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value in seen:
                    problem = f"{key.value[:40]!r} is given twice"
                    raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
                seen.add(str(key.value))
            return super().construct_mapping(node, deep)

    return Strict
