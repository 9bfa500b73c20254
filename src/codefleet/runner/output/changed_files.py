"""Which files an agent reports to have changed: each is told once, as it happens."""

from collections.abc import Iterator
from datetime import datetime
from os.path import normpath
from pathlib import PurePath

from codefleet.domain.events import event
from codefleet.domain.model import Event, Run
from codefleet.domain.signals import DELETED, Changed, Signal

MOST_FILES = 1000
"""An agent that changes more is not followed further: git knows what it changed."""
LONGEST_PATH = 4096


class ChangedFiles:
    """The files that one run has changed so far, and which of them are gone again."""

    def __init__(self, worktree: str) -> None:
        self._worktree = worktree
        self._known: set[tuple[str, bool]] = set()

    def events(self, signal: Signal, run: Run, now: datetime) -> Iterator[Event]:
        """The event for a file that was not changed before, or is deleted now."""
        if isinstance(signal, Changed) and self._is_news(signal):
            path = self._inside(signal.path)
            text = f"{signal.change} {path}"
            yield event("run.changed", now, text, run=run, path=path, change=signal.change)

    def recall(self, signal: Signal) -> None:
        """Take in a signal that an earlier reader has told already."""
        if isinstance(signal, Changed):
            self._is_news(signal)

    def _is_news(self, signal: Changed) -> bool:
        if len(self._known) >= MOST_FILES or len(signal.path) > LONGEST_PATH:
            return False
        change = (self._inside(signal.path), signal.change == DELETED)
        is_news = change not in self._known
        self._known.add(change)
        return is_news

    def _inside(self, path: str) -> str:
        """The path relative to the worktree; one that leads out of it is absolute."""
        place = PurePath(normpath(PurePath(self._worktree, path)))
        is_inside = place.is_relative_to(self._worktree)
        return str(place.relative_to(self._worktree) if is_inside else place)
