"""The store as a team sees it, which no verb has to think of.

Every verb reads and writes through it when a member of a team asks, or the agent of a run.
"""

from collections.abc import AsyncIterator, Sequence, Set
from datetime import datetime, timedelta

from codefleet.domain.access import Holder, Right, allowed
from codefleet.domain.errors import Forbidden
from codefleet.domain.events import ALERTS, MEMORIES, OUTPUT
from codefleet.domain.lifecycle import Claim, Seat
from codefleet.domain.model import Event
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import Role
from codefleet.fleet import team_writes
from codefleet.fleet.team_readings import TeamReadings
from codefleet.ports import Store, Write

NEEDED = {Right.READ_OUTPUT: OUTPUT, Right.LISTEN: MEMORIES, Right.READ_STATUS: ALERTS}
"""Kinds of events that are in the log only for those who have a right."""


def member_store(whole: Store, member: Holder) -> "TeamStore":
    """The store as a member of a team sees it."""

    async def team() -> str:
        return member.team

    return TeamStore(whole, team, _hidden_from(member.role))


def _hidden_from(role: Role) -> Set[str]:
    lacking = [kinds for right, kinds in NEEDED.items() if role not in allowed(right).roles]
    return frozenset().union(*lacking)


class TeamStore(TeamReadings):
    """One team's part of a store. Implements `codefleet.ports.Store`."""

    async def write(self, step: Write) -> Sequence[Event]:
        await team_writes.refuse_foreign(self._whole, await self.team(), step)
        return await self._whole.write(step)

    async def claim(
        self, seats: Sequence[Seat], want: ClaimFilter, *, lease: timedelta
    ) -> Sequence[Claim]:
        raise _of_the_fleet()

    async def now(self) -> datetime:
        return await self._whole.now()

    async def steady(self) -> datetime:
        return await self._whole.steady()

    async def next_start(self) -> datetime | None:
        return await self._whole.next_start()

    async def forget_events(self, events: Sequence[Event]) -> int:
        raise _of_the_fleet()

    async def last_seq(self) -> int:
        return await self._whole.last_seq()

    async def changed(self, after: int, within: float) -> bool:
        return await self._whole.changed(after, within)

    def export(self, *, moving: bool = False) -> AsyncIterator[tuple[str, str]]:
        raise _of_the_fleet()

    async def load(self, rows: Sequence[tuple[str, str]]) -> None:
        raise _of_the_fleet()

    async def erase(self, event: Event) -> None:
        raise _of_the_fleet()

    async def about(self) -> str:
        return await self._whole.about()

    async def close(self) -> None:
        await self._whole.close()


def _of_the_fleet() -> Forbidden:
    return Forbidden("this concerns the whole fleet", hint="only the fleet's owner may")
