"""Dialogs: ask for text or one of several options, or for yes or no."""

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from codefleet.doors.cli.text import clean, clean_lines

CSS = """
#box { width: 90%; max-width: 84; height: auto; max-height: 90%; padding: 1 2;
       background: $panel; border: round $primary; }
#about { color: $text-muted; height: auto; max-height: 12; overflow-y: auto; margin-bottom: 1; }
#title { text-style: bold; height: auto; }
OptionList { height: auto; max-height: 9; margin-bottom: 1; border: none; background: $panel; }
Input { border: tall $surface; }
#keys { color: $text-muted; height: auto; }
"""


class Ask(ModalScreen[str | None]):
    """Ask for text; an option can also be chosen by its number."""

    CSS = f"Ask {{ align: center middle; }} {CSS}"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave")]

    def __init__(self, title: str, about: str = "", options: Sequence[str] = ()) -> None:
        super().__init__()
        self._heading, self._detail, self._options = title, about, options

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(clean(self._heading), id="title", markup=False)
            if self._detail:
                yield Static(clean_lines(self._detail), id="about", markup=False)
            if self._options:
                named = (f"{n}  {clean(option)}" for n, option in enumerate(self._options, 1))
                yield OptionList(*(Option(Content(name)) for name in named))
            yield Input(placeholder="or type your own" if self._options else "type here")
            yield Static("enter send · esc cancel", id="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one(OptionList if self._options else Input).focus()

    def on_key(self, event: object) -> None:
        pressed = getattr(event, "character", None) or ""
        typing = self.query_one(Input).has_focus
        if not typing and pressed.isdigit() and 0 < int(pressed) <= len(self._options):
            self.dismiss(self._options[int(pressed) - 1])

    @on(OptionList.OptionSelected)
    def take(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._options[event.option_index])

    @on(Input.Submitted)
    def send(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)

    def action_leave(self) -> None:
        self.dismiss(None)


class Confirm(ModalScreen[bool]):
    """Ask before doing something that is hard to undo."""

    CSS = f"Confirm {{ align: center middle; }} {CSS}"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter", "yes", "Yes"),
        Binding("n,escape,q", "no", "No"),
    ]

    def __init__(self, title: str, about: str) -> None:
        super().__init__()
        self._heading, self._detail = title, about

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(clean(self._heading), id="title", markup=False)
            yield Static(clean_lines(self._detail), id="about", markup=False)
            yield Static("y yes · n no", id="keys", markup=False)

    def action_yes(self) -> None:
        self.dismiss(True)

    def action_no(self) -> None:
        self.dismiss(False)
