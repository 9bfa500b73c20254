"""The fleet at a glance."""

from collections.abc import Iterator

import click

from codefleet.domain.model import Agent, Run, State, Status, Task
from codefleet.domain.scheduling import Hold, Why
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, json_option
from codefleet.doors.cli.text import clean, duration, table

SHOWN = 20


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show agents, counts, what waits for what and why, conflicts and today's cost."""
    now = call(lambda fleet: fleet.status())
    if as_json:
        show.noun(now)
    else:
        click.echo("\n".join(draw(now)))


def draw(now: Status) -> Iterator[str]:
    """The whole fleet on one screen, most urgent for a human first."""
    if now.paused:
        yield click.style("the fleet is paused; `fleet resume` lets it go on", fg="magenta")
    yield from _inbox(now)
    yield from _conflicts(now)
    yield "tasks    " + (_counts(now) or 'none yet; `fleet add "Title"` queues one')
    yield f"today    {show.usage(now.spent_today)}"
    yield from _agents(now)
    yield from _waiting(now)


def _counts(now: Status) -> str:
    order = ["running", "pending", "blocked", *(state.value for state in State)]
    words = (f"{now.counts[name]:,} {name}" for name in dict.fromkeys(order) if name in now.counts)
    return ", ".join(words)


def _inbox(now: Status) -> Iterator[str]:
    for item in now.inbox[:SHOWN]:
        text = clean(item.text)[:100]
        yield f"{click.style(item.kind, fg='magenta')} of {item.task}: {text}"
        yield click.style(f"  -> {show.settles(item)}", dim=True)


def _conflicts(now: Status) -> Iterator[str]:
    for conflict in now.conflicts[:SHOWN]:
        left, right = conflict.tasks
        paths = clean(", ".join(conflict.paths[:3]))
        yield f"{click.style('conflict', fg='red')} of {left} and {right} in {paths}"


def _agents(now: Status) -> Iterator[str]:
    yield ""
    if not now.agents:
        yield "no runner; `fleet run` starts one"
        return
    tasks: dict[str | None, Task] = {task.id: task for task in now.running}
    runs: dict[str | None, Run] = {run.id: run for run in now.runs}
    rows = [_agent(now, it, tasks.get(it.task), runs.get(it.run)) for it in now.agents]
    yield table(("AGENT", "STATE", "FOR", "TASK", "TITLE", "LAST"), rows, stretch=5)


def _agent(now: Status, agent: Agent, task: Task | None, run: Run | None) -> tuple[str, ...]:
    since = agent.since or (agent.seen_at if agent.state == "offline" else None)
    return (
        agent.name,
        show.state(agent.state),
        duration((now.at - since).total_seconds()) if since else "",
        agent.task or "",
        clean(task.title) if task else "",
        clean(run.said)[:200] if run else "",
    )


def _waiting(now: Status) -> Iterator[str]:
    landing = [task for task in now.landing if task.approved]
    tasks = [*landing, *(waiting.task for waiting in now.waiting)]
    if not tasks:
        return
    holds = {w.task.id: Hold(Why(w.why), w.text, w.behind) for w in now.waiting}
    yield from ("", show.tasks(tasks[:SHOWN], holds))
    pending = now.counts.get("pending", 0) + now.counts.get("blocked", 0)
    left = len(landing) + pending - SHOWN
    if left > 0:
        yield click.style(f"and {left:,} more; `fleet list` shows them", dim=True)
