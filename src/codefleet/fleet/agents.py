"""Agents: the seats of all runners, and what each is doing, derived from heartbeats and runs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count, islice
from typing import NamedTuple

from codefleet.domain.errors import Stale
from codefleet.domain.events import event
from codefleet.domain.model import Away, Lane, Run, Runner, RunnerId
from codefleet.domain.views import Agent
from codefleet.fleet.core import TRIES, Core
from codefleet.ports import Write


class Crew(NamedTuple):
    """Every seat at a moment, and the machines that stand by without one."""

    at: datetime
    seats: Sequence[Agent]
    standing_by: Sequence[str]


class Agents(Core):
    async def join(
        self,
        *,
        host: str,
        machine: str = "",
        pid: int,
        pid_started: float,
        seats: int,
        coder: str | None,
        workflow: str | None = None,
        load: float = 0.0,
        memory_free_mb: int = 0,
        keep: Sequence[str] = (),
    ) -> Runner:
        """Add a runner with this many seats; `keep` are the names of agents that it adopts."""
        await self.permit("run agents")
        import secrets  # imported here, because it is slow and only runners need it

        runner = Runner(
            id=RunnerId(f"r-{secrets.token_hex(4)}"),
            host=host,
            machine=machine,
            pid=pid,
            pid_started=pid_started,
            seats=(),
            coder=coder,
            workflow=workflow,
            load=load,
            memory_free_mb=memory_free_mb,
            seen_at=await self.store.steady(),
        )
        await self.store.write(Write(runners=[runner]))
        adopted = tuple(dict.fromkeys(keep))
        runner = await self.reseat(runner, adopted, max(seats, len(adopted)))
        with_whom = ", ".join(runner.seats) or "no agent until there is work"
        told = event("runner.started", await self.store.now(), f"{host} with {with_whom}")
        await self.store.write(Write(events=[told]))
        return runner

    async def beat(self, runner: Runner) -> Runner:
        """Record that the runner is alive, even if it was considered dead and removed.

        The stored version may be ahead of it, if the store went away before it could answer.
        """
        version = runner.version + 1
        for _ in range(TRIES):
            alive = runner.evolve(seen_at=await self.store.steady(), version=version)
            try:
                await self.store.write(Write(runners=[alive]))
            except Stale:
                known = [it.version for it in await self.store.runners() if it.id == runner.id]
                version = max(known, default=-1) + 1
                continue
            return alive
        raise Stale(f"the runner {runner.id} keeps changing", hint="is it running twice?")

    async def still_away(self, runner: Runner, away: Mapping[str, str]) -> tuple[Away, ...]:
        """The remotes that a runner cannot reach now, each since it was first reported."""
        known = {each.repo: each for each in runner.away}
        now = await self.store.now()
        return tuple(
            known.get(repo) or Away(repo=repo, why=why, since=now) for repo, why in away.items()
        )

    async def away(self) -> Sequence[Away]:
        """The remotes that no live runner can reach, since when, and git's error."""
        runners = await self.runners()
        known = {each.repo: each for runner in runners for each in runner.away}
        return [
            each
            for repo, each in known.items()
            if all(repo in {it.repo for it in runner.away} for runner in runners)
        ]

    async def reseat(
        self, runner: Runner, keep: Sequence[str], seats: int, called: Sequence[str] = ()
    ) -> Runner:
        """Give a runner more seats or fewer, under names that no other live runner has; requested
        names come first.

        Others may choose at the same moment. A runner that then sees another with one of its new
        names gives them up, and all that do so share out the free names. One that has not given way
        by then was first, and its names are skipped.
        """
        rivals: Sequence[RunnerId] = ()
        for turn in range(TRIES):
            shares = turn % 2 == 1
            taken = [it for it in await self._others(runner) if not shares or it.id not in rivals]
            free = _free_names(keep, taken, called)
            if shares:
                free = islice(
                    free, sorted([runner.id, *rivals]).index(runner.id), None, len(rivals) + 1
                )
            names = (*keep, *islice(free, max(0, seats - len(keep))))
            runner = await self.beat(runner.evolve(seats=names))
            new = {*names} - {*keep}
            rivals = [it.id for it in await self._others(runner) if new.intersection(it.seats)]
            if not rivals:
                break
        return runner

    async def leave(self, runner: Runner) -> None:
        """Remove a runner and its seats."""
        now = await self.store.now()
        await self.store.write(Write(events=[event("runner.stopped", now, runner.host)]))
        await self.store.forget_runner(runner.id)

    async def strike_off(self, runner: Runner) -> None:
        """Remove a runner that has been silent for long. If it comes back, it joins anew."""
        now = await self.store.now()
        seen = now - (await self.store.steady() - runner.seen_at)
        told = event("runner.stopped", now, f"{runner.host}, not seen since {seen:%F %T}")
        try:
            counted = runner.evolve(version=runner.version + 1)  # so that only one reports it
            await self.store.write(Write(runners=[counted], events=[told]))
        except Stale:
            return  # it is back, or someone else was first
        await self.store.forget_runner(runner.id)

    async def forget_runner(self, runner: Runner) -> None:
        """Remove a runner of this machine that ended without leaving."""
        await self.store.forget_runner(runner.id)

    async def known_runners(self) -> Sequence[Runner]:
        """The runners that have joined and not left, alive or not."""
        return await self.store.runners()

    async def runners(self) -> Sequence[Runner]:
        """The runners with a heartbeat within their lease, with or without seats."""
        now = await self.store.steady()
        return [it for it in await self.store.runners() if now - it.seen_at <= self.lease]

    async def agents(self) -> Sequence[Agent]:
        """Every seat in the fleet, by machine and name."""
        now, steady = await self.store.now(), await self.store.steady()
        live = {(run.runner, run.agent): run for run in await self.store.runs(live=True)}
        seats = [
            _agent(
                name,
                runner,
                live.get((runner.id, name)),
                offline=steady - runner.seen_at > self.lease,
                seen_at=now - (steady - runner.seen_at),
            )
            for runner in await self.store.runners()
            for name in runner.seats
        ]
        return sorted(seats, key=lambda it: (it.host, len(it.name), it.name))

    async def crew(self) -> Crew:
        """Every seat, and the machines that have none now."""
        seats = await self.agents()
        return Crew(await self.store.now(), seats, await self.standing_by())

    async def standing_by(self) -> Sequence[str]:
        """The machines with a live runner that has no seat, because nothing is ready for it."""
        return sorted({runner.host for runner in await self.runners() if not runner.seats})

    async def take_lane(self, repo: str, holder: RunnerId, dead: Collection[str]) -> Lane | None:
        """Take the right to land on this repo's trunk; None if another live runner has it."""
        now = await self.store.steady()
        held = next((lane for lane in await self.store.lanes() if lane.repo == repo), None)
        if held and held.holder not in {holder, *dead} and held.lease_until > now:
            return None
        lane = Lane(
            repo=repo,
            holder=holder,
            fence=held.fence + 1 if held else 1,
            lease_until=now + self.lease,
            version=held.version + 1 if held else 0,
        )
        try:
            await self.store.write(Write(lanes=[lane]))
        except Stale:
            return None
        return lane

    async def keep_lane(self, lane: Lane) -> Lane:
        """Renew the lane's lease; Stale if someone else has it by now."""
        until = await self.store.steady() + self.lease
        kept: Lane = lane.evolve(lease_until=until, version=lane.version + 1)
        await self.store.write(Write(lanes=[kept]))
        return kept

    async def leave_lane(self, repo: str, holder: RunnerId) -> None:
        """Let someone else land at once instead of after the lease."""
        for lane in await self.store.lanes():
            if (lane.repo, lane.holder) == (repo, holder):
                left = lane.evolve(lease_until=await self.store.steady(), version=lane.version + 1)
                with suppress(Stale):  # someone else has it already
                    await self.store.write(Write(lanes=[left]))

    async def lane_holders(self) -> Collection[RunnerId]:
        """The runners that have a lane, or had it last."""
        return {lane.holder for lane in await self.store.lanes()}

    async def _others(self, runner: Runner) -> Sequence[Runner]:
        return [it for it in await self.runners() if it.id != runner.id]


def seat_name(number: int) -> str:
    """Seats are numbered across the whole fleet, from one."""
    return f"agent-{number}"


def _free_names(
    keep: Sequence[str], others: Sequence[Runner], called: Sequence[str]
) -> Iterator[str]:
    taken = {*keep, *(name for runner in others for name in runner.seats)}
    yield from (name for name in called if name not in taken)
    taken.update(called)
    yield from (name for number in count(1) if (name := seat_name(number)) not in taken)


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
