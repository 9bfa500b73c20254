"""The scripted agent's side of a session: its progress, what it prints and what it is told."""

import os
import sys

from codefleet import lean_json
from codefleet.coders.script_text import blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EARLY: "list[dict[str, Any]]" = []
"""Lines from the fleet that came before anybody waited for them."""


class Notes:
    """The progress of a session, stored outside the worktree for the run that resumes it."""

    def __init__(self, file: str, attempt: int) -> None:
        self.file = file
        self.attempt = attempt
        self.done = 0

    def recall(self) -> None:
        try:
            with open(self.file, encoding="utf-8") as text:
                kept = lean_json.read(text.read())
        except OSError:
            tell("said", text="The notes of this session are gone; starting from the beginning.")
            return
        self.attempt, self.done = kept["attempt"], kept["done"]

    def keep(self, done: int) -> None:
        self.done = done
        draft = f"{self.file}.draft"
        with open(draft, "w", encoding="utf-8") as text:
            text.write(lean_json.written({"attempt": self.attempt, "done": done}))
        os.rename(draft, self.file)


def tell(kind: str, **fields: "Any") -> None:
    print(lean_json.written({"type": kind, **fields}), flush=True)


def hear(kind: str) -> "dict[str, Any]":
    """The next line of this kind from the fleet; empty if no more is coming."""
    for word in EARLY:
        if word["type"] == kind:
            EARLY.remove(word)
            return word
    for line in sys.stdin.buffer:
        EARLY.append(lean_json.read(line.decode()))
        if EARLY[-1]["type"] == kind:
            return EARLY.pop()
    return {}


def message() -> str | None:
    """The next message from a human; None if no more are coming."""
    word = hear("say")
    *_, said = [word.get("text"), *map("\n".join, blocks(word.get("text", ""), "message"))]
    return said
