"""Watch a fleet at work: a live view on a terminal, plain lines everywhere else."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import click

from codefleet.domain.events import KINDS
from codefleet.doors.cli import show
from codefleet.doors.cli.call import look, say
from codefleet.fleet import Fleet
from codefleet.wiring import open_fleet

TOO_MUCH = {
    *("run.prepared", "run.session", "run.said", "run.thought", "run.tool", "run.result"),
    *("run.changed", "run.used", "run.ended"),
}
BLIND = ("", "dumb", "unknown")
SHOWN = tuple(kind for kind in KINDS if kind not in TOO_MUCH)


class View(Protocol):
    """Shows a fleet until it is cancelled, and then once more.

    Other messages go through `tell`, so that they do not disturb what is shown.
    """

    async def follow(self) -> None: ...

    async def finish(self) -> None: ...

    def tell(self, words: str) -> None: ...


@click.command()
def watch() -> None:
    """Watch the fleet live: what needs you, who works on what, what waits and why.

    On a terminal it is an interactive screen; `?` lists its keys. Leaving it stops nothing.
    Elsewhere, each event is a line.
    """
    look(_watch)


async def _watch(fleet: Fleet) -> None:
    view = await _view(fleet, None, None)
    await view.follow()


@asynccontextmanager
async def watching(home: Path, flow: str | None = None) -> AsyncIterator[View]:
    """Show what happens to the fleet, or to one workflow, while the body runs.

    It uses a connection of its own. A user who quits interrupts the body.
    """
    async with open_fleet(home) as fleet:
        view = await _view(fleet, flow, interrupt)
        showing = asyncio.create_task(view.follow())
        try:
            yield view
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)
            await view.finish()


def interrupt() -> None:
    """Do what Ctrl-C does; a screen receives it as a key."""
    signal.raise_signal(signal.SIGINT)


async def _view(fleet: Fleet, flow: str | None, stop: Callable[[], None] | None) -> View:
    if flow and sys.stdout.isatty():
        from codefleet.doors.cli.live import LiveView  # here, because rich is slow to import

        return LiveView(fleet, flow)
    if not flow and can_draw():
        from codefleet.doors.cli.screen.view import ScreenView  # here: textual is slow to import

        return ScreenView(fleet, stop)
    tasks = (await fleet.workflow(flow)).workflow.tasks if flow else None
    return Lines(fleet, await fleet.last_seq(), tasks)


def can_draw() -> bool:
    """Is there a terminal that can be drawn on and can read keys?"""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(it.isatty() for it in streams) and os.environ.get("TERM", "") not in BLIND


class Lines:
    """One line for each event of interest, for all tasks or for these."""

    def __init__(self, fleet: Fleet, seen: int, tasks: Collection[str] | None = None) -> None:
        self._fleet = fleet
        self._seen = seen
        self._tasks = tasks

    async def follow(self) -> None:
        while True:
            await self.finish()
            await self._fleet.changed(self._seen, within=5.0)

    async def finish(self) -> None:
        latest = await self._fleet.last_seq()
        while events := await self._fleet.events(after=self._seen, kinds=SHOWN):
            for event in events:
                self._seen = event.seq
                if self._tasks is None or event.task in self._tasks:
                    show.event(event)
        self._seen = max(self._seen, latest)

    def tell(self, words: str) -> None:
        say(words)
