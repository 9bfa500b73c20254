"""The application: shows the board, moves the selection, and acts on keys."""

import asyncio
import os
import time
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Input

from codefleet.domain.board import Board
from codefleet.domain.errors import FleetError
from codefleet.doors.cli.screen import actions, theme
from codefleet.doors.cli.screen.driver import PatientDriver
from codefleet.doors.cli.screen.help import help_page
from codefleet.doors.cli.screen.lines import Lines
from codefleet.doors.cli.screen.rows import Look, header, key_line, keys, passed, rows
from codefleet.doors.cli.screen.span import Span, row
from codefleet.doors.cli.text import clean
from codefleet.fleet import Fleet
from codefleet.fleet.board import BoardReader

T = TypeVar("T")
FRAME_S = 0.25
"""At most four reads a second: nobody can follow more."""
SHARE = 9.0
"""Seconds to wait for each second that a read takes: a big fleet is read less often."""
LOOK_AGAIN_S = 10.0
AWAY_S = 1.0
TICK_S = 1.0
TOAST_S = 8.0


class FleetApp(App[None]):
    """The live screen. q calls `stop` or, if there is none, leaves."""

    CSS = """
    #head { height: 2; background: $panel; }
    #board { height: 1fr; }
    #keys { height: 1; background: $panel; }
    #filter { display: none; height: 1; border: none; background: $surface; padding: 0 1; }
    #filter.open { display: block; }
    Toast { max-width: 80%; }
    Lines { scrollbar-color: $panel-lighten-2; scrollbar-background: $background;
            scrollbar-color-hover: $primary; scrollbar-background-hover: $background; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down"),
        Binding("k,up", "move(-1)", "Up"),
        Binding("g,home", "edge(0)", "First"),
        Binding("G,end", "edge(-1)", "Last"),
        Binding("space,pagedown", "page(1)", "Page down"),
        Binding("b,pageup", "page(-1)", "Page up"),
        Binding("slash", "filter", "Filter"),
        Binding("escape", "clear", "Clear"),
        Binding("P", "pause_fleet", "Pause the fleet"),
        Binding("question_mark", "help", "Help"),
        Binding("q,ctrl+c,ctrl+q", "stop", "Quit", priority=False),
        *(
            Binding(key, f"act('{key}')", key)
            for key in dict.fromkeys(it.key for it in actions.ACTIONS)
        ),
    ]

    def __init__(self, fleet: Fleet, stop: Callable[[], None] | None = None) -> None:
        plain = os.environ.get("NO_COLOR")
        super().__init__(driver_class=PatientDriver)
        if plain is not None:
            os.environ["NO_COLOR"] = plain  # textual removes it, but programs we start need it
        self._head, self.lines, self._keys = Lines(id="head"), Lines(id="board"), Lines(id="keys")
        self.fleet = fleet
        self.trouble: BaseException | None = None
        self.words = ""
        self._reader = BoardReader(fleet)
        self._stop = stop
        self._board: Board | None = None
        self._read_at = 0.0
        self._away_since = ""
        self._chosen, self._has_chosen = "", False
        self._told = ""

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.lines
        yield Input(id="filter", placeholder="filter; enter keeps it, esc shows all", compact=True)
        yield self._keys

    def on_mount(self) -> None:
        self.register_theme(theme.DARK)
        self.register_theme(theme.LIGHT)
        self.theme = theme.suited()
        for bar in (self._head, self._keys):
            bar.can_focus = False
        self.lines.focus()
        self.run_worker(self._follow(), exit_on_error=True)
        self.set_interval(TICK_S, self.draw)

    async def _follow(self) -> None:
        """Read the board after every change; while the store is unreachable, keep the last one."""
        while True:
            began = time.monotonic()
            try:
                self._board = await self._reader.read()
                self._read_at, self._away_since = time.monotonic(), ""
                self.draw()
                await asyncio.sleep(max(FRAME_S, SHARE * (self._read_at - began)))
                await self.fleet.changed(self._board.seq, within=LOOK_AGAIN_S)
            except FleetError as trouble:
                self._lose(trouble)
                await asyncio.sleep(AWAY_S)

    def _lose(self, trouble: FleetError) -> None:
        if not self._away_since:
            self._away_since = time.strftime("%H:%M:%S")
            self.complain(trouble)
        self.draw()

    def draw(self) -> None:
        """Show the board as it is now; times advance even if nothing happens."""
        wide = self.size.width
        if not self._head.is_attached:
            return  # the screen is about to close
        if self._board is None:
            waits = f"store unreachable since {self._away_since}" if self._away_since else "reading"
            self._head.show([row(), row((f" {waits}", "warn"))])
            return
        at = passed(self._board, time.monotonic() - self._read_at)
        self._head.show(header(self._board, Look(wide, at), self._live()))
        shown = rows(self._board, Look(wide - 1, at, self.words))
        notice = [row((f" {clean(self._told)}"[: wide - 1], "warn"))] if self._told else []
        self._settle_choice(keys(shown))
        self.lines.show([*notice, *shown], self._chosen)
        self._draw_keys(wide)

    def _live(self) -> Span:
        if self._away_since:
            return (f"store unreachable since {self._away_since}", "failed")
        return ("● live", "done")

    def _settle_choice(self, known: list[str]) -> None:
        """Keep the selection; if it is gone, select what took its place. Until the user selects
        something, select what is most urgent."""
        if not self._has_chosen:
            self._chosen = known[0] if known else ""
        elif self._chosen not in known:
            before = keys(self.lines.rows)
            at = before.index(self._chosen) if self._chosen in before else 0
            self._chosen = known[min(at, len(known) - 1)] if known else ""

    def _draw_keys(self, wide: int) -> None:
        always = [("/", "filter"), ("?", "help"), ("q", "stop" if self._stop else "quit")]
        its = [(action.key, action.word) for action in actions.offered(self.target)]
        self._keys.show([key_line(its, always, wide)])

    @property
    def target(self) -> actions.Target:
        if self._board is None:
            return actions.Target()
        return actions.target_of(self._board, self._chosen)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The board's keys work only there, not while a page or a dialog is open."""
        own = action in ("act", "move", "edge", "page", "filter", "clear", "help", "pause_fleet")
        return not own or len(self.screen_stack) == 1

    def action_move(self, by: int) -> None:
        known = keys(self.lines.rows)
        if known:
            at = known.index(self._chosen) if self._chosen in known else 0
            self.choose(known[max(0, min(len(known) - 1, at + by))])

    def action_edge(self, at: int) -> None:
        if known := keys(self.lines.rows):
            self.choose(known[at])

    def action_page(self, by: int) -> None:
        self.action_move(by * max(1, self.lines.size.height // 2))

    def choose(self, key: str) -> None:
        self._chosen, self._has_chosen = key, True
        self.draw()
        self.lines.reveal(key)

    @on(Lines.Clicked)
    def clicked(self, event: Lines.Clicked) -> None:
        self.choose(event.key)

    def action_act(self, key: str) -> None:
        target = self.target
        if key == "a" and self._board and not actions.asks(target):
            target = actions.first_asked(self._board)
        action = next((each for each in actions.offered(target) if each.key == key), None)
        if action:
            self.run_worker(self._perform(action, target), exit_on_error=True)

    async def _perform(self, action: actions.Action, target: actions.Target) -> None:
        try:
            if said := await action.do(self, target):
                self.say(said)
        except FleetError as error:
            self.complain(error)

    def action_pause_fleet(self) -> None:
        self.run_worker(self._pause_fleet(), exit_on_error=True)

    async def _pause_fleet(self) -> None:
        try:
            if self._board and self._board.paused:
                await self.fleet.resume()
                self.say("the fleet is no longer paused")
            else:
                await self.fleet.pause()
                self.say("the fleet is paused: nothing new starts")
        except FleetError as error:
            self.complain(error)

    def action_filter(self) -> None:
        field = self.query_one("#filter", Input)
        field.add_class("open")
        field.focus()

    @on(Input.Changed, "#filter")
    def filter(self, event: Input.Changed) -> None:
        self.words = event.value
        self.draw()

    @on(Input.Submitted, "#filter")
    def keep_filter(self, event: Input.Submitted) -> None:
        event.input.set_class(bool(event.value), "open")
        self.lines.focus()

    def action_clear(self) -> None:
        field = self.query_one("#filter", Input)
        field.value = ""
        field.remove_class("open")
        self.lines.focus()

    def action_help(self) -> None:
        self.push_screen(help_page(stops=self._stop is not None))

    def action_stop(self) -> None:
        if self._stop:
            self._stop()
        else:
            self.exit()

    async def action_quit(self) -> None:
        self.action_stop()

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw)

    async def ask(self, screen: Screen[T]) -> T | None:
        return await self.push_screen_wait(screen)

    def open(self, page: Screen[None]) -> None:
        self.push_screen(page)

    def say(self, words: str) -> None:
        self.notify(clean(words), markup=False)

    def complain(self, error: FleetError) -> None:
        """Show an error and its hint."""
        said = "\n".join(clean(text) for text in (error.problem, error.hint) if text)
        self.notify(said, severity="error", timeout=TOAST_S, markup=False)

    def tell(self, words: str) -> None:
        """Show a message from the runner; it stays above the board."""
        self._told = words
        if self.is_running:
            self.draw()

    def panic(self, *renderables: Any) -> None:
        """Exit without textual's traceback; the caller decides what to do instead."""
        self.exit(return_code=1)

    def _handle_exception(self, error: Exception) -> None:
        self.trouble = self.trouble or error
        self._exception = self._exception or error  # what textual's own tests look at
        self._exception_event.set()
        self.exit(return_code=1)
