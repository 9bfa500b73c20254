"""Where settings come from: files, their tables for single repos, and variables."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_origin

from codefleet.config.legacy import OLD_NAMES
from codefleet.config.settings import FLEET_WIDE, KEYS, NOT_IN_A_REPO, types
from codefleet.config.values import toml_values, value_of
from codefleet.domain.errors import BadConfig
from codefleet.domain.validation import NO_TEXT

FILE = "fleet.toml"


class Layer(NamedTuple):
    """Settings that came from one place."""

    source: str
    values: Mapping[str, Any]
    file: Path | None = None
    text: str = ""
    table: str = ""
    forbidden: frozenset[str] = frozenset()

    def place(self, key: str) -> str:
        """Where to find this key: a file and its line, a variable or a flag."""
        if not self.file:
            return f"--{key}" if self.source == "flag" else self.source
        line = _line_of(key, self.table, self.text)
        return f"{self.file}, line {line}" if line else str(self.file)


def file_layer(path: Path, *, in_repo: bool = False, text: str | None = None) -> Layer:
    """The settings of one file, or of the text that it will have."""
    text = read(path) if text is None else text
    try:
        values = toml_values(text)
    except RecursionError:
        raise BadConfig(f"{path} is nested too deeply", hint="fix that file") from None
    except ValueError as wrong:
        raise BadConfig(f"{path} is not TOML: {wrong}", hint="fix that line") from None
    if in_repo:
        return Layer(f"repo: {path}", values, path, text, forbidden=NOT_IN_A_REPO)
    return Layer(f"home: {path}", values, path, text)


def repo_tables(main: Layer) -> Iterator[Layer]:
    """The home file's settings for single repos."""
    tables = main.values.get("repos", {})
    for name, values in tables.items() if isinstance(tables, dict) else ():
        if isinstance(values, dict):
            table = f"repos.{name}"
            source = f"{main.source} [{table}]"
            yield Layer(source, values, main.file, main.text, table, FLEET_WIDE)


def variable_layers(env: Mapping[str, str]) -> Iterator[Layer]:
    """Older names come first, so that ours win if both are set."""
    for name, (key, *path) in OLD_NAMES.items():
        if said := _text(env, name):
            yield Layer(name, {key: _nested(path, said) if path else value_of(key, said)})
    for key in KEYS:
        name = f"FLEET_{key.upper()}"
        if (said := _text(env, name)) and get_origin(types()[key]) is not dict:
            yield Layer(name, {key: value_of(key, said)})


def _text(env: Mapping[str, str], name: str) -> str | None:
    """The value of a variable; Python can hold bytes there that are not text, but no store can."""
    said = env.get(name)
    try:
        return said if said and said.encode() else None
    except UnicodeEncodeError:
        raise BadConfig(f"{name}: {NO_TEXT}", hint="write it in UTF-8") from None


def read(path: Path) -> str:
    """The text of a file; a missing one is empty."""
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as wrong:
        why = wrong.strerror if isinstance(wrong, OSError) else "it is not UTF-8 text"
        raise BadConfig(f"cannot read {path}: {why}", hint="fix or remove that file") from wrong


def _line_of(key: str, table: str, text: str) -> int | None:
    """The number of the line that sets `key` in `table`, as far as simple lines show it."""
    here = ""
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.strip()
        if words.startswith("["):
            here = words.strip("[]").replace('"', "")
            if not table and here.split(".")[0] == key:
                return number
        elif here == table and words.split("=")[0].strip() == key:
            return number
    return None


def _nested(path: Sequence[str], value: str) -> Any:
    return {path[0]: _nested(path[1:], value)} if path else value
