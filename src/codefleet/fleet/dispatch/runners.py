"""Runners: join with seats, send heartbeats, leave; and what they report about their machine."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice

from codefleet.domain import access
from codefleet.domain.access import Right, RunnerOn
from codefleet.domain.errors import Stale
from codefleet.domain.events import event
from codefleet.domain.model import Away, Runner, RunnerId
from codefleet.fleet import Fleet
from codefleet.fleet.agents import live_runners
from codefleet.fleet.core import TRIES
from codefleet.fleet.dispatch.part import DispatchPart
from codefleet.fleet.export import refuse_while_alive
from codefleet.ports import Write


class Runners(DispatchPart):
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
        await self.core.permit(Right.RUN_AGENTS)
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
            seen_at=await self.core.store.steady(),
        )
        await self.core.write(Write(records=[runner]))
        adopted = tuple(dict.fromkeys(keep))
        runner = await self.reseat(runner, adopted, max(seats, len(adopted)))
        with_whom = ", ".join(runner.seats) or "no agent until there is work"
        told = event("runner.started", await self.core.store.now(), f"{host} with {with_whom}")
        await self.core.write(Write(events=[told]))
        return runner

    async def heartbeat(self, runner: Runner) -> Runner:
        """Record that the runner is alive, even if it was considered dead and removed.

        The stored version may be ahead of it, if the store went away before it could answer.
        """
        version = runner.version + 1
        for _ in range(TRIES):
            alive = runner.evolve(seen_at=await self.core.store.steady(), version=version)
            try:
                await self.core.write(Write(records=[alive]))
            except Stale:
                known = await self.core.store.records(Runner, ids=[runner.id])
                version = max((it.version for it in known), default=-1) + 1
                continue
            return alive
        raise Stale(f"the runner {runner.id} keeps changing", hint="is it running twice?")

    async def still_away(self, runner: Runner, away: Mapping[str, str]) -> tuple[Away, ...]:
        """The remotes that a runner cannot reach now, each since it was first reported."""
        known = {each.repo: each for each in runner.away}
        now = await self.core.store.now()
        return tuple(
            known.get(repo) or Away(repo=repo, why=why, since=now) for repo, why in away.items()
        )

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
            runner = await self.heartbeat(runner.evolve(seats=names))
            new = {*names} - {*keep}
            rivals = [it.id for it in await self._others(runner) if new.intersection(it.seats)]
            if not rivals:
                break
        return runner

    async def leave(self, runner: Runner) -> None:
        """Remove a runner and its seats."""
        now = await self.core.store.now()
        await self.core.write(Write(events=[event("runner.stopped", now, runner.host)]))
        await self.core.write(Write(removed=[runner]))

    async def remove_silent_runner(self, runner: Runner) -> None:
        """Remove a runner that has been silent for long. If it comes back, it joins anew."""
        now = await self.core.store.now()
        seen = now - (await self.core.store.steady() - runner.seen_at)
        told = event("runner.stopped", now, f"{runner.host}, not seen since {seen:%F %T}")
        try:
            counted = runner.evolve(version=runner.version + 1)  # so that only one reports it
            await self.core.write(Write(records=[counted], events=[told]))
        except Stale:
            return  # it is back, or someone else was first
        await self.core.write(Write(removed=[runner]))

    async def remove_dead_runner(self, runner: Runner) -> None:
        """Remove a runner of this machine that ended without leaving."""
        await self.core.write(Write(removed=[runner]))

    async def refuse_while_alive(self, dead: Collection[str]) -> None:
        """Refuse while there is any runner except these, which the caller knows to be dead."""
        await refuse_while_alive(self.core, dead)

    async def _others(self, runner: Runner) -> Sequence[Runner]:
        return [it for it in await live_runners(self.core) if it.id != runner.id]

    async def report_unreachable(self, why: str) -> None:
        """Report that this machine cannot reach a repo, and takes none of its tasks."""
        told = event("repo.away", await self.core.store.now(), f"{self.core.host}: {why}")
        await self.core.write(Write(events=[told]))

    async def settings_changed(self, refused: str = "") -> None:
        """Record that a runner loaded new settings, or why it `refused` them."""
        now = await self.core.store.now()
        told = event("config.refused", now, refused) if refused else event("config.changed", now)
        await self.core.write(Write(events=[told]))


def as_runner(fleet: Fleet) -> Fleet:
    """The same fleet for a runner on this machine."""
    access.refuse(fleet.actor, Right.RUN_AGENTS)
    return fleet.acting_as(RunnerOn(host=fleet.host))


def hiding(fleet: Fleet, secrets: Iterable[str]) -> Fleet:
    """The same fleet for a run whose agent sees these values: it stores none of them."""
    return Fleet(fleet.core.hiding(secrets))


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
