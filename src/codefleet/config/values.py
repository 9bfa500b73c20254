"""Values of settings as people type them and as TOML writes them."""

import json
import re
from typing import Any, get_origin

from codefleet.config.settings import types

YES = ("true", "yes", "on", "1")
DEEPEST = 12
"""No setting is nested this deep."""
ENDLESS_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*\.[ \t]*){40}"""
)
"""A key with so many parts that parsing takes minutes: the time grows with their square."""
NO = ("false", "no", "off", "0")


def value_of(key: str, text: str) -> Any:
    """A value as a human types it: a list may be TOML or comma-separated."""
    kind = types()[key]
    if get_origin(kind) is tuple:
        if text.lstrip().startswith("["):
            return parsed(text)
        return [item.strip() for item in text.split(",") if item.strip()]
    if kind is bool:
        return True if text.lower() in YES else False if text.lower() in NO else text
    numbers = (int, float, int | None, float | None)
    return parsed(text) if kind in numbers else text


def parsed(text: str) -> Any:
    """A text parsed as a TOML value; if it is none, the text itself."""
    try:
        return toml_values(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def toml_values(text: str) -> dict[str, Any]:
    """Parse TOML; invalid text is a ValueError, deeply nested text a RecursionError."""
    if not text:
        return {}
    import tomllib  # imported here, because most commands find no file to read

    if ENDLESS_KEY.search(text):
        raise RecursionError  # to read it would take minutes
    values = tomllib.loads(text)
    if _is_deep(values):
        raise RecursionError
    return values


def _is_deep(values: object) -> bool:
    """Is it nested deeper than any setting? Dotted keys can nest without limit."""
    level = [values]
    for _ in range(DEEPEST):
        inside = [[*it.values()] if isinstance(it, dict) else it for it in level]
        level = [each for it in inside if isinstance(it, list) for each in it]
    return bool(level)


def toml(value: object) -> str:
    """A plain value as TOML in one line, which for numbers and strings is the same as JSON."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        inside = (f"{_name(name)} = {toml(it)}" for name, it in value.items() if it is not None)
        return f"{{ {', '.join(inside)} }}" if value else "{}"
    return json.dumps(value, ensure_ascii=False, default=str)


def _name(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def without_password(address: str) -> str:
    """A store's address, fit to be shown."""
    without = re.sub(r"(://[^:/?#@]*):.*@", r"\1:***@", address)
    return re.sub(r"(password=)[^&\s]*", r"\1***", without)
