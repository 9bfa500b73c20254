"""The input of a running agent: lines in a file, which its keeper passes on when woken.

The file keeps what was sent, so a runner that was killed halfway, or its successor, can simply send
everything again: duplicates are ignored. Only the runner and the keeper read it.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

LINES = "input.jsonl"
CLOSED = "input.closed"
BELL = "bell"


def say(folder: Path, line: str, *, is_open: bool) -> bool:
    """Append a line that is not there yet; False if it cannot reach an agent."""
    text = whole(line).encode(errors="replace")
    try:
        lines = os.open(folder / LINES, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError:
        return False  # this agent does not listen
    with os.fdopen(lines, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        said = file.read()
        if b"\n" + text in b"\n" + said:
            return True
        if not is_open or (folder / CLOSED).exists():
            return False
        file.truncate(said.rfind(b"\n") + 1)  # a partial line is from a runner that died
        file.write(text)
    _ring(folder)
    return True


def close_input(folder: Path) -> None:
    """Close the agent's input after what was sent."""
    if (folder / LINES).exists():
        (folder / CLOSED).touch()
        _ring(folder)


def whole(text: str) -> str:
    """The text with a line end, without which the last line would not be complete."""
    return text if not text or text.endswith("\n") else f"{text}\n"


def _ring(folder: Path) -> None:
    """Wake the keeper; one that is gone, not there yet, or already woken needs no signal."""
    with suppress(OSError):
        bell = os.open(folder / BELL, os.O_WRONLY | os.O_NONBLOCK)
        with os.fdopen(bell, "wb", buffering=0) as pipe:
            pipe.write(b"!")
