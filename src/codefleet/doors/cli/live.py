"""The live view of a fleet at work. The only module that draws with rich."""

import asyncio
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from codefleet.domain.model import Event, Status
from codefleet.doors.cli import show
from codefleet.doors.cli.text import clean, duration
from codefleet.fleet import Fleet

FRAME_S = 0.1
EVENTS = 6
AROUND = 8  # lines that are always there: headings, counts, empty lines
TOLD = ("task.completed", "task.failed", "task.bounced", "task.asked", "task.waits", "run.failed")


class LiveView:
    """Who works on what, what waits for what and why, what landed."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._live = Live(auto_refresh=False, vertical_overflow="crop")

    async def follow(self) -> None:
        self._live.start()
        while True:
            await self._draw()
            await asyncio.sleep(FRAME_S)  # no eye sees more, and drawing costs
            await self._fleet.store.changed(within=1.0)

    async def finish(self) -> None:
        await self._draw()
        self._live.stop()

    async def _draw(self) -> None:
        status = await self._fleet.status()
        news = await self._fleet.store.events(kinds=TOLD, limit=EVENTS, newest=True)
        room = self._live.console.size.height - AROUND - len(status.agents) - len(news)
        self._live.update(Group(*_parts(status, news, max(3, room))), refresh=True)


def _parts(status: Status, news: Sequence[Event], room: int) -> list[RenderableType]:
    parts: list[RenderableType] = [_agents(status)]
    if status.waiting:
        parts += ["", _waiting(status, room)]
    if news:
        parts += ["", *(_news(event) for event in news)]
    return [*parts, "", _sums(status)]


def _agents(status: Status) -> Table:
    table = _table("AGENT", "STATE", "FOR", "TASK", "TITLE", "LAST")
    titles = {task.id: task.title for task in status.running}
    said = {run.id: run.said for run in status.runs}
    for agent in status.agents:
        table.add_row(
            agent.name,
            Text(agent.state, style=show.COLOURS.get(agent.state, "")),
            duration((status.at - agent.since).total_seconds()) if agent.since else "",
            agent.task or "",
            Text(clean(titles.get(agent.task, "")) if agent.task else ""),
            Text(clean(said.get(agent.run, ""))[:80] if agent.run else "", style="dim"),
        )
    return table


def _waiting(status: Status, room: int) -> Table:
    table = _table("WAITS", "", "TITLE", "WHY")
    for waiting in status.waiting[:room]:
        word = show.waiting_word(waiting.why)
        table.add_row(
            waiting.task.id,
            Text(word, style=show.COLOURS.get(word, "")),
            Text(clean(waiting.task.title)),
            Text(clean(waiting.text)),
        )
    return table


def _news(event: Event) -> Text:
    good = event.kind == "task.completed"
    line = Text(f"{event.kind:<15} ", style="green" if good else "yellow", no_wrap=True)
    line.append(f"{event.task}  {clean(event.text)}", style="default")
    line.truncate(10_000, overflow="ellipsis")
    return line


def _sums(status: Status) -> Text:
    counts = ", ".join(f"{number} {name}" for name, number in status.counts.items() if number)
    return Text(f"{counts}   today {show.usage(status.spent_today)}", style="bold")


def _table(*headings: str) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    return table
