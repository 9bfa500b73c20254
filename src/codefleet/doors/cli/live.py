"""The live view of one workflow: it repaints the terminal."""

import asyncio

from rich.live import Live
from rich.text import Text

from codefleet.doors.cli import stages
from codefleet.fleet import Fleet

FRAME_S = 0.1


class LiveView:
    """The status of one workflow, stage by stage."""

    def __init__(self, fleet: Fleet, flow: str) -> None:
        self._fleet = fleet
        self._flow = flow
        self._live = Live(auto_refresh=False, vertical_overflow="crop")

    async def follow(self) -> None:
        self._live.start()
        while True:
            seen = await self._fleet.last_seq()
            await self._draw()
            await asyncio.sleep(FRAME_S)  # nobody sees more, and drawing is expensive
            await self._fleet.changed(seen, within=1.0)

    async def finish(self) -> None:
        try:
            await self._draw()
        finally:
            self._live.stop()  # whatever happens, restore the user's cursor

    def tell(self, words: str) -> None:
        self._live.console.print(Text(words))  # above the frame, which rich repaints

    async def _draw(self) -> None:
        columns, height = self._live.console.size
        flow = await self._fleet.workflow(self._flow)
        drawn = stages.progress(flow, room=columns, lines=height - 3)
        self._live.update(Text.from_ansi(drawn), refresh=True)
