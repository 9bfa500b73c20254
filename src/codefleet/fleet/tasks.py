"""Tasks: add, edit, pause, resume, cancel, retry, and why one waits."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import asdict

from codefleet.domain import access, accounts, drafting, graph, scheduling
from codefleet.domain.access import AgentOf, Right
from codefleet.domain.errors import Duplicate, Invalid, Refused
from codefleet.domain.events import event
from codefleet.domain.lifecycle import Verb, is_editable, move
from codefleet.domain.model import Brief, Draft, Task, TaskId, Workflow
from codefleet.domain.noun import each_once
from codefleet.domain.scheduling import Hold, Why
from codefleet.domain.suggestion import did_you_mean
from codefleet.domain.words import State
from codefleet.domain.workflow import cascade
from codefleet.fleet import lineage, spending, task_teams
from codefleet.fleet.accounts import Accounts
from codefleet.fleet.capacity import Capacity
from codefleet.fleet.child_tasks import Families
from codefleet.fleet.costs import Costs
from codefleet.fleet.drafts import Drafts
from codefleet.fleet.lookup import open_swarm
from codefleet.ports import TaskQuery, Write

LETTERS = "abcdefghjkmnpqrstuvwxyz"
ID_CHARACTERS = LETTERS + "23456789"
RETRIED_BY_AGENTS = 2
"""How many times a task's normal attempts it may have when agents retry it."""
EDITABLE = frozenset(Brief.__struct_fields__) - {"repo", "stage"}
REROUTING = frozenset({"coder", "model", "options", "fallback"})
"""Fields that decide who works on a task: editing one undoes a fallback."""


class Tasks(Drafts, Capacity, Accounts, Costs, Families):
    async def add(self, drafts: Sequence[Draft]) -> Sequence[Task]:
        """Queue tasks, all or none. Needs are ids, or names of other drafts in the same call.

        Tasks that an agent adds in its run are children of that run's task, within its limits.
        """
        for draft in drafts:
            if draft.stage:
                raise Invalid(
                    "only a workflow has stages", hint="start a workflow, or drop `stage`"
                )
        return await self._add(drafts)

    async def _add(
        self,
        drafts: Sequence[Draft],
        flow: Callable[[Sequence[Task]], Workflow] | None = None,
    ) -> Sequence[Task]:
        """Queue tasks, and the workflow that they form, if any."""
        step = await self._adding(drafts, flow)
        by = await self.core.asking()
        await (self._add_children(step, by) if by else self.core.write(step))
        return step.tasks

    async def _adding(
        self,
        drafts: Sequence[Draft],
        flow: Callable[[Sequence[Task]], Workflow] | None = None,
    ) -> Write:
        """The step that queues tasks."""
        if not drafts:
            raise Invalid("there is nothing to add", hint='say what to do: fleet add "Title"')
        await self.core.permit(Right.START if flow else Right.ADD)
        drafts = [await self._placed(draft) for draft in drafts]
        now = await self.core.store.now()
        drafts = [drafting.filled_in(asdict(draft), now) for draft in drafts]
        drafts = await task_teams.with_team(self.core, drafts)
        by = await self.core.asking()
        drafts = await self._usable(drafts, by)
        if by:
            drafts = await self._children(drafts, by)
        graph.order({draft.name: draft.needs for draft in drafts if draft.name})
        named = _names(drafts)
        ids = [named.get(draft.name or "", new_id()) for draft in drafts]
        tasks = [
            (await self._task(draft, task_id, named, now)).evolve(parent=by and by.task)
            for draft, task_id in zip(drafts, ids, strict=True)
        ]
        await task_teams.refuse_unfit(self.core, tasks)
        events = [event("task.added", now, t.title, task=t) for t in tasks]
        flows = [flow(tasks)] if flow else []
        return Write(tasks=tasks, records=flows, events=events)

    async def list(self, query: TaskQuery) -> Sequence[Task]:
        """The matching tasks, most urgent first."""
        return await self.core.store.tasks(query)

    async def edit(self, ref: str, /, **changes: Any) -> Task:
        """Change a task's fields; a running agent sees the change in its next run."""
        right = Right.ASSIGN if changes.keys() == {"assignee"} else Right.EDIT
        access.refuse(self.core.actor, right)
        if not changes:
            raise Invalid("there is nothing to change", hint="name a field and its new value")
        unknown = sorted(set(changes) - EDITABLE)
        if unknown:
            raise Invalid(
                f"a task has no editable field {', '.join(unknown)}",
                hint=did_you_mean(
                    unknown[0], EDITABLE, f"these can be edited: {', '.join(sorted(EDITABLE))}"
                ),
            )

        async def step(task: Task) -> Write:
            await self.core.permit(right, task)
            if not is_editable(task):
                raise Refused(f"{task.id} is {task.state}", hint="add a new task instead")
            now = await self.core.store.now()
            said = drafting.filled_in(_said(task) | changes, now)
            drafting.refuse_unusable(said)
            if changes.keys() & REROUTING:
                self.core.checks.refuse_unfit(said, self.core.config.coders)
            if changes.get("swarm"):
                await open_swarm(self.core, changes["swarm"])
            if "base" in changes:
                (said,) = await self._based([said], None)
            edited = task.evolve(**_said(said), version=task.version + 1, updated_at=now)
            if "not_before" in changes:  # now set by a human, no longer a rest
                edited = edited.evolve(resting_since=None)
            if changes.keys() & REROUTING:
                edited = edited.evolve(rerouted_from=None)
            needs = [await self._need(need, {}) for need in edited.needs]
            edited = edited.evolve(needs=each_once(needs))
            await task_teams.refuse_change(self.core, task, edited)
            return Write(
                tasks=[edited],
                events=[event("task.edited", now, ", ".join(sorted(changes)), task=task)],
            )

        return await self.core.change(ref, step)

    async def pause(self, ref: str | None = None) -> Task | None:
        """Pause a task, or without one the whole fleet. A run of the named task is stopped gently;
        runs of a paused fleet continue."""
        await self.core.permit(Right.PAUSE if ref else Right.PAUSE_FLEET)
        return await self._set_paused(ref, Verb.PAUSE)

    async def resume(self, ref: str | None = None) -> Task | None:
        """Let a paused task, or the whole fleet, start again."""
        await self.core.permit(Right.RESUME if ref else Right.PAUSE_FLEET)
        return await self._set_paused(ref, Verb.RESUME)

    async def cancel(self, ref: str) -> Task:
        """Stop a task for good; its work so far is archived, not lost."""

        async def step(task: Task) -> Write:
            await self.core.permit(Right.CANCEL, task)
            return await self._cancelling(task)

        return await self.core.change(ref, step)

    async def _cancelling(self, task: Task) -> Write:
        """The step that cancels a task."""
        now = await self.core.store.now()
        gone = {"fence": task.fence + 1, "paused": False, "note": ""}
        stopped = move(task, Verb.CANCEL, **gone, updated_at=now)
        lost = await self.core.fallout(stopped, now)
        told = event("task.cancelled", now, task=task)
        return Write(
            tasks=[stopped, *lost.tasks],
            records=await self.core.withdrawn([stopped], now),
            events=[told, *lost.events],
        )

    async def retry(self, ref: str) -> Task:
        """Put a failed or cancelled task back into the queue with fresh attempts.

        Later stages that were cancelled because of it, and can start after all, come back too.
        """

        async def step(task: Task) -> Write:
            await self.core.permit(Right.RETRY, task)
            if task.swarm:
                await open_swarm(self.core, task.swarm)
            if isinstance(self.core.actor, AgentOf):
                self._refuse_retry(task)
            now = await self.core.store.now()
            again = [task, *cascade.revived(task, await lineage.stages(self.core.store, task))]
            return Write(
                tasks=[retried(each, now) for each in again],
                events=[event("task.retried", now, task=each) for each in again],
            )

        return await self.core.change(ref, step)

    def _refuse_retry(self, task: Task) -> None:
        """An agent may give a task a second set of attempts, but not an endless number of them."""
        attempts = task.max_attempts or self.core.config.for_repo(task.repo).attempts
        if task.runs >= RETRIED_BY_AGENTS * attempts:
            raise Refused(
                f"{task.id} was tried {task.runs} times", hint="use ask_human to ask for a retry"
            )

    async def why(self, tasks: Sequence[Task]) -> Mapping[TaskId, Hold]:
        """Why each of these pending tasks does not run now, even if it only lacks a seat."""
        pending = [task for task in tasks if task.state is State.PENDING]
        if not pending:
            return {}
        now = await self.core.store.now()
        unmet = await self.core.store.unmet([task.id for task in pending])
        busy = await self._busy()
        paused = "paused" in await self.core.store.settings()
        agents = (await self._crew()).seats if any(task.assignee for task in pending) else ()
        spent_up = await spending.spent_up(self.core)
        resting = await self._resting(pending)
        no_room = await self._no_room(pending, [it for it in busy if it.state is State.RUNNING])
        full = {name: Hold(why=Why.MACHINE, text=text) for name, text in no_room.items()}
        free = Hold(why=Why.SEAT, text="waits for a free agent")
        return {
            task.id: scheduling.hold(
                task,
                now=now,
                busy=busy,
                unmet=unmet.get(task.id, ()),
                fleet_paused=paused,
                resting=resting.get(task.id, ""),
                agents=agents,
                spent_up=spent_up.get(task.repo, ""),
            )
            or full.get(task.id, free)
            for task in pending
        }

    async def _busy(self) -> Sequence[Task]:
        """The tasks whose scopes others must avoid: running ones and those about to land."""
        found = await self.core.store.tasks(TaskQuery(states=[State.RUNNING, State.REVIEW]))
        return [task for task in found if task.state is State.RUNNING or task.approved]

    async def _task(
        self, draft: Draft, task_id: TaskId, named: Mapping[str, TaskId], now: datetime
    ) -> Task:
        drafting.refuse_unusable(draft)
        needs = [await self._need(need, named) for need in draft.needs]
        its = {"needs": each_once(needs), "repo": await self._repo(draft.repo)}
        return Task(id=task_id, created_at=now, updated_at=now, **(_said(draft) | its))

    async def _placed(self, draft: Draft) -> Draft:
        """The draft in the team of its swarm; not everybody may give it a handle."""
        if draft.handle:
            await self.core.permit(Right.SPAWN)
        if not draft.swarm:
            return draft
        return draft.evolve(team=(await open_swarm(self.core, draft.swarm)).team)

    async def _need(self, need: str, named: Mapping[str, TaskId]) -> TaskId:
        return named.get(need) or (await self.core.get(need)).id

    async def _set_paused(self, ref: str | None, verb: Verb) -> Task | None:
        paused = verb is Verb.PAUSE
        past = "paused" if paused else "resumed"
        if ref is None:
            now = await self.core.store.now()
            value = now.isoformat() if paused else None
            await self.core.write(
                Write(settings={"paused": value}, events=[event(f"fleet.{past}", now)])
            )
            return None

        async def step(task: Task) -> Write:
            now = await self.core.store.now()
            held = move(task, verb, paused=paused, updated_at=now)
            return Write(tasks=[held], events=[event(f"task.{past}", now, task=task)])

        return await self.core.change(ref, step)


def retried(task: Task, now: datetime) -> Task:
    """The task as it is retried: with all its attempts available."""
    fresh = {"attempts": 0, "not_before": None, "paused": False, "cancelled_by": None}
    why = task.note if task.state is State.FAILED else ""  # its agent should know what went wrong
    return move(accounts.own_again(task), Verb.RETRY, **fresh, note=why, updated_at=now)


def new_id() -> TaskId:
    """Eight characters that are easy to read aloud; a letter first, so it is never a number."""
    import secrets  # imported here, because it is slow and only adding needs it

    rest = (secrets.choice(ID_CHARACTERS) for _ in range(7))
    return TaskId(secrets.choice(LETTERS) + "".join(rest))


def _names(drafts: Sequence[Draft]) -> dict[str, TaskId]:
    named: dict[str, TaskId] = {}
    for draft in drafts:
        if draft.name in named:
            raise Duplicate(f"two tasks are named {draft.name}", hint="give each its own name")
        if draft.name:
            named[draft.name] = new_id()
    return named


def _said(brief: Brief) -> dict[str, Any]:
    """What was specified for a task, field by field."""
    return {name: getattr(brief, name) for name in Brief.__struct_fields__}
