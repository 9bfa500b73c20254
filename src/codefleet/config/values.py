"""Values of settings as humans type them and TOML writes them."""

import json
import re
from collections.abc import Sequence
from typing import Any, get_origin

from codefleet.config.settings import types

YES = ("true", "yes", "on", "1")
NO = ("false", "no", "off", "0")


def value_of(key: str, text: str) -> Any:
    """A value as a human types it: a list may be TOML or separated by commas."""
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
    """A text as TOML reads it as a value; one that is no value stands for itself."""
    try:
        return toml_values(f"value = {text}")["value"]
    except ValueError:
        return text


def toml_values(text: str) -> dict[str, Any]:
    """What a text in TOML says; one that is none is a ValueError."""
    if not text:
        return {}
    import tomllib  # here, because most commands find no file to read

    return tomllib.loads(text)


def toml(value: object) -> str:
    """A plain value as TOML writes it, which for numbers, texts and lists is how JSON does."""
    return json.dumps(value, ensure_ascii=False, default=str)


def nearest(word: str, known: Sequence[str]) -> str | None:
    """The known word that was probably meant."""
    from difflib import get_close_matches  # here, because only a mistake needs it

    return next(iter(get_close_matches(word, known, n=1)), None)


def without_password(address: str) -> str:
    """A store's address as it may be shown."""
    without = re.sub(r"(://[^:/?#@]*):.*@", r"\1:***@", address)
    return re.sub(r"(password=)[^&\s]*", r"\1***", without)
