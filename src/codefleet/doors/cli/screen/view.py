"""The screen as a view of `watching`: drawn while a runner works in the same event loop."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from codefleet.doors.cli import status
from codefleet.doors.cli.call import say
from codefleet.doors.cli.screen.app import FleetApp
from codefleet.doors.cli.watch import Lines
from codefleet.fleet import Fleet
from codefleet.runner.crash_log import record
from codefleet.runner.paths import Paths


class ScreenView:
    """Shows the screen until it is cancelled, and finally prints the counts."""

    def __init__(self, fleet: Fleet, stop: Callable[[], None] | None = None) -> None:
        self._fleet = fleet
        self._app = FleetApp(fleet, stop)

    async def follow(self) -> None:
        """Show it. If the screen crashes, the work continues and is shown in lines."""
        loop = asyncio.get_running_loop()
        factory = loop.get_task_factory()
        showing = asyncio.ensure_future(self._app.run_async())
        loop.call_soon(loop.set_task_factory, factory)  # textual replaces it for the whole loop
        try:
            await asyncio.shield(showing)
        except asyncio.CancelledError:
            self._app.exit()
            await showing
            raise
        if self._app.trouble:
            record(Paths(self._fleet.home).crash_log(), "the screen", self._app.trouble)
            say("the screen crashed, but the work continues; details are in logs/crash.log")
            await Lines(self._fleet, await self._fleet.last_seq()).follow()

    async def finish(self) -> None:
        with suppress(OSError):
            now = await self._fleet.status()
            say(f"tasks: {status.counts(now)}")

    def tell(self, words: str) -> None:
        self._app.tell(words)
