"""An agent under its keeper, as its run's folder shows it: its output, its end, and its input."""

import json
import signal
from pathlib import Path
from typing import Any, NamedTuple

from codefleet.runner.process import stdin
from codefleet.runner.process.identity import Process

LONGEST_LINE = 32 << 20


class Exit(NamedTuple):
    """How an agent ended. `lost` means that its keeper disappeared without a record."""

    code: int | None = None
    signal: int | None = None
    orphans: int = 0
    stopped: bool = False
    error: str | None = None
    lost: bool = False


class AgentProcess(NamedTuple):
    """An agent under its keeper, whichever runner started it."""

    folder: Path
    keeper: Process
    agent: Process

    async def ended(self) -> Exit:
        """Wait until the agent and all it started are gone."""
        await self.keeper.ended()
        record = read_record(self.folder / "exit.json")
        if record is None:
            return Exit(lost=True)
        return Exit(**{name: record[name] for name in Exit._fields if name in record})

    def stop(self) -> None:
        """Ask the agent to end; it is killed after its grace period."""
        self.keeper.send(signal.SIGTERM)

    def kill(self) -> None:
        """End the agent and all it started, at once."""
        self.keeper.send(signal.SIGQUIT)

    def say(self, line: str) -> bool:
        """Send a line to an agent that listens, once; False if it will not be read any more."""
        return stdin.say(self.folder, line, is_open=self.keeper.is_alive)

    def close_input(self) -> None:
        """Close the agent's input after what was sent."""
        stdin.close_input(self.folder)

    def cpu_seconds(self) -> float:
        """Processor time of the agent and all it started, so far; 0 if the keeper is gone."""
        return self.keeper.cpu_seconds()

    def memory_mb(self) -> int:
        """Memory of the agent and all it started, now; 0 if the keeper is gone."""
        return self.keeper.memory_mb()

    def size(self) -> int:
        """How many bytes of output there are."""
        try:
            return (self.folder / "stdout.jsonl").stat().st_size
        except FileNotFoundError:
            return 0

    def lines(
        self, offset: int, limit_bytes: int = 1 << 20, *, final: bool = False
    ) -> tuple[list[str], int]:
        """The complete lines of output after `offset`, and the offset to continue from.

        With `final`, what follows the last line end is a line too. A line of more than
        LONGEST_LINE bytes comes in pieces. Everything is read once the offset stays the same.
        """
        asked = limit_bytes
        chunk = self._output(offset, asked)
        if len(chunk) == asked and b"\n" not in chunk:
            asked = LONGEST_LINE
            chunk = self._output(offset, asked)
        whole = chunk.rfind(b"\n") + 1
        if (len(chunk) < asked and final) or (len(chunk) == asked and not whole):
            whole = len(chunk)
        return split_lines(chunk[:whole]), offset + whole

    def _output(self, offset: int, size: int) -> bytes:
        try:
            with (self.folder / "stdout.jsonl").open("rb") as file:
                file.seek(offset)
                return file.read(size)
        except FileNotFoundError:
            return b""


def read_record(path: Path) -> dict[str, Any] | None:
    """A JSON object that a keeper wrote; None if there is none."""
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def split_lines(chunk: bytes) -> list[str]:
    """Split at line feeds only: JSON may contain other characters that count as line ends."""
    if not chunk:
        return []
    return [
        line.removesuffix(b"\r").decode(errors="replace")
        for line in chunk.removesuffix(b"\n").split(b"\n")
    ]
