"""The runner: fills its seats from the queue, obeys humans, lands work, adopts orphans."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from codefleet.domain.errors import FleetError, Stale, StoreGone, StoreTrouble
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Run, Runner, Task
from codefleet.domain.scheduling import Want
from codefleet.domain.words import State
from codefleet.fleet.agents import seat_name
from codefleet.ports import TaskQuery
from codefleet.runner import departed
from codefleet.runner.agents.permission import deny_unanswered
from codefleet.runner.attempt import Attempt
from codefleet.runner.bounds import limits, rests
from codefleet.runner.bounds.admission import Admission
from codefleet.runner.branch_watch import restore_deleted
from codefleet.runner.collector import trim
from codefleet.runner.crash import record
from codefleet.runner.desk import Desk
from codefleet.runner.homecoming import come_home
from codefleet.runner.landing import Lanes
from codefleet.runner.process import Process, machine
from codefleet.runner.radar import patrol
from codefleet.runner.verdict import Cause
from codefleet.runner.waiting import Waiting
from codefleet.runner.workload import Workload

STORE_PAUSE_S = 1.0


class Loop:
    def __init__(
        self,
        desk: Desk,
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
        self.desk, self.fleet, self._workload = desk, desk.fleet, Workload(desk, workflow)
        self._wanted, self._least, self.coder, self.until_idle = agents, least, coder, until_idle
        self._idle_s, self._idle_since = idle_s, time.monotonic()
        self.host = desk.fleet.host
        self.me: Runner | None = None
        self._attempts: dict[str, Attempt] = {}
        self._driving: dict[str, asyncio.Task[None]] = {}
        self._waiting = Waiting(desk.fleet)
        self._stopping = False
        self._admission = Admission(desk.fleet)
        self._waits = ""
        self._one_at_a_time = asyncio.Lock()
        self.tell: Callable[[str], None] = lambda _: None  # for whoever watches, if anybody
        self._trouble = ""
        self._is_abandoned = False

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
        await self._waiting.begin()
        with suppress(FleetError):  # the next runner can do it as well
            await come_home(self.desk)
        self.me = await self._join()
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

    def _abandon(self) -> None:
        """Leave everything as it is: the agents keep working under their keepers."""
        self._is_abandoned = True
        self.lanes.give_up()
        for driving in self._driving.values():
            driving.cancel()

    def _report(self, trouble: StoreTrouble) -> None:
        """Log every error, but report the same one only once: it recurs every second."""
        record(self.desk.places.crash_log(), "the runner", trouble)
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
        await self.desk.refresh()
        await self._seat()
        await self._heed()
        await deny_unanswered(self.desk)
        await self._adopt()
        await self.lanes.turn(await departed.lane_holders(self.fleet))
        await self._fill()
        assert self.me
        if {*self.desk.roads.away()} != {each.repo for each in self.me.away}:
            await self._show_life()

    async def _seat(self) -> None:
        """Adjust the number of seats; a seat that is removed finishes its run first."""
        assert self.me
        busy = [*self._attempts]
        idle = [seat for seat in self.me.seats if seat not in busy]
        wanted, called = await self._seats_wanted()
        if called or len(self.me.seats) != max(wanted, len(busy)):
            keep = [*busy, *idle][: max(len(busy), wanted - len(called))]
            async with self._one_at_a_time:
                self.me = await self.fleet.reseat(self.me, keep, wanted, called)

    async def _seats_wanted(self) -> tuple[int, Sequence[str]]:
        """The number of seats (fixed, or one for each task that is running or ready), and the names
        of agents that tasks are assigned to."""
        if self._least is None:
            return self.agents, ()
        ready = await self.fleet.list(TaskQuery(ready=True, limit=self.agents))
        now = await self.fleet.steady()
        lost = sum(run.lease_until <= now for run in await self.fleet.live_runs())
        many = len(self._attempts) + len(ready) + lost
        return max(self._least, min(self.agents, many)), await self._called(ready)

    async def _called(self, ready: Sequence[Task]) -> Sequence[str]:
        """The agents that tasks are assigned to, that no runner has and that we could seat."""
        ours = [seat_name(number) for number in range(1, self.agents + 1)]
        called = {task.assignee for task in ready if task.assignee in ours}
        if called:
            called -= {it.name for it in await self.fleet.agents() if it.state != "offline"}
        return [name for name in ours if name in called][: self.agents - len(self._attempts)]

    async def _fill(self) -> None:
        """Give every free seat the most urgent task that may start."""
        assert self.me
        await self.fleet.warn_of_the_day()
        free = [name for name in self.me.seats if name not in self._attempts][: self._room()]
        free = free[: await self._admitted(len(free))]
        repos = await self._open_repos()
        if free and repos is not None and not self._stopping:
            seats = [Seat(name, self.me.id, self.host, self.default) for name in free]
            resting = await self.fleet.rests()
            await rests.fail_over(self.desk, self.default, resting)
            want = Want(
                coders=(self.coder,) if self.coder else (),
                repos=repos,
                tasks=await self._workload.tasks(),
                resting=await rests.skipped(self.desk, self.default, resting),
            )
            for claim in await self.fleet.claim(seats, want):
                await self._drive(claim.task, claim.run)

    async def _open_repos(self) -> tuple[str, ...] | None:
        """The repos that are available and have daily budget left.

        Empty means all, None means none.
        """
        repos = await self.fleet.repos()
        self.desk.open_roads(repos, self._waiting.wake)
        lost = await self.desk.lost_ground(repos)
        for trouble in self.desk.roads.news():
            await self.fleet.miss(trouble)
        away = await self.desk.out_of_reach()
        await self.desk.look_at_trunks([repo for repo in repos if repo.name not in lost | away])
        closed = {*await self.fleet.spent_up(), *away, *lost, *await self.desk.tell_unusable(repos)}
        if not closed:
            return ()
        return tuple(repo.name for repo in repos if repo.name not in closed) or None

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
            away = await self.fleet.still_away(self.me, self.desk.roads.away())
            told = {"waits": self._waits, "away": away}
            self.me = await self.fleet.beat(self.me.evolve(**told, **_strain()))

    def _room(self) -> int:
        return max(0, self.agents - len(self._attempts))

    async def _drive(self, task: Task, run: Run) -> None:
        try:
            attempt = Attempt(self.desk, task, run, await self.desk.repo(task.repo))
        except FleetError as bad:  # its settings became invalid after the claim
            await self.fleet.release(run, bad.problem)
            return
        driving = asyncio.create_task(attempt.drive(), name=run.id)
        self._attempts[run.agent] = attempt
        self._driving[run.agent] = driving
        driving.add_done_callback(lambda done: self._ended(run.agent, done))

    def _ended(self, agent: str, driving: asyncio.Task[None]) -> None:
        if not driving.cancelled() and (trouble := driving.exception()):  # its lease will expire
            record(self.desk.places.crash_log(), f"the run {driving.get_name()}", trouble)
        self._attempts.pop(agent, None)
        self._driving.pop(agent, None)
        self._waiting.wake()

    async def _heed(self) -> None:
        """Stop agents whose tasks were cancelled or paused, and announce new messages."""
        held = {attempt.task.id: attempt for attempt in self._attempts.values()}
        if not held:
            return
        for task in await self.fleet.list(TaskQuery(ids=list(held))):
            attempt = held[task.id]
            if task.fence != attempt.run.fence and task.state is State.CANCELLED:
                attempt.stop(Cause.CANCELLED, "the task was cancelled")
            elif task.paused and task.fence == attempt.run.fence:
                attempt.stop(Cause.PAUSED, "the task was paused")
        if await self.fleet.unread():
            for attempt in held.values():
                attempt.bring_mail()

    async def _join(self) -> Runner:
        await departed.refuse_namesake(self.fleet)
        me = Process.find(os.getpid())
        assert me
        orphans = await self._workload.orphans()
        return await self.fleet.join(
            host=self.host,
            machine=machine(),
            pid=me.pid,
            pid_started=me.started,
            seats=self.agents if self._least is None else self._least,
            coder=self.coder,
            workflow=self._workload.workflow,
            **_strain(),
            keep=[run.agent for run in orphans],
        )

    async def _adopt(self) -> None:
        """Take over the agents of dead runners on this machine."""
        for run in await self._workload.orphans():
            if run.agent in self._attempts:
                continue
            try:
                await self._take_over(run)
            except Stale:
                continue  # another runner was faster
        if self._workload.workflow:
            return  # whoever adopts the rest needs these records
        for runner in await departed.here(self.fleet):
            await self.fleet.forget_runner(runner)
        for runner in await departed.long_gone(self.fleet):
            await self.fleet.strike_off(runner)

    async def _take_over(self, run: Run) -> None:
        assert self.me
        task = await self.fleet.get(run.task)
        if task.state is State.RUNNING and task.fence == run.fence:
            run = await self.fleet.adopt(run, self.me.id)
            await self._drive(task.evolve(fence=run.fence), run)
            return
        await self._drive(task, run)
        self._attempts[run.agent].stop(Cause.LOST, "the task continued without it")

    async def _patience(self) -> float:
        return await self._waiting.patience(
            lands=self.lanes.waits, lacks_room=bool(self._waits), has_seats=bool(self._room())
        )

    async def _was_idle_long_enough(self) -> bool:
        now = time.monotonic()
        if await self._waiting.has_news():  # it arrived after the seats were filled: look again
            self._waiting.wake()
            return False
        if not await self.is_idle():
            self._idle_since = now
            return False
        return now - self._idle_since >= self._idle_s

    async def is_idle(self) -> bool:
        """Is there nothing left to do without a human?"""
        return not self._attempts and await self._workload.is_over(self.default)

    async def _beat(self) -> None:
        assert self.me
        while True:
            await asyncio.sleep(self.fleet.lease.total_seconds() / 3)
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
                await patrol(self.fleet, [attempt.run for attempt in self._attempts.values()])
                await restore_deleted(self.desk)

    async def _leave(self, beside: Sequence[asyncio.Task[None]]) -> None:
        assert self.me
        if not self._is_abandoned:
            self.stop()
        await asyncio.gather(*self._driving.values(), return_exceptions=True)
        if not self._is_abandoned:
            await self.lanes.finish()
        await self.desk.roads.leave()
        with suppress(FleetError):  # a missing repository must not prevent the exit
            await trim(self.desk)
        for work in beside:
            work.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        if not self._is_abandoned:
            await self.fleet.leave(self.me)


def _strain() -> dict[str, Any]:
    """The load of this machine, as shown to everybody."""
    return {"load": limits.load(), "memory_free_mb": int(limits.memory_left()) >> 20}
