"""Small pieces of the screen: shapes of states, bars, durations, costs."""

from codefleet.domain.board import AtWork, Board, Need
from codefleet.domain.model import Usage
from codefleet.domain.scheduling import Why
from codefleet.domain.views import HELD_WORK
from codefleet.doors.cli.screen.span import Span
from codefleet.doors.cli.text import duration

SHAPES = {
    "pending": ("○", "dim"),
    "blocked": ("⊖", "dim"),
    "paused": ("‖", "dim"),
    "running": ("●", "running"),
    "quiet": ("◌", "asking"),
    "stopping": ("◌", "asking"),
    "question": ("?", "asking"),
    "permission": ("?", "asking"),
    "account": ("!", "failed"),
    "review": ("±", "review"),
    HELD_WORK: ("▲", "asking"),
    "lane": ("▲", "lane"),
    "completed": ("✓", "done"),
    "failed": ("✗", "failed"),
}
OTHER = ("!", "asking")
FULL, EMPTY = "━", "─"


def shape(name: str) -> Span:
    """The mark of a state, distinct in both colour and shape."""
    mark, style = SHAPES.get(name, OTHER)
    return (mark, style)


def shape_of_waiting(why: str) -> Span:
    if why == Why.PAUSED:
        return shape("paused")
    return shape("pending" if why == Why.SEAT else "blocked")


def shape_of_work(work: AtWork) -> Span:
    return shape("stopping" if work.stopping else "quiet" if work.silent else "running")


def shape_of_need(need: Need) -> Span:
    return shape(need.kind)


def bar(share: float, columns: int, style: str = "running") -> list[Span]:
    """A progress bar of this many columns."""
    done = round(max(0.0, min(1.0, share)) * columns)
    if 0 < share < 1:
        done = max(1, min(columns - 1, done))
    return [(FULL * done, style), (EMPTY * (columns - done), "faint")]


def clock(seconds: float) -> str:
    """Elapsed time: `4:07`, `1:02:33`."""
    minutes, second = divmod(int(max(0.0, seconds)), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02}:{second:02}" if hour else f"{minute}:{second:02}"


def expected(board: Board) -> str:
    """When everything that needs no human will be done, in words."""
    seconds = board.progress.left_s
    if board.paused:
        return "paused"
    if not board.working and not board.waiting and not board.lane:
        return "all done" if board.progress.total and not board.needs else ""
    if not board.seats:
        return "no runner"
    if seconds is None:
        return "no estimate"
    return "nearly done" if seconds < 5 and not board.waiting else f"about {duration(seconds)} left"


def money(usage: Usage, unpriced: int = 0) -> str:
    """The cost, with `?` for tokens without a price; tokens if there is no cost at all."""
    if usage.cost_usd or not usage.tokens:
        return f"${usage.cost_usd:.2f}" + (" + ?" if unpriced else "")
    return f"{usage.tokens:,} tokens"
