"""The Markdown pages of the project, and the blocks in them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>\w*)$")
SAVED_AS = re.compile(r"[Ss]ave this as `([^`]+)`:$")


class Block(NamedTuple):
    """A fenced block: its language, where its text begins, and the file to save it as."""

    language: str
    start: int
    lines: list[str]
    file: str | None


class Step(NamedTuple):
    """A command of a console block, and what the page shows below it."""

    command: str
    start: int
    shown: list[str]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> Iterator[Block]:
    """Every fenced block of a page, in order."""
    lines = page.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        opened = FENCE.match(lines[at])
        at += 1
        if opened:
            end = lines.index(opened["fence"], at)
            yield Block(opened["language"], at, lines[at:end], _file(lines[: at - 1]))
            at = end + 1


def steps(block: Block) -> Iterator[Step]:
    """The commands of a console block, each with the lines below it; other blocks have none."""
    if block.language != "console":
        return
    starts = [n for n, line in enumerate(block.lines) if line.startswith("$ ")]
    for at, following in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        shown = block.lines[at + 1 : following]
        yield Step(block.lines[at].removeprefix("$ "), block.start + at + 1, shown)


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^(`{3,})\w*\n.*?^\1$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def _file(before: list[str]) -> str | None:
    """The name in a sentence that ends in "save this as `NAME`:" just before the block."""
    said = " ".join(before).strip()
    found = SAVED_AS.search(said)
    return found[1] if found else None
