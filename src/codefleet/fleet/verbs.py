"""What every verb can rely on, and what each file of verbs builds on."""

from datetime import datetime
from pathlib import Path
from typing import Self

from codefleet.config import Config
from codefleet.domain.access import Actor, Right
from codefleet.domain.model import Run, Task
from codefleet.fleet.core import Core


class Verbs:
    """One fleet, for one actor."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def acting_as(self, actor: Actor) -> Self:
        """The same fleet for another actor; an agent or a member can only be itself."""
        return type(self)(self.core.acting_as(actor))

    @property
    def actor(self) -> Actor:
        """Who asks: the local human, the owner, a member of a team, an agent, or a runner."""
        return self.core.actor

    @property
    def home(self) -> Path:
        """The folder with the fleet's settings, keys and files of runs."""
        return self.core.home

    @property
    def config(self) -> Config:
        """The settings in force, for every actor of this process."""
        return self.core.config

    @config.setter
    def config(self, new: Config) -> None:
        self.core.config = new

    @property
    def host(self) -> str:
        """This machine's name in the fleet."""
        return self.core.host

    async def now(self) -> datetime:
        """The time of day: it dates events, and decides when a wait is over."""
        return await self.core.store.now()

    async def get(self, ref: str) -> Task:
        """The task with this id, or the only one whose id begins with it."""
        return await self.core.get(ref)

    async def permit(self, right: Right, *tasks: Task) -> None:
        """Raise `Forbidden` if the actor may not do this, or not to these tasks."""
        await self.core.permit(right, *tasks)

    async def asking(self) -> Run | None:
        """The live run whose agent asks, None for other actors; `Refused` once that run is over."""
        return await self.core.asking()
