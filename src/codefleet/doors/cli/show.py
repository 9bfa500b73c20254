"""The nouns as text for humans, and as JSON for programs."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import click

from codefleet.domain.model import Event, Run, Task, TaskId, Usage
from codefleet.domain.noun import Noun
from codefleet.domain.scheduling import Hold, Why
from codefleet.domain.views import ALERT, HELD, HELD_WORK, IN_LANE, InboxItem, Left, shown_state
from codefleet.domain.words import Reason, State
from codefleet.doors.cli.text import brief, clean, clean_lines, duration, inert, local, table

COLOURS = {
    "ready": "white",
    "blocked": "yellow",
    "waits": "yellow",
    "paused": "magenta",
    "running": "blue",
    "working": "blue",
    "asking": "magenta",
    "review": "cyan",
    IN_LANE: "cyan",
    HELD: "yellow",
    "completed": "green",
    "failed": "red",
    "cancelled": "bright_black",
    "offline": "red",
}
MEMORY = 6
HUNGRY_MB = 100
OFFERED = 3
"""How many of a question's options are spelled out as commands."""
WAITING = {Why.PAUSED: "paused", Why.NEEDS: "blocked", Why.HELD_UP: "blocked", Why.SEAT: "ready"}


def noun(it: Noun) -> None:
    """One noun as JSON."""
    click.echo(inert(it.json()))


def nouns(them: Iterable[Noun]) -> None:
    """A JSON array, one noun on each line."""
    click.echo("[" + ",\n".join(inert(it.json()) for it in them) + "]")


def standing_by(hosts: Sequence[str]) -> str:
    """The machines whose runners start an agent as soon as there is work for one."""
    return f"standing by for tasks: {clean(', '.join(hosts))}"


def data(it: object) -> None:
    """Several nouns under names, as one JSON object."""
    click.echo(inert(json.dumps(it, default=_plain, ensure_ascii=False)))


def tasks(
    them: Sequence[Task],
    holds: Mapping[TaskId, Hold],
    room: int | None = None,
    *,
    repos: int = 1,
) -> str:
    """A table of tasks with what each waits for, and with its repo if there are several."""
    rows = [
        (
            task.id,
            *([clean(task.repo)] if repos > 1 else []),
            state(word(task, holds)),
            str(task.priority),
            clean(task.title),
            reason(task, holds),
        )
        for task in them
    ]
    headings = ("ID", *(["REPO"] if repos > 1 else []), "STATE", "PRI", "TITLE", "WHY")
    last = len(headings) - 1
    return table(headings, rows, stretch=(last - 1, last), room=room)


def word(task: Task, holds: Mapping[TaskId, Hold]) -> str:
    """The task's state; for a pending or approved one, how it waits."""
    if task.failed_but_continued:
        return State.FAILED.value
    if task.state is not State.PENDING:
        return shown_state(task)
    return waiting_word(holds[task.id].why) if task.id in holds else "pending"


def waiting_word(why: str) -> str:
    return WAITING.get(Why(why), "waits")


def reason(task: Task, holds: Mapping[TaskId, Hold]) -> str:
    """Why a task is in its state, in a few words."""
    if task.id in holds and holds[task.id].why is not Why.SEAT:
        return clean(holds[task.id].text)
    if task.failed_but_continued:
        return f"{brief(_said(task.reason, task.note))}; its workflow continued"
    if task.state is State.REVIEW and not (task.reason or task.note):
        return "waits to land" if task.approved else "waits for your review"
    if task.state is State.CANCELLED:
        return brief(task.note)
    told = task.state in (State.FAILED, State.ASKING, State.REVIEW)
    return brief(_said(task.reason, task.note)) if told else ""


def _said(reason: Reason | None, note: str) -> str:
    """A reason in words, and its note."""
    return ": ".join(filter(None, (reason.words if reason else "", note)))


def state(it: str) -> str:
    return click.style(it, fg=COLOURS.get(it))


def event(it: Event) -> None:
    """One line of the log."""
    who = it.run or it.task or ""
    agent = f" {it.agent}" if it.agent else ""
    head = click.style(f"{it.seq:>6} {local(it.at)}", dim=True)
    by = click.style(f" (by {it.by})", dim=True) if _by_someone_else(it) else ""
    click.echo(f"{head} {it.kind:<15} {who}{agent} {brief(it.text)}".rstrip() + by)


def _by_someone_else(it: Event) -> bool:
    """Was it caused by a token, or by the agent of another run? A human or a runner is usual."""
    kind, _, name = it.by.partition(" ")
    return kind == "token" or (kind == "run" and name != it.run)


def runs(them: Sequence[Run]) -> str:
    """A table of runs; memory is shown only if one of them used enough to matter."""
    headings = ("RUN", "AGENT", "CODER", "OUTCOME", "TOOK", "COST", "MEMORY", "NOTE")
    shown = [n for n in range(len(headings)) if n != MEMORY or any(map(_is_hungry, them))]
    rows = [tuple(_run(run)[n] for n in shown) for run in them]
    return table([headings[n] for n in shown], rows, stretch=(len(shown) - 1,))


def _run(run: Run) -> tuple[str, ...]:
    return (
        str(run.number),
        run.agent,
        run.coder,
        state("running") if run.is_live else str(run.outcome),
        taken(run),
        usage(run.usage),
        f"{run.memory_mb:,} MB" if run.memory_mb else "-",
        brief(_said(run.reason, run.note) or run.said),
    )


def _is_hungry(run: Run) -> bool:
    return run.memory_mb >= HUNGRY_MB


def taken(run: Run) -> str:
    """How long a run took, or has taken until now."""
    return duration(((run.ended_at or datetime.now(UTC)) - run.started_at).total_seconds())


def usage(it: Usage, unpriced: int = 0) -> str:
    """Cost, `?` for tokens without a price, then tokens; a dash if there is nothing."""
    money = ([f"${it.cost_usd:.2f}"] if it.cost_usd else []) + (["?"] if unpriced else [])
    parts = [" + ".join(money)] if money else []
    parts += [f"{it.tokens:,} tokens"] if it.tokens else []
    return ", ".join(parts) or "-"


def inbox(them: Sequence[InboxItem]) -> None:
    """What waits for a human, and the command that resolves each item."""
    for item in them:
        asked = duration((datetime.now(UTC) - item.since).total_seconds())
        click.echo(f"{click.style(item.kind, fg='magenta')} {item.task or item.id}, {asked} ago")
        click.echo("  " + clean_lines(item.text.rstrip()).replace("\n", "\n  "))
        if item.options:
            click.echo("  options: " + " | ".join(clean(option) for option in item.options))
        click.echo(click.style(f"  -> {settles(item)}", dim=True))


def left(it: Left) -> str:
    """A task that cannot continue by itself: what it waits for, and the command to resolve it."""
    asks = it.item is not None and it.item.kind in ("question", "permission")
    said = it.item.text if it.item and asks else it.text
    head = f"{it.task.id}  {clean(it.task.title)}: {brief(said)}"
    return f"{head}\n  -> {settles(it.item)}" if it.item else head


def settles(item: InboxItem) -> str:
    """The command that resolves an inbox item."""
    if item.kind == "permission":
        return f"fleet answer {item.task} allow, or always, or deny"
    if item.kind == "account":
        return f"fleet coders wake {item.id}"
    if item.kind == HELD_WORK:
        return f'clear what is in the way and it lands by itself, or fleet reject {item.task} "why"'
    if item.kind == ALERT:
        return f"fleet inbox --settle {item.id}"
    if item.kind == "settings":
        return "fix the file and commit it to the trunk"
    if item.kind == "question":
        words = [shlex.quote(clean(option)) for option in item.options[:OFFERED]] or ['"..."']
        return ", or ".join(f"fleet answer {item.task} {each}" for each in words)
    return f'fleet diff {item.task}; fleet land {item.task}, or fleet reject {item.task} "why"'


def _plain(it: object) -> object:
    if isinstance(it, Noun):
        return it.plain()
    raise TypeError(f"{type(it).__name__} is not a noun")
