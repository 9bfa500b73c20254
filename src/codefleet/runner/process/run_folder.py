"""The process of a run's agent, as its folder shows it: its pid, exit and last output."""

from pathlib import Path
from typing import NamedTuple

from codefleet.runner.process.agent_process import read_record


class ProcessInfo(NamedTuple):
    """None means unknown, or known only to another machine; times are in epoch seconds."""

    pid: int | None = None
    exit_code: int | None = None
    last_output: float | None = None


def process_info(folder: Path) -> ProcessInfo:
    """Read it. The exit code of an agent that a signal ended is minus the signal's number."""
    keeper, end = read_record(folder / "keeper.json"), read_record(folder / "exit.json") or {}
    signal, code = end.get("signal"), end.get("code")
    return ProcessInfo(
        pid=keeper["agent"]["pid"] if keeper else None,
        exit_code=-signal if isinstance(signal, int) else code,
        last_output=_changed(folder / "stdout.jsonl"),
    )


def _changed(file: Path) -> float | None:
    try:
        return file.stat().st_mtime
    except OSError:
        return None
