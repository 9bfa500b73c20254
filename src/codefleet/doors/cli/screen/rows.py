"""The board as lines of text for a screen of a given width. Pure: no terminal, no clock."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from codefleet.domain.board import AtWork, Board, Landed, Need
from codefleet.domain.model import Budget, Task
from codefleet.domain.scheduling import Why
from codefleet.domain.views import HELD_WORK, Waiting
from codefleet.doors.cli.screen import parts
from codefleet.doors.cli.screen.span import (
    Row,
    Span,
    cut,
    one_line,
    pad,
    row,
    size,
    spread,
    squeeze,
)
from codefleet.doors.cli.text import clean, duration, width

NARROW = 76
ID = 9
BAR = 8
ROOMY = 14
"""Above this many agents each gets one line instead of two."""
NEXT_SHOWN = 30
LANDED_SHOWN = 8
HINTS = {
    "question": "a answer",
    "permission": "a answer",
    "review": "d diff  l land  r reject",
    "account": "w wake",
    "failed": "t retry",
    HELD_WORK: "enter why",
}
BY_TITLE = ("review", "failed", HELD_WORK)
"""What is shown by the title of its task; the rest is shown by its own text."""


class Look(NamedTuple):
    """How the board is viewed: the available columns, the time, and the filter words."""

    columns: int
    at: datetime
    words: str = ""

    @property
    def narrow(self) -> bool:
        return self.columns < NARROW


def header(board: Board, look: Look, live: Span) -> list[Row]:
    """Two lines: overall progress and cost."""
    progress = board.progress
    counted = [(f" {progress.done} of {progress.total} done", "bold")]
    if progress.failed:
        counted.append((f"  {progress.failed} failed", "failed"))
    if board.needs:
        counted.append((f"  {len(board.needs)} need you", "asking"))
    if not look.narrow:
        counted += [
            (f"  {len(board.working)} working", "dim"),
            (f"  {board.waiting} waiting", "dim"),
        ]
    seq = [("" if look.narrow else f"seq {board.seq:,}  ", "dim"), live, (" ", "")]
    spent = parts.money(board.spent, board.unpriced)
    rate = board.usd_per_hour
    bill = f"{spent} today" + (f" · ${rate:.2f}/h" if rate else "") + " "
    end = parts.expected(board)
    columns = max(8, look.columns - len(bill) - len(end) - 12)
    style = "done" if progress.total and progress.done == progress.total else "running"
    filled = parts.bar(progress.share, columns, style)
    percent = [(f" {progress.share:>4.0%}", "bold"), (f"  {end}", "text")]
    return [
        spread(counted, seq, look.columns),
        spread([(" ", ""), *filled, *percent], [(bill, "dim")], look.columns),
    ]


def rows(board: Board, look: Look) -> list[Row]:
    """Everything below the header, most urgent first."""
    sections = [
        *_section("NEEDS YOU", f"{len(board.needs)}", _needs(board, look), look, "asking"),
        *_section("WORKING", f"{len(board.working)} of {board.seats}", _work(board, look), look),
        *_section("LANE", f"{len(board.lane)}", _lane(board, look), look),
        *_section("NEXT UP", f"{board.waiting}", _next_up(board, look), look),
        *_section("JUST LANDED", "", _landed(board, look), look),
    ]
    notices = [row((" ", ""), (cut(each, look.columns - 2), "warn")) for each in board.notices]
    found = [*notices, *sections[0 if notices else 1 :]] or list(_empty(look))
    return [Row(tuple(squeeze(it.spans, look.columns)), it.key) for it in found]


def _empty(look: Look) -> Iterator[Row]:
    if look.words:
        yield row((f" nothing matches {look.words!r}; Esc shows everything", "dim"))
        return
    yield row((' no tasks yet; `fleet add "Title"` queues one', "dim"))


def _section(
    title: str, count: str, lines: Iterable[Row], look: Look, style: str = "heading"
) -> list[Row]:
    found = list(lines)
    if not found:
        return []
    name = f" {title}" + (f"  {count}" if count else "")
    rule = "─" * max(0, look.columns - len(name) - 2)
    return [row(), row((name, style), (" ", ""), (rule, "rule")), *found]


def _needs(board: Board, look: Look) -> Iterator[Row]:
    for need in board.needs:
        title = need.task.title if need.task else ""
        if _shown(look, need.ref, title, need.text, need.task):
            yield from _need(need, title, look)


def _need(need: Need, title: str, look: Look) -> Iterator[Row]:
    key = f"need:{need.ref}"
    name = need.task.id if need.task else clean(need.ref)
    since = duration((look.at - need.since).total_seconds())
    hint = HINTS.get(need.kind, "")
    by_title = need.kind in BY_TITLE
    text, below = (title, need.text) if by_title else (need.text, title)
    text, below = one_line(text), one_line(below) if below != text else ""
    head = [(" ", ""), parts.shape_of_need(need), (f" {pad(name, ID)}", "id"), (text, "bold")]
    right = [(f"{need.kind} {since}", "dim"), ("  " if hint else "", ""), (hint, "key"), (" ", "")]
    if look.narrow:
        right = [(hint, "key"), (" ", "")] if hint else []
    yield spread(head, right, look.columns, key)
    if below:
        yield _below(below, look, key)
    if need.options:
        yield _below("  ".join(f"[{option}]" for option in need.options), look, key, "key")


def _below(text: str, look: Look, key: str, style: str = "dim") -> Row:
    return row((" " * (ID + 3), ""), (cut(text, look.columns - ID - 4), style), key=key)


def _work(board: Board, look: Look) -> Iterator[Row]:
    shown = [it for it in board.working if _shown(look, it.task.id, it.task.title, it.agent.name)]
    agent_width = max((len(it.agent.name) for it in shown), default=0) + 1
    for work in shown:
        yield from _agent(work, look, agent_width, roomy=len(board.working) <= ROOMY)


def _agent(work: AtWork, look: Look, wide: int, *, roomy: bool) -> Iterator[Row]:
    key = f"task:{work.task.id}"
    elapsed = (look.at - work.run.started_at).total_seconds()
    head: list[Span] = [(" ", ""), parts.shape_of_work(work), (" ", "")]
    if not look.narrow or not roomy:
        head.append((pad(work.agent.name, wide), "dim"))
    head.append((pad(work.task.id, ID), "id"))
    right = [(parts.clock(elapsed).rjust(7), "text"), (" ", ""), *_against_usual(work, elapsed)]
    if not look.narrow:
        usual = f" usual {duration(work.usual_s)}" if work.usual_s else " usual ?"
        right.append((pad(usual, 14), "dim"))
    right.append((" ", ""))
    if not roomy:
        room = look.columns - size(head) - size(right) - 1
        title = pad(work.task.title, max(10, room // 2 - 1))
        yield spread([*head, (title, "bold"), (" ", ""), *_doing(work)], right, look.columns, key)
        return
    yield spread([*head, (clean(work.task.title), "bold")], right, look.columns, key)
    facts = [(" · ".join(_facts(work)), "dim"), (" ", "")]
    yield spread([("   ", ""), *_doing(work)], facts, look.columns, key)


def _doing(work: AtWork) -> list[Span]:
    """What it is doing: the agent's message, in one safe line."""
    if work.stopping:
        return [(f"stopping: {one_line(work.stopping)}", "asking")]
    if work.silent:
        return [(f"quiet: {one_line(work.silent)}", "asking")]
    return [(one_line(work.doing) or "starting", "dim")]


def _against_usual(work: AtWork, elapsed: float) -> list[Span]:
    if not work.usual_s:
        return parts.bar(0, BAR)
    share = elapsed / work.usual_s
    return parts.bar(share, BAR, "running" if share <= 1.5 else "asking")


def _facts(work: AtWork) -> Iterator[str]:
    yield clean(work.run.coder)
    if work.run.context:
        yield f"context {work.run.context:.0%}"
    if work.spent.cost_usd or work.spent.tokens:
        yield parts.money(work.spent) + _of(work.task.budget)


def _of(budget: Budget | None) -> str:
    if budget and budget.usd is not None:
        return f" of ${budget.usd:.2f}"
    return f" of {budget.tokens:,} tokens" if budget and budget.tokens else ""


def _lane(board: Board, look: Look) -> Iterator[Row]:
    for at, task in enumerate(board.lane):
        if _shown(look, task.id, task.title):
            yield _task(task, parts.shape("lane"), _landing(task, at), look)


def _landing(task: Task, at: int) -> str:
    if task.is_landing:
        return "landing now"
    if task.paused:
        return "paused"
    return one_line(task.note) or ("lands next" if at == 0 else "waits to land")


def _next_up(board: Board, look: Look) -> Iterator[Row]:
    shown = [it for it in board.next_up if _shown(look, it.task.id, it.task.title, it.text)]
    for waiting in shown[:NEXT_SHOWN]:
        yield _task(waiting.task, parts.shape_of_waiting(waiting.why), _why(waiting), look)
    left = board.waiting - NEXT_SHOWN
    if left > 0 and not look.words:
        yield row((f"   and {left:,} more", "dim"))


def _why(waiting: Waiting) -> str:
    return "ready" if waiting.why == Why.SEAT else waiting.text


def _landed(board: Board, look: Look) -> Iterator[Row]:
    shown = [it for it in board.landed if _shown(look, it.task, it.title)]
    for it in shown[:LANDED_SHOWN]:
        yield _finished(it, look)


def _finished(it: Landed, look: Look) -> Row:
    ago = f"{duration((look.at - it.at).total_seconds())} ago"
    head = [(" ", ""), parts.shape("completed"), (f" {pad(it.task, ID)}", "id")]
    right = [("" if look.narrow else it.commit[:7].ljust(9), "faint"), (f"{ago:>10} ", "dim")]
    return spread([*head, (clean(it.title), "text")], right, look.columns, f"task:{it.task}")


def _task(task: Task, mark: Span, why: str, look: Look) -> Row:
    """A task and why it is not running, in two columns; a long title uses what is left."""
    head: list[Span] = [(" ", ""), mark, (f" {pad(task.id, ID)}", "id")]
    if task.priority >= 4:
        head.append(("↑ ", "accent"))
    room = look.columns - size(head) - 3
    at = look.columns * 11 // 20 - size(head)
    title = max(at, min(width(clean(task.title)), room - width(clean(why))))
    reason = cut(why, room - title)
    return row(
        *head, (pad(task.title, title), "text"), ("  ", ""), (reason, "dim"), key=f"task:{task.id}"
    )


def _shown(look: Look, *texts: str | Task | None) -> bool:
    if not look.words:
        return True
    told = " ".join(text if isinstance(text, str) else _labels(text) for text in texts).lower()
    return all(word in told for word in look.words.lower().split())


def _labels(task: Task | None) -> str:
    return " ".join((task.id, task.repo, *task.labels)) if task else ""


def passed(board: Board, seconds: float) -> datetime:
    """The time on the fleet's clock, this many seconds after the board was read."""
    return board.at + timedelta(seconds=seconds)


def keys(lines: Sequence[Row]) -> list[str]:
    """The keys of selectable rows, from top to bottom."""
    return list(dict.fromkeys(line.key for line in lines if line.key))


def key_line(its: Sequence[tuple[str, str]], always: Sequence[tuple[str, str]], wide: int) -> Row:
    """The keys available now; on a narrow screen, help and quit stay."""

    def spans(pairs: Iterable[tuple[str, str]]) -> list[Span]:
        return [span for key, word in pairs for span in ((key, "key"), (f" {word}  ", "dim"))]

    shown = list(its)
    while shown and size(spans([*shown, *always])) >= wide:
        shown.pop()
    return row((" ", ""), *spans([*shown, *always]))
