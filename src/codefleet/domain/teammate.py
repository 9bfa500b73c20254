"""Who is in a team: its members, and the agents that work for it under a handle."""

from collections.abc import Iterable

from codefleet.domain.noun import Instant, Noun
from codefleet.domain.team import Member, uid
from codefleet.domain.words import Role
from codefleet.domain.worker import Worker, WorkerState


class Teammate(Noun):
    """A member of a team, or a worker; with a `state` while an agent works under the handle."""

    handle: str
    team: str
    role: Role
    since: Instant
    state: WorkerState | None = None

    @property
    def uid(self) -> str:
        """The id that claude-fleet gives to the same handle of the same team."""
        return uid(self.team, self.handle)


def teammates(team: str, members: Iterable[Member], workers: Iterable[Worker]) -> list[Teammate]:
    """Everybody in a team, by handle; a worker under the handle of a member is that member."""
    at_work = {each.handle: each for each in workers if each.team == team}
    found = {
        each.handle: Teammate(
            handle=each.handle, team=team, role=Role.WORKER, since=each.spawned_at, state=each.state
        )
        for each in at_work.values()
    }
    for each in members:
        state = at_work[each.handle].state if each.handle in at_work else None
        found[each.handle] = Teammate(
            handle=each.handle, team=team, role=each.role, since=each.joined_at, state=state
        )
    return [found[handle] for handle in sorted(found)]
