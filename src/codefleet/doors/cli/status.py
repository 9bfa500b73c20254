"""The fleet at a glance."""

from collections.abc import Iterator

import click

from codefleet.domain.accounts import sentence
from codefleet.domain.budget import told
from codefleet.domain.model import Run, Task
from codefleet.domain.scheduling import Hold, Why, waits_for_remote
from codefleet.domain.views import HELD, IN_LANE, Agent, InboxItem, Status
from codefleet.domain.words import State
from codefleet.doors.cli import show
from codefleet.doors.cli.call import json_option, look
from codefleet.doors.cli.text import brief, clean, duration, table

SHOWN = 20
LONGEST = 200


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show agents, counts, what waits for what and why, conflicts and today's cost."""
    now = look(lambda fleet: fleet.status())
    if as_json:
        show.noun(now)
    else:
        click.echo("\n".join(draw(now)))


def draw(now: Status) -> Iterator[str]:
    """The whole fleet on one screen, most urgent for a human first."""
    if now.paused:
        yield click.style("the fleet is paused; run `fleet resume` to continue", fg="magenta")
    yield from _inbox(now)
    yield from _rests(now)
    yield from _away(now)
    yield from _conflicts(now)
    yield f"tasks    {counts(now)}"
    yield f"today    {show.usage(now.spent_today, now.unpriced_today)}"
    yield from (f"limit    {clean(told(limit))}" for limit in now.limits)
    yield from ("", agents(now))
    if pending := waiting(now, SHOWN):
        yield from ("", pending)


def counts(now: Status) -> str:
    """How many tasks are in each state."""
    order = ["running", "pending", "blocked", "asking", "review", IN_LANE, HELD]
    order += [state.value for state in State]
    words = (f"{now.counts[name]:,} {name}" for name in dict.fromkeys(order) if name in now.counts)
    return ", ".join(words) or 'none yet; `fleet add "Title"` queues one'


def agents(now: Status, room: int | None = None) -> str:
    """Who works on what, for how long, with the last message; and who waits for work."""
    parts = [_seats(now, room)] if now.agents else []
    if now.standing_by:
        parts.append(show.standing_by(now.standing_by))
    return "\n".join(parts) or "no runner; `fleet run` starts one"


def _seats(now: Status, room: int | None) -> str:
    tasks: dict[str | None, Task] = {task.id: task for task in now.running}
    runs: dict[str | None, Run] = {run.id: run for run in now.runs}
    rows = [_agent(now, it, tasks.get(it.task), runs.get(it.run)) for it in now.agents]
    headings = ["AGENT", "STATE", "FOR", "TASK", "TITLE", "LAST"]
    if now.repos > 1:
        headings.insert(4, "REPO")
        repos = [clean(tasks[it.task].repo) if it.task in tasks else "" for it in now.agents]
        rows = [(*row[:4], repo, *row[4:]) for row, repo in zip(rows, repos, strict=True)]
    last = len(headings) - 1
    return table(headings, rows, stretch=(last - 1, last), room=room)


def waiting(now: Status, most: int, room: int | None = None) -> str:
    """A table of what is not running, and why; empty if there is nothing."""
    tasks = [*now.lane, *(each.task for each in now.waiting)]
    if not tasks:
        return ""
    holds = {
        each.task.id: Hold(why=Why(each.why), text=each.text, behind=each.behind)
        for each in now.waiting
    }
    drawn = show.tasks(tasks[:most], holds, room, repos=now.repos)
    pending = now.counts.get("pending", 0) + now.counts.get("blocked", 0)
    left = len(now.lane) + pending - most
    more = click.style(f"\nand {left:,} more; `fleet list` shows them", dim=True)
    return drawn + more if left > 0 else drawn


def _inbox(now: Status) -> Iterator[str]:
    for item in now.inbox[:SHOWN]:
        yield from _item(item)


def _item(item: InboxItem) -> Iterator[str]:
    of = f"of {item.task}" if item.task else item.id
    yield f"{click.style(item.kind, fg='magenta')} {of}: {brief(item.text)[:LONGEST]}"
    yield click.style(f"  -> {show.settles(item)}", dim=True)


def _rests(now: Status) -> Iterator[str]:
    """Accounts that wake by themselves; those a human must wake are in the inbox."""
    for rest in now.rests:
        if rest.until:
            yield click.style(clean(sentence(rest, now.at)), fg="yellow")


def _away(now: Status) -> Iterator[str]:
    """Remotes that do not respond; work continues by itself when they do."""
    for each in now.away:
        since = duration((now.at - each.since).total_seconds())
        said = f"the remote of {each.repo} has been unreachable for {since}: {each.why}"
        yield click.style(brief(said), fg="yellow")


def _conflicts(now: Status) -> Iterator[str]:
    for conflict in now.conflicts[:SHOWN]:
        left, right = conflict.tasks
        paths = clean(", ".join(conflict.paths[:3]))
        yield f"{click.style('conflict', fg='red')} between {left} and {right} in {paths}"


def _agent(now: Status, agent: Agent, task: Task | None, run: Run | None) -> tuple[str, ...]:
    since = agent.since or (agent.seen_at if agent.state == "offline" else None)
    away = now.remote_of(task, run) if task and run else None
    last = waits_for_remote(away, now.at) if away else brief(run.said)[:200] if run else ""
    return (
        agent.name,
        show.state("waits" if away else agent.state),
        duration((now.at - since).total_seconds()) if since else "",
        agent.task or "",
        clean(task.title) if task else "",
        last,
    )
