"""The runner: fills its seats from the queue, obeys humans, lands work, adopts orphans."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from codefleet.domain.errors import FleetError, StoreGone, StoreTrouble
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Run, Runner, Task
from codefleet.domain.scheduling import ClaimFilter
from codefleet.fleet.dispatch.runners import as_runner
from codefleet.runner import peers
from codefleet.runner.adoption import adopt_orphans, remove_dead_runners
from codefleet.runner.cancellation import stop_or_notify
from codefleet.runner.context import Context
from codefleet.runner.crash_log import record
from codefleet.runner.gc.collector import trim
from codefleet.runner.git.object_reader import readers_kept_open
from codefleet.runner.landing.lane import Lanes
from codefleet.runner.limits import rate_limits
from codefleet.runner.limits.admission import Admission
from codefleet.runner.radar import check_collisions
from codefleet.runner.registration import join, machine_load
from codefleet.runner.run.attempt import Attempt
from codefleet.runner.run.branch_watch import restore_deleted
from codefleet.runner.seats import SeatsWanted, seats_wanted
from codefleet.runner.stale_agents import end_stale_agents
from codefleet.runner.startable_repos import startable_repos
from codefleet.runner.stop import Cause
from codefleet.runner.unanswered import deny_unanswered
from codefleet.runner.waiting import Waiting
from codefleet.runner.workload import Workload

STORE_PAUSE_S = 1.0


class Loop:
    def __init__(
        self,
        context: Context,
        *,
        agents: int | None = None,
        least: int | None = None,
        coder: str | None = None,
        workflow: str | None = None,
        until_idle: bool = False,
        idle_s: float = 0.0,
    ) -> None:
        """Without `agents`, the settings determine the number of seats, even while it runs.

        With `least`, the number of seats follows the queue, between `least` and `agents`.
        With a `workflow`, it works only on that one and ignores the rest of the queue.
        With `until_idle`, it ends after `idle_s` seconds with nothing to do.
        """
        context.fleet = as_runner(context.fleet)
        self.context, self.fleet, self.dispatch = context, context.fleet, context.dispatch
        self._workload = Workload(context, workflow)
        self._wanted, self._least, self.coder, self.until_idle = agents, least, coder, until_idle
        self._idle_s, self._idle_since, self._was_idle = idle_s, time.monotonic(), False
        self.host = context.fleet.host
        self.me: Runner | None = None
        self._attempts: dict[str, Attempt] = {}
        self._driving: dict[str, asyncio.Task[None]] = {}
        self._waiting = Waiting(context.fleet)
        self._stopping = False
        self._admission = Admission(context.fleet)
        self._waits = ""
        self._one_at_a_time = asyncio.Lock()
        self.tell: Callable[[str], None] = lambda _: None  # for whoever watches, if anybody
        self._trouble, self._is_abandoned = "", False

    def stop(self, *, firm: bool = False) -> None:
        """Take no more work and stop the agents: gently or, with `firm`, at once."""
        self._stopping = True
        for attempt in self._attempts.values():
            attempt.stop(Cause.SHUTDOWN, "the runner was stopped")
            if firm:
                attempt.kill()
        if firm and self.me:
            self.lanes.give_up()
        self._waiting.wake()

    async def run(self) -> None:
        """Work until stopped or, with `until_idle`, until there is nothing left to do."""
        async with readers_kept_open():
            await self._run()

    async def _run(self) -> None:
        await self._waiting.begin()
        with suppress(FleetError):  # the next runner can do it as well
            await end_stale_agents(self.context)
        seats = self.agents if self._least is None else self._least
        self.me = await join(self._workload, seats, self.coder)
        self.lanes = Lanes(self._workload, self.me.id, self._waiting.wake)
        beside = [asyncio.create_task(work) for work in (self._beat(), self._patrol())]
        try:
            while not self._stopping:
                try:
                    await self._turn()
                    if self.until_idle and await self._was_idle_long_enough():
                        break
                    await self._waiting.for_news(self._patience)
                except StoreGone:
                    self._abandon()
                    raise
                except StoreTrouble as trouble:  # agents keep working; the store may come back
                    self._report(trouble)
                    await asyncio.sleep(STORE_PAUSE_S)
        finally:
            await self._leave(beside)

    def leave(self) -> None:
        """End at once and leave the agents at work: the next runner adopts them."""
        self._stopping = True
        if self.me:
            self._abandon()
        self._waiting.wake()

    def _abandon(self) -> None:
        """Leave everything as it is: the agents keep working under their keepers."""
        self._is_abandoned = True
        self.lanes.give_up()
        for driving in self._driving.values():
            driving.cancel()

    def _report(self, trouble: StoreTrouble) -> None:
        """Log every error, but report the same one only once: it recurs every second."""
        record(self.context.paths.crash_log(), "the runner", trouble)
        if trouble.problem != self._trouble:
            self._trouble = trouble.problem
            with suppress(OSError):  # the reader may be gone
                self.tell(f"{trouble.problem}; the runner keeps retrying ({trouble.hint})")

    @property
    def agents(self) -> int:
        return self._wanted or self.fleet.config.agents

    @property
    def default(self) -> str:
        """The coder of tasks that name none."""
        return self.coder or self.fleet.config.coder

    async def _turn(self) -> None:
        await self.context.refresh()
        await self._seat()
        await stop_or_notify(self.fleet, self._attempts.values())
        await deny_unanswered(self.context)
        await self._adopt()
        await self.lanes.turn(await peers.lane_holders(self.fleet))
        await self._fill()
        assert self.me
        if {*self.context.reachability.away()} != {each.repo for each in self.me.away}:
            await self._show_life()

    async def _seat(self) -> None:
        """Adjust the number of seats; a seat that is removed finishes its run first."""
        assert self.me
        busy = [*self._attempts]
        idle = [seat for seat in self.me.seats if seat not in busy]
        if self._least is None:
            wanted, called = SeatsWanted(self.agents)
        else:
            wanted, called = await seats_wanted(self.fleet, self._least, self.agents, len(busy))
        if called or len(self.me.seats) != max(wanted, len(busy)):
            keep = [*busy, *idle][: max(len(busy), wanted - len(called))]
            async with self._one_at_a_time:
                self.me = await self.dispatch.reseat(self.me, keep, wanted, called)

    async def _fill(self) -> None:
        """Give every free seat the most urgent task that may start."""
        assert self.me
        await self.dispatch.warn_of_the_day()
        free = [name for name in self.me.seats if name not in self._attempts][: self._room()]
        free = free[: await self._admitted(len(free))]
        repos = await startable_repos(self.context, self._waiting.wake)
        if free and repos is not None and not self._stopping:
            seats = [Seat(name, self.me.id, self.host, self.default) for name in free]
            resting = await self.fleet.rests()
            await rate_limits.fail_over(self.context, self.default, resting)
            want = ClaimFilter(
                coders=(self.coder,) if self.coder else (),
                repos=repos,
                tasks=await self._workload.tasks(),
                resting=await rate_limits.pairs_to_skip(self.context, self.default, resting),
            )
            for claim in await self.dispatch.claim(seats, want):
                await self._drive(claim.task, claim.run)

    async def _admitted(self, free: int) -> int:
        """How many seats this machine has resources for; what it lacks is published."""
        if not free:
            return 0
        count, waits = await self._admission.seats(free, self._attempts.values(), self.default)
        waited, self._waits = self._waits, waits
        if bool(waits) != bool(waited):
            await self._show_life()
        return count

    async def _show_life(self) -> None:
        async with self._one_at_a_time:
            assert self.me
            away = await self.dispatch.still_away(self.me, self.context.reachability.away())
            told = {"waits": self._waits, "away": away}
            self.me = await self.dispatch.heartbeat(self.me.evolve(**told, **machine_load()))

    def _room(self) -> int:
        return max(0, self.agents - len(self._attempts))

    async def _drive(self, task: Task, run: Run) -> Attempt | None:
        try:
            attempt = Attempt(self.context, task, run, await self.context.repo(task.repo))
        except FleetError as bad:  # its settings became invalid after the claim
            await self.dispatch.release(run, bad.problem)
            return None
        driving = asyncio.create_task(attempt.drive(), name=run.id)
        self._attempts[run.agent] = attempt
        self._driving[run.agent] = driving
        driving.add_done_callback(lambda done: self._ended(run.agent, done))
        return attempt

    def _ended(self, agent: str, driving: asyncio.Task[None]) -> None:
        if not driving.cancelled() and (trouble := driving.exception()):  # its lease will expire
            record(self.context.paths.crash_log(), f"the run {driving.get_name()}", trouble)
        self._attempts.pop(agent, None)
        self._driving.pop(agent, None)
        self._waiting.wake()

    async def _adopt(self) -> None:
        assert self.me
        await adopt_orphans(self._workload, self.me.id, self._attempts, self._drive)
        if not self._workload.workflow:  # whoever adopts the rest needs these records
            await remove_dead_runners(self.context)

    async def _patience(self) -> float:
        return await self._waiting.patience(
            lane_waits=self.lanes.waits, lacks_room=bool(self._waits), has_seats=bool(self._room())
        )

    async def _was_idle_long_enough(self) -> bool:
        now = time.monotonic()
        if await self._waiting.has_news():  # it arrived after the seats were filled: look again
            self._waiting.wake()
            return False
        was_idle, self._was_idle = self._was_idle, await self.is_idle()
        if not self._was_idle:
            self._idle_since = now
            return False
        if not was_idle:  # what became due after the seats were filled starts in the next turn
            self._waiting.wake()
            return False
        return now - self._idle_since >= self._idle_s

    async def is_idle(self) -> bool:
        """Is there nothing left to do without a human?"""
        return not self._attempts and await self._workload.nothing_left_to_do(self.default)

    async def _beat(self) -> None:
        assert self.me
        while True:
            await asyncio.sleep(self.dispatch.lease.total_seconds() / 3)
            try:
                await self._show_life()
                self._trouble = ""
            except StoreTrouble as trouble:
                self._report(trouble)

    async def _patrol(self) -> None:
        """Look for collisions between the agents at work."""
        while True:
            await asyncio.sleep(self.fleet.config.radar_s)
            for attempt in [*self._attempts.values()]:
                with suppress(FleetError):  # agents come and go meanwhile
                    await attempt.look_at_branch()
            with suppress(FleetError):
                await check_collisions(
                    self.fleet, [attempt.run for attempt in self._attempts.values()]
                )
                await restore_deleted(self.context)

    async def _leave(self, beside: Sequence[asyncio.Task[None]]) -> None:
        assert self.me
        if not self._is_abandoned:
            self.stop()
        await asyncio.gather(*self._driving.values(), return_exceptions=True)
        if not self._is_abandoned:
            await self.lanes.finish()
        await self.context.reachability.leave()
        with suppress(FleetError):  # a missing repository must not prevent the exit
            await trim(self.context)
        for work in beside:
            work.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        if not self._is_abandoned:
            await self.dispatch.leave(self.me)
