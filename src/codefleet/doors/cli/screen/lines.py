"""A scrolling widget of rows that redraws only the lines that changed."""

from collections.abc import Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from codefleet.doors.cli.screen import theme
from codefleet.doors.cli.screen.span import Row


class Lines(ScrollView, can_focus=True):
    """Rows of text; those with the chosen key are highlighted."""

    class Clicked(Message):
        """A selectable row was clicked."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    DEFAULT_CSS = "Lines { scrollbar-size-vertical: 1; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: list[Row] = []
        self.chosen = ""

    def show(self, rows: Sequence[Row], chosen: str = "") -> None:
        """Show these rows, and redraw only what changed."""
        old, self.rows = self.rows, list(rows)
        was, self.chosen = self.chosen, chosen
        if len(old) != len(self.rows):
            self.virtual_size = Size(0, len(self.rows))
            self.refresh()
            return
        for y, (before, after) in enumerate(zip(old, self.rows, strict=True)):
            is_chosen, was_chosen = _is(after, chosen), _is(before, was)
            if before != after or is_chosen != was_chosen:
                self.refresh_lines(y)

    def reveal(self, key: str) -> None:
        """Scroll until the rows of this key are visible, and the heading above the first one."""
        at = [y for y, row in enumerate(self.rows) if _is(row, key)]
        if not at:
            return
        top = 0 if at[0] <= 1 else at[0]
        height = max(1, self.size.height)
        if top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False)
        elif at[-1] >= self.scroll_offset.y + height:
            self.scroll_to(y=at[-1] - height + 1, animate=False)

    @property
    def is_at_end(self) -> bool:
        return self.scroll_offset.y >= self.max_scroll_y - 1

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        wide = self.size.width
        ground = self.rich_style
        if at >= len(self.rows):
            return Strip.blank(wide, ground)
        row = self.rows[at]
        known = theme.styles_of(self.app.theme)
        if _is(row, self.chosen):
            ground += known["chosen"]
        segments = [Segment(text, ground + _style(known, name)) for text, name in row.spans]
        return Strip(segments).adjust_cell_length(wide, ground)

    def on_click(self, event: events.Click) -> None:
        at = int(event.y + self.scroll_offset.y)
        if at < len(self.rows) and self.rows[at].key:
            self.post_message(self.Clicked(self.rows[at].key))


def _is(row: Row, key: str) -> bool:
    return bool(key) and row.key == key


def _style(known: Mapping[str, Style], name: str) -> Style:
    return known.get(name) or Style.null()
