"""Agents: the seats of all runners, and what each is doing, derived from heartbeats and runs."""

from collections.abc import Sequence
from datetime import datetime

from codefleet.domain import access
from codefleet.domain.access import Right
from codefleet.domain.model import Away, Run, Runner
from codefleet.domain.noun import Noun
from codefleet.domain.views import Agent
from codefleet.fleet.core import Core
from codefleet.fleet.verbs import Verbs


class Crew(Noun):
    """Every seat at a moment, and the machines that stand by without one."""

    at: datetime
    seats: Sequence[Agent]
    standing_by: Sequence[str]


class Agents(Verbs):
    async def agents(self) -> Sequence[Agent]:
        """Every agent, a named seat of a runner, and what it does; by machine and name."""
        return (await self.crew()).seats

    async def crew(self) -> Crew:
        """All agents, and the machines whose runner has none now, because nothing is ready."""
        access.refuse(self.core.actor, Right.READ_STATUS)
        return await self._crew()

    async def _crew(self) -> Crew:
        now, steady = await self.core.store.now(), await self.core.store.steady()
        live = {(run.runner, run.agent): run for run in await self.core.store.runs(live=True)}
        runners = await self.core.store.records(Runner)
        silent = {it.id: steady - it.seen_at for it in runners}
        offline = {name for name, span in silent.items() if span > self.core.lease}
        seats = [
            _agent(
                name,
                runner,
                live.get((runner.id, name)),
                offline=runner.id in offline,
                seen_at=now - silent[runner.id],
            )
            for runner in runners
            for name in runner.seats
        ]
        idle = {it.host for it in runners if not it.seats and it.id not in offline}
        return Crew(
            at=now,
            seats=sorted(seats, key=lambda it: (it.host, len(it.name), it.name)),
            standing_by=sorted(idle),
        )


async def live_runners(core: Core) -> Sequence[Runner]:
    """The runners with a heartbeat within their lease, with or without seats."""
    now = await core.store.steady()
    return [it for it in await core.store.records(Runner) if now - it.seen_at <= core.lease]


def unreachable(runners: Sequence[Runner]) -> Sequence[Away]:
    """The remotes that none of these runners can reach, since when, and git's error."""
    known = {each.repo: each for runner in runners for each in runner.away}
    return [
        each
        for repo, each in known.items()
        if all(repo in {it.repo for it in runner.away} for runner in runners)
    ]


def _agent(
    name: str, runner: Runner, run: Run | None, *, offline: bool, seen_at: datetime
) -> Agent:
    return Agent(
        name=name,
        runner=runner.id,
        host=runner.host,
        state="offline" if offline else "working" if run else "idle",
        task=run.task if run else None,
        run=run.id if run else None,
        coder=run.coder if run else runner.coder,
        since=run.started_at if run else None,
        load=runner.load,
        memory_free_mb=runner.memory_free_mb,
        seen_at=seen_at,
    )
