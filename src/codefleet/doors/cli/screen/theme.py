"""Colours for dark and light terminals. States differ in shape too: see `parts.SHAPES`."""

import os
from collections.abc import Mapping
from functools import cache

from rich.style import Style
from textual.theme import Theme

DARK = Theme(
    name="fleet-dark",
    primary="#5b9df5",
    background="#0e1013",
    surface="#14171b",
    panel="#1b1f25",
    foreground="#d7dae0",
    warning="#e0a93c",
    error="#ef6b63",
    success="#5fb878",
    dark=True,
)
LIGHT = Theme(
    name="fleet-light",
    primary="#1d63c9",
    background="#fbfbfa",
    surface="#f1f1ef",
    panel="#e6e6e3",
    foreground="#23262b",
    warning="#8f5b00",
    error="#b3261e",
    success="#1d7a3a",
    dark=False,
)
_DARK_STYLES = {
    "text": "#d7dae0",
    "bold": "bold #eceef2",
    "dim": "#9299a4",
    "faint": "#4a515c",
    "rule": "#2a2f37",
    "heading": "bold #9299a4",
    "id": "#7f8896",
    "accent": "#5b9df5",
    "key": "#8ab8f8",
    "running": "#5b9df5",
    "asking": "#e0a93c",
    "warn": "#e0a93c",
    "review": "#b08af0",
    "lane": "#4fa8d8",
    "done": "#5fb878",
    "failed": "#ef6b63",
    "added": "#5fb878",
    "removed": "#ef6b63",
    "chosen": "on #232a35",
}
_LIGHT_STYLES = {
    "text": "#23262b",
    "bold": "bold #0f1114",
    "dim": "#5c636e",
    "faint": "#b9bdc4",
    "rule": "#dcdcd8",
    "heading": "bold #5c636e",
    "id": "#626a76",
    "accent": "#1d63c9",
    "key": "#1d63c9",
    "running": "#1d63c9",
    "asking": "#8f5b00",
    "warn": "#8f5b00",
    "review": "#6b3fc0",
    "lane": "#0b6a99",
    "done": "#1d7a3a",
    "failed": "#b3261e",
    "added": "#1d7a3a",
    "removed": "#b3261e",
    "chosen": "on #dde6f5",
}


@cache
def styles_of(theme: str) -> Mapping[str, Style]:
    """The styles by name; see `span.Span`."""
    named = _LIGHT_STYLES if theme == LIGHT.name else _DARK_STYLES
    return {name: Style.parse(style) for name, style in named.items()}


def suited(environ: Mapping[str, str] = os.environ) -> str:
    """The theme that fits the terminal's background, if the terminal reports it."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT.name if background in ("7", "15") else DARK.name
