"""The team of a task: whose it is when it is added, and when it may change."""

from collections.abc import Sequence

from codefleet.domain import access
from codefleet.domain.access import Right
from codefleet.domain.errors import Invalid, NotFound, Refused
from codefleet.domain.model import Draft, Swarm, Task, TaskId, Team
from codefleet.domain.suggestion import did_you_mean
from codefleet.domain.words import State
from codefleet.fleet import lineage
from codefleet.fleet.core import Core
from codefleet.ports import TaskQuery

MOVABLE = (State.PENDING, State.FAILED)


async def with_team(core: Core, drafts: Sequence[Draft]) -> Sequence[Draft]:
    """The drafts of a team's member or agent, as its team's; others may name any team."""
    own = await core.own_team()
    named = {draft.team for draft in drafts} - {None, own}
    if own is None:
        if named:
            access.refuse(core.actor, Right.MOVE_TASK)
        return drafts
    if named:
        raise NotFound(f"no team {min(map(str, named))}", hint=f"your team is {own}")
    return [draft.evolve(team=own) for draft in drafts]


async def refuse_unfit(core: Core, tasks: Sequence[Task]) -> None:
    """Refuse an unknown team, a repo that the team may not use, and needs of anybody else's."""
    for name in {task.team for task in tasks if task.team is not None}:
        own = [task for task in tasks if task.team == name]
        team = await team_named(core, name)
        for task in own:
            if not team.may_use(task.repo):
                raise Refused(
                    f"the team {name} may not use {task.repo}",
                    hint=f"it may use {', '.join(team.repos)}",
                )
        await _refuse_foreign_needs(core, name, own, {task.id: task for task in tasks})


async def _refuse_move(core: Core, task: Task, team: str | None) -> None:
    """Refuse to give a task to another team, unless it is pending or failed and stands alone."""
    access.refuse(core.actor, Right.MOVE_TASK)
    if task.state not in MOVABLE:
        raise Refused(f"{task.id} is {task.state}", hint="only a task that waits can change teams")
    if task.parent or task.stage or len(await lineage.descendants(core.store, [task.id])) > 1:
        raise Refused(
            f"{task.id} belongs to a workflow or to tasks of agents, which stay in one team",
            hint="add it again for the other team, and cancel this one",
        )
    waiting = await core.store.needed_by(task.id)
    for each in await core.store.tasks(TaskQuery(ids=waiting)) if waiting else ():
        if each.team not in (None, team):
            raise Refused(
                f"{each.id} of the team {each.team} needs {task.id}", hint="drop that need first"
            )


async def refuse_change(core: Core, before: Task, after: Task) -> None:
    """Refuse an edit after which a task and its team would not fit."""
    if after.team != before.team:
        await _refuse_move(core, before, after.team)
    if (after.team, after.needs) != (before.team, before.needs):
        await refuse_unfit(core, [after])
    if (after.team, after.swarm) != (before.team, before.swarm):
        await _refuse_foreign_swarm(core, after)


async def _refuse_foreign_swarm(core: Core, task: Task) -> None:
    for swarm in await core.store.records(Swarm, ids=[task.swarm]) if task.swarm else ():
        if swarm.team != task.team:
            raise Refused(
                f"the swarm {swarm.id} is not of the team of {task.id}",
                hint="choose a swarm of its team, or take it out of its swarm",
            )


async def team_named(core: Core, name: str) -> Team:
    """The team with this name."""
    found = await core.store.records(Team, ids=[name])
    if not found:
        known = [team.name for team in await core.store.records(Team)]
        hint = did_you_mean(name[:80], known, "`fleet team list` shows every team")
        raise NotFound(f"no team {name[:80]}", hint=hint)
    return found[0]


async def _refuse_foreign_needs(
    core: Core, team: str, tasks: Sequence[Task], new: dict[TaskId, Task]
) -> None:
    needed = {TaskId(need) for task in tasks for need in task.needs}
    stored = sorted(needed - new.keys())
    found = await core.store.tasks(TaskQuery(ids=stored)) if stored else ()
    for need in (*found, *(new[name] for name in needed & new.keys())):
        if need.team != team:
            raise Invalid(
                f"a task of the team {team} cannot need {need.id}, which is not the team's",
                hint="add that task for the same team, or drop the need",
            )
