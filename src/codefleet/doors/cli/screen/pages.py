"""Pages over the board: one task with its agent's live messages, its diff, and the keys."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import ClassVar

from rich.console import Console
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from codefleet.domain.errors import FleetError
from codefleet.domain.model import Event
from codefleet.doors.cli import task_page
from codefleet.doors.cli.screen.lines import Lines
from codefleet.doors.cli.screen.span import Row, row
from codefleet.doors.cli.text import clean, clean_lines
from codefleet.fleet import Fleet
from codefleet.runner import verbs

FRAME_S = 0.5
LOOK_AGAIN_S = 5.0
TAIL = 200
TOLD = (
    *("run.said", "run.tool", "run.changed", "run.progress"),
    *("message.delivered", "run.quiet", "run.stopping"),
)
MARKS = {
    "run.tool": ("→", "accent"),
    "run.changed": ("✎", "accent"),
    "run.progress": ("·", "done"),
    "run.said": (" ", "text"),
}
DIFF_STYLES = {"+": "added", "-": "removed", "@": "accent", "d": "bold"}


class Page(Screen[None]):
    """Lines to read; Esc or q leaves."""

    CSS = """
    #title { height: 1; background: $panel; text-style: bold; padding: 0 1; }
    #page { padding: 0 1; }
    #keys { height: 1; background: $panel; color: $text-muted; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,left", "leave", "Back"),
        Binding("j,down", "scroll(1)", "Down"),
        Binding("k,up", "scroll(-1)", "Up"),
        Binding("space,pagedown", "page(1)", "Page down"),
        Binding("b,pageup", "page(-1)", "Page up"),
        Binding("g,home", "top", "Top"),
        Binding("G,end", "end", "End"),
    ]

    def __init__(self, title: str, lines: Sequence[Row] = ()) -> None:
        super().__init__()
        self._heading, self._content = title, lines

    def compose(self) -> ComposeResult:
        yield Static(clean(self._heading), id="title", markup=False)
        yield Lines(id="page")
        yield Static("j/k scroll · g top · G end · esc back", id="keys", markup=False)

    def on_mount(self) -> None:
        self.page.focus()
        self.page.show(self._content)

    @property
    def page(self) -> Lines:
        return self.query_one("#page", Lines)

    def action_leave(self) -> None:
        self.dismiss()

    def action_scroll(self, by: int) -> None:
        self.page.scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        self.page.scroll_relative(y=by * max(1, self.page.size.height - 1), animate=False)

    def action_top(self) -> None:
        self.page.scroll_home(animate=False)

    def action_end(self) -> None:
        self.page.scroll_end(animate=False)


class TaskPage(Page):
    """Everything known about one task, and its agent's messages as they arrive."""

    def __init__(self, fleet: Fleet, task: str) -> None:
        super().__init__(task)
        self._fleet, self._ref = fleet, task

    def on_mount(self) -> None:
        self.page.focus()
        self.run_worker(self._follow(), exit_on_error=True)

    async def _follow(self) -> None:
        first = True
        while True:
            try:
                seen = await self._fleet.last_seq()
                follows = not first and self.page.is_at_end
                self.page.show([*await self._facts(), *await self._tail()])
                if follows:
                    self.call_after_refresh(self.action_end)
                first = False
                await asyncio.sleep(FRAME_S)
                await self._fleet.changed(seen, within=LOOK_AGAIN_S)
            except FleetError as trouble:
                self.page.show([row((clean(trouble.problem), "warn"))])
                await asyncio.sleep(LOOK_AGAIN_S)

    async def _facts(self) -> list[Row]:
        read = await task_page.read(self._fleet, self._ref)
        wide = max(20, self.size.width - 3)
        return list(wrapped(Text.from_ansi(task_page.draw(read)), wide))

    async def _tail(self) -> Iterator[Row]:
        told = await self._fleet.events(task=self._ref, kinds=TOLD, limit=TAIL, newest=True)
        wide = max(20, self.size.width - 3)
        return words_of(told, wide)


class DiffPage(Page):
    """What a task changed."""

    def __init__(self, fleet: Fleet, task: str) -> None:
        super().__init__(f"diff of {task}")
        self._fleet, self._ref = fleet, task

    def on_mount(self) -> None:
        self.page.focus()
        self.page.show([row(("reading", "dim"))])
        self.run_worker(self._read(), exit_on_error=True)

    async def _read(self) -> None:
        try:
            text = await verbs.diff(self._fleet, self._ref)
        except FleetError as trouble:
            said = [row((clean(trouble.problem), "warn")), row((clean(trouble.hint), "dim"))]
            self.page.show(said)
            return
        lines = clean_lines(text).expandtabs(4).split("\n")
        self.page.show([row((line, DIFF_STYLES.get(line[:1], "text"))) for line in lines])


def words_of(events: Sequence[Event], wide: int) -> Iterator[Row]:
    """An agent's messages and the tools it used, in order."""
    if not events:
        return
    yield row()
    yield row(("live: its agent's messages", "heading"))
    for event in events:
        mark, style = MARKS.get(event.kind, ("!", "warn"))
        at = f"{event.at.astimezone():%H:%M:%S} "
        text = Text(clean_lines(event.text).rstrip() or event.kind)
        for number, line in enumerate(wrapped(text, max(10, wide - 11))):
            head = (f"{at}{mark} ", "faint" if mark == " " else style)
            yield row(head if number == 0 else (" " * 11, ""), (line.text, style))


def wrapped(text: Text, wide: int) -> Iterator[Row]:
    """A coloured text wrapped to this many columns."""
    console = Console(width=wide, color_system="truecolor", no_color=False)
    for line in text.wrap(console, wide, tab_size=4):
        yield row(*((part.plain, _name(part)) for part in _parts(line)))


def _parts(line: Text) -> Iterator[Text]:
    edges = sorted({0, len(line), *(edge for s in line.spans for edge in (s.start, s.end))})
    for start, end in pairwise(edges):
        yield line[start:end]


ANSI = {"1": "failed", "2": "done", "3": "asking", "4": "running", "5": "asking", "6": "review"}


def _name(part: Text) -> str:
    """The name of our style for one of the terminal's sixteen colours."""
    for span in part.spans:
        style = span.style if not isinstance(span.style, str) else None
        if style and style.color and style.color.number is not None:
            return ANSI.get(str(style.color.number % 8), "dim")
        if style and style.bold:
            return "bold"
        if style and style.dim:
            return "dim"
    return "text"
