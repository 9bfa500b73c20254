"""Whom an actor speaks to, and the handle that it speaks under.

The store hides other teams. The agent of a task without a team speaks only to others without one:
handles are unique only in a team.
"""

import re
from typing import NamedTuple, Protocol, TypeVar

from codefleet.domain.access import PLANNERS, Actor, AgentOf, Holder
from codefleet.domain.errors import Forbidden, Invalid, NotFound
from codefleet.domain.noun import NAME_PATTERN
from codefleet.fleet import task_teams
from codefleet.fleet.core import Core

HUMAN_HANDLE = "human"
"""The sender of what the local human says, who has no handle of their own."""


class Teamed(Protocol):
    """A noun that belongs to a team, or to none."""

    @property
    def team(self) -> str | None: ...


T = TypeVar("T", bound=Teamed)


class Viewer(NamedTuple):
    """The actor's team; one who `sees_all` has none, and sees those of every team."""

    team: str | None = None
    sees_all: bool = False

    def sees(self, noun: Teamed) -> bool:
        return self.sees_all or noun.team == self.team


async def viewer(core: Core) -> Viewer:
    """What the actor sees."""
    run, team = await core.asking(), await core.own_team()
    return Viewer(team, sees_all=team is None and run is None)


async def refuse_strange(core: Core, team: str) -> None:
    """Refuse a team that does not exist, or that the actor does not speak to."""
    own = await viewer(core)
    if own.sees_all:
        await task_teams.team_named(core, team)
    elif team != own.team:
        hint = f"your team is {own.team}" if own.team else "you are in no team: leave it out"
        raise NotFound(f"no team {team[:80]}", hint=hint)


async def own_handle(core: Core) -> str:
    """The handle of the actor; that of an agent without one is the id of its task."""
    if run := await core.asking():
        task = await core.get(run.task)
        return task.handle or task.id
    return core.actor.handle if isinstance(core.actor, Holder) else HUMAN_HANDLE


async def speaker(core: Core, wanted: str | None) -> str:
    """The handle to speak under; only humans and those who plan may speak for somebody else."""
    own = await own_handle(core)
    if wanted is None or wanted == own:
        return own
    if not plans(core.actor):
        raise Forbidden(f"{own} may not speak for {wanted[:50]}", hint="leave out the sender")
    return handle(wanted)


def plans(actor: Actor) -> bool:
    """Is it a human, or a member who plans for others?"""
    if isinstance(actor, Holder):
        return actor.role in PLANNERS
    return not isinstance(actor, AgentOf)


def handle(given: str) -> str:
    """The same handle, refused if it cannot be one."""
    if not re.search(NAME_PATTERN, given):
        raise Invalid(
            f"{given[:80]!r} is not a handle", hint="use 1 to 50 letters, digits, `-` or `_`"
        )
    return given
