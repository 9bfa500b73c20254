"""The live view of a fleet at work. The only module that needs rich: it repaints the terminal."""

import asyncio
from collections.abc import Iterator, Sequence

import click
from rich.live import Live
from rich.text import Text

from codefleet.domain.model import Event
from codefleet.domain.views import Status
from codefleet.doors.cli import show, stages, status
from codefleet.doors.cli.text import brief, fit
from codefleet.fleet import Fleet

FRAME_S = 0.1
NEWS_SHOWN = 6
AROUND = 8  # lines that are always there: headings, sums, empty lines
TOLD = ("task.completed", "task.failed", "task.bounced", "task.asked", "task.waits", "run.failed")


class LiveView:
    """Who works on what, what waits for what and why, what landed; or how one workflow stands."""

    def __init__(self, fleet: Fleet, flow: str | None = None) -> None:
        self._fleet = fleet
        self._flow = flow
        self._live = Live(auto_refresh=False, vertical_overflow="crop")

    async def follow(self) -> None:
        self._live.start()
        while True:
            seen = await self._fleet.last_seq()
            await self._draw()
            await asyncio.sleep(FRAME_S)  # no eye sees more, and drawing costs
            await self._fleet.changed(seen, within=1.0)

    async def finish(self) -> None:
        try:
            await self._draw()
        finally:
            self._live.stop()  # whatever happens, the user's cursor comes back

    def tell(self, words: str) -> None:
        self._live.console.print(Text(words))  # above the frame, which rich then knows to repaint

    async def _draw(self) -> None:
        drawn = await (self._workflow(self._flow) if self._flow else self._whole_fleet())
        self._live.update(Text.from_ansi(drawn), refresh=True)

    async def _whole_fleet(self) -> str:
        now = await self._fleet.status()
        news = await self._fleet.events(kinds=TOLD, limit=NEWS_SHOWN, newest=True)
        return "\n\n".join(_parts(now, news, *self._live.console.size))

    async def _workflow(self, flow: str) -> str:
        columns, height = self._live.console.size
        return stages.progress(await self._fleet.workflow(flow), room=columns, lines=height - 3)


def _parts(now: Status, news: Sequence[Event], columns: int, height: int) -> Iterator[str]:
    if now.agents or now.standing_by:
        yield status.agents(now, columns)
    room = height - AROUND - len(now.agents) - bool(now.standing_by) - len(news)
    if waiting := status.waiting(now, max(3, room), columns):
        yield waiting
    if news:
        yield "\n".join(_news(event, columns) for event in news)
    yield f"{status.counts(now)}   today {show.usage(now.spent_today, now.unpriced_today)}"


def _news(event: Event, columns: int) -> str:
    colour = "green" if event.kind == "task.completed" else "yellow"
    text = fit(f"{event.task}  {brief(event.text)}", columns - 16)
    return f"{click.style(f'{event.kind:<15}', fg=colour)} {text}"
