"""The settings of a running fleet, which may change while it works."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from codefleet.config.settings import Config
from codefleet.domain.errors import FleetError


class Live:
    """The settings of a running fleet: reloaded when a file changes, kept while it is invalid."""

    def __init__(self, load: Callable[[], Config], files: Sequence[Path]) -> None:
        self._load = load
        self._files = files
        self._stamps = self._look()
        self.config = load()

    def refresh(self) -> Literal["changed"] | FleetError | None:
        """Load changed files; an error is returned once, and the last good settings stay."""
        stamps = self._look()
        if stamps == self._stamps:
            return None
        self._stamps = stamps
        try:
            config = self._load()
        except FleetError as mistake:
            return mistake
        same = config == self.config
        self.config = config
        return None if same else "changed"

    def _look(self) -> list[tuple[int, ...] | None]:
        return [_stamp(file) for file in self._files]


def _stamp(file: Path) -> tuple[int, ...] | None:
    try:
        seen = file.stat()
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino
