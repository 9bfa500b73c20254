"""The size of an agent's context window: as reported, as set, or from our table."""

import re
import tomllib
from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import NamedTuple

from codefleet.config import Config
from codefleet.domain.model_names import find
from codefleet.domain.signals import Filled
from codefleet.runner.output.transcript import OutputState

SIZE = re.compile(r"\[(\d{1,4})([km])\]$")
FILE = Path(__file__).parents[2] / "windows.toml"


class Windows(NamedTuple):
    """The context windows that come with codefleet, and their date."""

    as_of: date
    tokens: Mapping[str, int]


@cache
def known_windows() -> Windows:
    read = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return Windows(read["as_of"], read["windows"])


def size(heard: OutputState, model: str | None, coder: str, settings: Config) -> int:
    """The window of an agent in tokens; 0 if unknown.

    `model` is the one it was started with; a model that it reports takes precedence.
    """
    used = heard.model or model or ""
    reported = (heard.filled.size if heard.filled else 0) or heard.windows.get(used, 0)
    own = find(used, [settings.windows]) or settings.windows.get(coder)
    return reported or own or _named(used) or find(used, [known_windows().tokens]) or 0


def _named(model: str) -> int:
    """The size that the name itself states, as in `claude-sonnet-4-5[1m]`."""
    found = SIZE.search(model.lower())
    return int(found[1]) * {"k": 1000, "m": 1_000_000}[found[2]] if found else 0


def used(filled: Filled | None, window: int) -> float:
    """The share of its window that an agent uses; 0 if unknown."""
    return round(filled.used / window, 3) if filled and window else 0.0


def too_full(filled: Filled | None, window: int, share: float) -> str | None:
    """The message if an agent's context is too full; None if not, or if its size is unknown."""
    if filled and window and filled.used >= share * window:
        part = filled.used / window
        return f"its context is {part:.0%} full: {filled.used:,} of {window:,} tokens"
    return None
