"""What the agent of a run left in its folder: its process, its end, and its last word."""

from pathlib import Path
from typing import NamedTuple

from codefleet.runner.custody import read_record


class Traces(NamedTuple):
    """What is not known, or known only to another machine, is None; times are in epoch seconds."""

    pid: int | None = None
    exit_code: int | None = None
    last_output: float | None = None


def traces(folder: Path) -> Traces:
    """Read them. An agent that a signal ended has that signal's number, negative, as its code."""
    keeper, end = read_record(folder / "keeper.json"), read_record(folder / "exit.json") or {}
    signal, code = end.get("signal"), end.get("code")
    return Traces(
        pid=keeper["agent"]["pid"] if keeper else None,
        exit_code=-signal if isinstance(signal, int) else code,
        last_output=_changed(folder / "stdout.jsonl"),
    )


def _changed(file: Path) -> float | None:
    try:
        return file.stat().st_mtime
    except OSError:
        return None
