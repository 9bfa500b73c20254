"""Verbs whose arguments or answers HTTP writes in another way than Python does.

Those that need git import the runner when they are called: a server starts without it.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from codefleet.domain.board import Board
from codefleet.domain.drafting import read_all
from codefleet.domain.errors import Invalid
from codefleet.domain.model import (
    Budget,
    Event,
    Repo,
    Run,
    RunId,
    Task,
    TaskId,
    Workflow,
)
from codefleet.domain.moment import moment, span
from codefleet.domain.noun import Natural, Noun
from codefleet.domain.scheduling import Hold
from codefleet.domain.views import Notes, Spent, WorkflowStatus
from codefleet.domain.words import State
from codefleet.domain.workflow import workflow
from codefleet.fleet import Fleet
from codefleet.fleet.archive import Archived
from codefleet.fleet.board import BoardReader
from codefleet.fleet.core import refuse_outdated
from codefleet.fleet.runs import Heartbeats
from codefleet.fleet.waiting import Watched
from codefleet.ports import TaskQuery

Limit = Annotated[int, Meta(ge=1, le=1000)]
Wait = Annotated[float, Meta(ge=0, le=60)]
Lines = Annotated[int, Meta(ge=1, le=5000)]


class TaskList(Noun):
    """A page of tasks, and the cursor of the next one, if there is one."""

    tasks: Sequence[Task]
    next_cursor: str | None = None


class Similar(Noun):
    """A task, and how similar it is to what was asked, from 0 to 1."""

    score: float
    task: Task


async def board(fleet: Fleet) -> Board:
    """All that a page about the fleet shows first: who is needed, who works, what is next."""
    return await BoardReader.of(fleet).read()


async def add(fleet: Fleet, drafts: Sequence[Mapping[str, Any]]) -> Sequence[Task]:
    """Queue tasks, all or none. Needs are ids, or names of other drafts in the same call."""
    return await fleet.add(read_all(drafts, await fleet.now()))


async def list_tasks(
    fleet: Fleet,
    state: Sequence[State] = (),
    ids: Sequence[TaskId] | None = None,
    parents: Sequence[TaskId] | None = None,
    repo: str | None = None,
    label: str | None = None,
    team: str | None = None,
    handle: str | None = None,
    workers: bool = False,
    swarm: str | None = None,
    text: str | None = None,
    ready: bool = False,
    newest_first: bool = False,
    limit: Limit = 50,
    cursor: str | None = None,
) -> TaskList:
    """The matching tasks, most urgent first, a page at a time."""
    if cursor and not await fleet.list(TaskQuery(ids=[TaskId(cursor)])):
        raise Invalid("this cursor is not valid", hint="pass next_cursor unchanged")
    query = TaskQuery(
        states=state,
        ids=ids,
        parents=parents,
        repo=repo,
        label=label,
        team=team,
        handle=handle,
        workers=workers,
        swarm=swarm,
        text=text,
        ready=ready,
        newest_first=newest_first,
        limit=limit + 1,  # one extra shows that there are more
        after=TaskId(cursor) if cursor else None,
    )
    found = await fleet.list(query)
    more = found[limit - 1].id if len(found) > limit else None
    return TaskList(tasks=found[:limit], next_cursor=more)


async def notes(fleet: Fleet, ref: str) -> Notes:
    """What the agents of a task noted for one another."""
    from codefleet.runner import verbs

    return await verbs.notes(fleet, ref)


async def edit(fleet: Fleet, ref: str, changes: Mapping[str, Any]) -> Task:
    """Change a task's fields; a running agent sees the change in its next run."""
    return await fleet.edit(ref, **changes)


async def why(fleet: Fleet, ids: Sequence[TaskId]) -> Mapping[TaskId, Hold]:
    """Why each of these tasks, if it is pending, does not run now."""
    return await fleet.why(await fleet.list(TaskQuery(ids=ids)))


async def pause_task(fleet: Fleet, ref: str) -> Task:
    """Pause a task; a run of it is stopped gently."""
    await fleet.pause(ref)
    return await fleet.get(ref)


async def resume_task(fleet: Fleet, ref: str) -> Task:
    """Let a paused task start again."""
    await fleet.resume(ref)
    return await fleet.get(ref)


async def pause(fleet: Fleet) -> None:
    """Pause the whole fleet; runs go on, but nothing new starts."""
    await fleet.pause()


async def resume(fleet: Fleet) -> None:
    """Let the whole fleet start tasks again."""
    await fleet.resume()


async def land(fleet: Fleet, ref: str, commit: str | None = None) -> Task:
    """Approve this work for the trunk: the lane takes it next."""
    from codefleet.runner import verbs
    from codefleet.runner.context import Context

    refuse_outdated(fleet.core, await fleet.get(ref))  # before a branch moves
    return await verbs.land(Context(fleet), ref, commit, wait=False)


async def diff(fleet: Fleet, ref: str) -> str:
    """What a task changed, or one of its runs; for live work, as it is now."""
    from codefleet.runner import verbs

    return await verbs.diff(fleet, ref)


async def output(fleet: Fleet, ref: str, lines: Lines = 200) -> str:
    """The last lines that the agent of a run, or of a task's last run, printed."""
    from codefleet.runner import verbs
    from codefleet.runner.context import Context

    return await verbs.run_log(Context(fleet), ref, lines)


async def runs(
    fleet: Fleet, ids: Sequence[RunId] = (), task: Sequence[TaskId] = ()
) -> Sequence[Run]:
    """The runs with these ids, and those of these tasks."""
    return [*await fleet.find_runs(ids), *await fleet.runs_of(*task)]


async def runs_during(fleet: Fleet, since: str, until: str | None = None) -> Sequence[Run]:
    """The runs that were at work since a time, such as 2030-01-31 or -7d, and before another."""
    now = await fleet.now()
    return await fleet.runs_during(moment(since, now), moment(until, now) if until else now)


async def heartbeats(fleet: Fleet, ids: Sequence[RunId]) -> Heartbeats:
    """When each of these runs was last known to be alive."""
    return await fleet.heartbeats(await fleet.find_runs(ids))


async def start(
    fleet: Fleet, plan: Mapping[str, Any], repo: str | None = None, team: str | None = None
) -> Workflow:
    """Turn a plan into tasks, all or none, for this team."""
    return await fleet.start(workflow.parse(plan), repo, team)


async def retry_workflow(fleet: Fleet, ref: str, budget: Budget | None = None) -> WorkflowStatus:
    """Put failed and cancelled stages back into the queue; completed ones stay as they are."""
    return await fleet.retry_workflow(ref, budget)


async def search(fleet: Fleet, query: str, limit: Limit = 5) -> Sequence[Similar]:
    """The tasks, finished ones too, most similar to this; each with a score from 0 to 1."""
    return [Similar(score=score, task=task) for score, task in await fleet.search(query, limit)]


async def cost(
    fleet: Fleet, since: str, until: str | None = None, by: Sequence[str] = ()
) -> Sequence[Spent]:
    """What was spent since a time, such as 2030-01-31 or -7d, by day, coder, model, repo, task."""
    now = await fleet.now()
    end = moment(until, now) if until else None
    return await fleet.cost(by=by, since=moment(since, now), until=end)


async def events(
    fleet: Fleet,
    after: Natural = 0,
    task: str | None = None,
    kinds: Sequence[str] = (),
    limit: Limit = 1000,
    newest: bool = False,
    team: str | None = None,
) -> Sequence[Event]:
    """The log, in the order of events; with `newest`, its end. Ask for a stream to follow it."""
    return await fleet.events(
        after=after, task=task, kinds=kinds, limit=limit, newest=newest, team=team
    )


async def watch(fleet: Fleet, refs: Sequence[str], within: Wait = 30.0) -> AsyncIterator[Watched]:
    """Tasks, or all those of a workflow, a line at every change, until they have settled."""
    async for seen in fleet.watch(refs, within):
        yield seen


async def changed(fleet: Fleet, after: Natural, within: Wait = 30.0) -> bool:
    """Wait for an event later than seq `after`; false if `within` seconds passed."""
    return await fleet.changed(after, within)


async def story(fleet: Fleet, task: str | None = None, after: Natural = 0) -> AsyncIterator[Event]:
    """The log in order, a line each, including what moved to the server's archive."""
    async for each in fleet.story(task=task, after=after):
        yield each


async def failed_since(fleet: Fleet, seq: Natural) -> int:
    """How many tasks failed after this event and have not been retried since."""
    return await fleet.failed_since(seq)


async def archive(fleet: Fleet, older_than: str, dry_run: bool = False) -> Archived:
    """Move the events of tasks that finished longer ago than this (`30d`) into a file."""
    age: timedelta = span(older_than)
    return await fleet.archive(older_than=age, dry_run=dry_run)


async def register(fleet: Fleet, path: str, trunk: str | None = None) -> Repo:
    """Add the git repository that contains this folder of the server's machine."""
    if not Path(path).is_absolute() or "\0" in path:
        raise Invalid(f"{path[:80]!r} is no absolute path", hint="begin at the root: /srv/shop")
    from codefleet.runner import repos

    return await repos.register(fleet, Path(path), trunk)
