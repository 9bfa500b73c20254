"""One run, from its worktree to its verdict. Every step can be repeated after a crash."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from codefleet.coders.options import laid_over
from codefleet.coders.registry import coder as coder_named
from codefleet.domain.accounts import account_of, sentence
from codefleet.domain.errors import FleetError, Stale, StoreGone
from codefleet.domain.events import event
from codefleet.domain.model import Evidence, Repo, Result, Run, Task, Usage
from codefleet.domain.result import corrected
from codefleet.domain.routing import choose, coder_for
from codefleet.domain.words import Landing, Reason
from codefleet.ports import Coder
from codefleet.runner import custody, evidence, staging, verdict
from codefleet.runner.aftermath import Aftermath
from codefleet.runner.agents import checkpoint, continuing
from codefleet.runner.agents.briefing import asked_before
from codefleet.runner.agents.conversation import Conversation
from codefleet.runner.agents.hearing import LONGEST_TEXT, Heard, hear_the_end
from codefleet.runner.agents.launch import Launch, silence_earlier
from codefleet.runner.agents.listening import Listener
from codefleet.runner.agents.notebook import Notebook
from codefleet.runner.blame import blame
from codefleet.runner.bounds.allowance import Allowance
from codefleet.runner.branch_watch import watch
from codefleet.runner.crash import record
from codefleet.runner.custody import Exit, Kept
from codefleet.runner.desk import Desk
from codefleet.runner.ending import write_down
from codefleet.runner.giving_up import GivenUp, unless
from codefleet.runner.hold import Hold, insist
from codefleet.runner.inspection import Inspection
from codefleet.runner.repos.leaks import leaked
from codefleet.runner.verdict import Cause, Delivered, Failed, Stop
from codefleet.runner.workplace import Workplace

STDERR_TAIL = 8000
NOTE_TAIL = 1000
LONGEST_START_S = 30.0
NEVER_STARTED = Exit(stopped=True)


class Attempt:
    def __init__(self, desk: Desk, task: Task, run: Run, repo: Repo) -> None:
        self.fleet, self.places, self.beat = desk.fleet, desk.places, desk.beat
        self.settings = desk.settings(repo)
        self.settings_now = lambda: desk.settings(repo)
        self._serves = desk.serves
        self.task = task
        self.repo = repo
        self.hold = Hold(desk.fleet, run, [*custody.secrets(self.settings)])
        self.place = Workplace(desk, repo)
        self.folder = desk.places.run(run)
        self.notebook = Notebook(desk.places, self.hold)
        self.kept: Kept | None = None
        self.stopping: Stop | None = None
        self._asked_to_stop = False
        self.heard = Heard()
        self.talk: Conversation | None = None
        self._since = time.monotonic()
        self.conflicts: Sequence[str] = ()
        self._given_up = asyncio.Event()

    @property
    def run(self) -> Run:
        return self.hold.run

    @property
    def is_starting(self) -> bool:
        """Has it printed nothing yet? A silent agent does not count as starting forever."""
        return not self.heard.began and time.monotonic() - self._since < LONGEST_START_S

    async def drive(self) -> None:
        """Do the whole run; every error is recorded in the store."""
        try:
            await self._drive_to_its_end()
        finally:
            self.place.let_go()

    async def _drive_to_its_end(self) -> None:
        try:
            async with self.hold.kept():
                await self._drive()
        except Stale:
            await self._wind_down("it no longer holds its task")
        except StoreGone:
            return  # the runner ends; the agent continues, and its keeper records how it ends
        except GivenUp:
            if not self._is_taken_away:
                return  # the runner exits at once, and the next one continues the run
            await self._wind_down(self.stopping.why if self.stopping else "")
        except Exception as trouble:
            if not isinstance(trouble, FleetError):
                self._record(trouble)
            await self._give_up(trouble)
        await self.place.finish(self.run)

    def stop(self, cause: Cause, why: str) -> None:
        """Ask the agent to stop; its work is kept."""
        if self.stopping is None or cause in (Cause.CANCELLED, Cause.LOST):
            self.stopping = Stop(cause, why)
        if self._is_taken_away:
            self._given_up.set()
        self._ask_to_stop()

    @property
    def _is_taken_away(self) -> bool:
        """Does the task no longer need this run?"""
        return self.stopping is not None and self.stopping.cause in (Cause.CANCELLED, Cause.LOST)

    def _ask_to_stop(self) -> None:
        """Ask only once: a keeper kills the agent at the second request."""
        if self.kept and not self._asked_to_stop:
            self._asked_to_stop = True
            self.kept.stop()

    def bring_mail(self) -> None:
        """There may be a message from a human for this agent."""
        if self.talk:
            self.talk.mail = True

    async def look_at_branch(self) -> None:
        """Keep the agent's commits so far, and restore its branch if somebody else moved it."""
        if self.kept and not self.run.evidence:
            await watch(self.hold)

    def kill(self) -> None:
        """Kill the agent, or what is run for it; its work is still kept."""
        self._given_up.set()
        if self.kept:
            self.kept.kill()

    async def _drive(self) -> None:
        self.kept = await custody.adopt(self.folder)
        if self.kept and not self.kept.keeper.is_alive:
            await asyncio.to_thread(custody.sweep, self.run.id)  # checks that outlived their runner
        decision = None if self.kept else await staging.decided(self.fleet, self.task, self.run)
        if decision:
            await self._without_agent(decision)
            return
        coder = await self._coder()
        earlier = await self._earlier()
        self.allowance = Allowance(self.hold, self.settings, self.task, _sum(earlier))
        if self.kept is None:
            if refused := await self._refusal():
                await self._end(refused)
                return
            await self._prepare()
            if self.stopping:
                await self._conclude(NEVER_STARTED, coder)
                return
            self.kept = await self._start(coder)
        if self.stopping:
            self._ask_to_stop()
        await self._conclude(await self._listen(self.kept, coder, earlier), coder)

    async def _coder(self) -> Coder:
        """The coder of this run, with the task's options applied."""
        if self.kept is None and (await self._goes_back() or self._is_unrouted):
            await self._route()
        coder = coder_named(self.run.coder)
        self._lay_over(coder.name)
        return coder

    @property
    def _is_unrouted(self) -> bool:
        """Are coder and model still to be chosen? A fallback that took over has them already."""
        return self.task.branch is None and self.task.fallback != ""

    async def _goes_back(self) -> bool:
        """Take the task back from its fallback if its own coder is no longer resting."""
        own = self.task.rerouted_from
        if own is None or not self._serves(own.coder):
            return False
        resting = {rest.account for rest in await self.fleet.rests()}
        if account_of(own.coder, self.settings.coders) in resting:
            return False
        self.task = await insist(lambda: self.fleet.go_back(self.task))
        return True

    async def _listen(self, kept: Kept, coder: Coder, earlier: Sequence[Run]) -> Exit:
        """Follow the agent to its end, and answer its requests meanwhile."""
        self.heard.resumed = session = continuing.session(earlier, coder, self.run.host)
        self.heard.before = _sum(run for run in earlier if session and session == run.session)
        self.talk = Conversation(self.hold, coder, kept, self.heard, self.settings_now, self.stop)
        listener = Listener(
            self.hold,
            coder,
            kept,
            self.settings,
            self.task,
            self.heard,
            self.talk,
            self.allowance,
            self.stop,
            self.beat,
        )
        return await listener.listen()

    async def _without_agent(self, decision: staging.Decision) -> None:
        """End a workflow stage that needs no agent: skipped, asked of a human, or settled."""
        match decision:
            case staging.Skipped(note):
                await self.hold.end(lambda run: self.fleet.skip(run, note))
            case staging.Settled(result, takes, lands) if takes or lands:
                await self._take_on(result, takes)
            case staging.Settled(result):
                await self.hold.note(result=result)
                await self.hold.end(lambda run: self.fleet.complete(run, result.summary))
            case _:
                await self._end(decision)

    async def _take_on(self, result: Result, commit: str | None) -> None:
        """Deliver the work of earlier stages as this one's own."""
        await self._prepare()
        if self.conflicts:
            files = ", ".join(self.conflicts[:5])
            await self._end(
                Failed(Reason.MERGE_CONFLICT, f"what it builds on conflicts in {files}")
            )
            return
        if commit:
            await staging.take_over(Path(str(self.run.worktree)), commit, self.run)
        found = await self._inspection().look(self._message(), checked=True)
        await self.hold.note(evidence=found, result=corrected(result, found))
        await self._send(found)
        await self._deliver(Delivered(no_changes=True), found)

    async def _route(self) -> None:
        """Choose coder and model, once for all runs of the task."""
        route = choose(self.task, self.settings.route)
        coder = coder_for(self.task, self.settings.route, self.settings.coder)
        usual = self.settings.coders.get(coder, {}).get("model") or self.settings.model
        model = self.task.model or (route and route.model) or usual
        name = route.name if route else None
        self.task = await insist(
            lambda: self.fleet.settle(self.run, coder=coder, model=model, route=name)
        )
        await self.hold.note(coder=coder, model=model)

    def _lay_over(self, coder: str) -> None:
        """Let the task's own options override those of its coder in the settings."""
        usual = self.settings.coders
        own = laid_over(usual.get(coder, {}), self.task.options)
        self.settings = self.settings.evolve(coders={**usual, coder: own})

    async def _refusal(self) -> verdict.Verdict | None:
        """Why this run should not even start."""
        account = account_of(self.run.coder, self.settings.coders)
        for rest in await self.fleet.rests():
            if rest.account == account:
                return verdict.Released(sentence(rest, await self.fleet.now()))
        if self.task.attempts >= (self.task.max_attempts or self.settings.attempts):
            return Failed(Reason.CRASHED, "its runner went away during every attempt")
        over = await self.allowance.look()
        return verdict.of_a_stop(over) if over else None

    async def _earlier(self) -> Sequence[Run]:
        runs = await self.fleet.runs_of(self.task.id)
        return [run for run in runs if run.number < self.run.number]

    async def _prepare(self) -> None:
        """Prepare a worktree on the task's branch: seeded, set up, and with the trunk merged in."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        await silence_earlier(self.hold, self.places, self.notebook)
        await self._warn(await self.place.begin(self.run))
        ready = await self.place.prepare(self.task, self.run, self.hold.note)
        self.task = await insist(lambda: self.fleet.settle(self.run, branch=ready.branch))
        now = await self.fleet.now()
        await self.hold.note(
            [event("run.prepared", now, str(ready.path), run=self.run)],
            worktree=str(ready.path),
            branch=ready.branch,
            base=ready.base,
        )
        self.conflicts = ready.conflicts
        await self._warn(ready.warnings)
        await unless(self._given_up, self.place.set_up(ready.path, self.folder / "setup.log"))

    async def _start(self, coder: Coder) -> Kept:
        self.task = await staging.told(self.fleet, self.task)
        lock = self.place.lock(self.run)
        launch = Launch(self.hold, self.places, self.notebook, self.settings, lock)
        return await launch.agent(coder, self.task, self.repo, self.conflicts)

    async def _conclude(self, exit: Exit, coder: Coder) -> None:
        """The agent has ended: save its work, inspect it, and decide the outcome."""
        await asyncio.to_thread(custody.sweep, self.run.id)
        if self.stopping and self._is_taken_away:
            await self._wind_down(self.stopping.why)
            return
        worktree = str(await self.place.go_on(self.run))
        if worktree != self.run.worktree:
            await self.hold.note(worktree=worktree)
        await self._warn(await self.place.mend(self.run, self.folder))
        await self.notebook.close()
        ended, result = await self._verdict(exit, coder)
        found = await self._inspection().look(self._message(), checked=isinstance(ended, Delivered))
        result = corrected(result, found) if result else None
        await self.hold.note(evidence=found, result=result, said=self.heard.said[-LONGEST_TEXT:])
        await self._send(found)
        if isinstance(ended, Delivered):
            if over := self.allowance.overrun():
                await self.hold.tell("run.warned", over)
            await self._deliver(ended, found)
            return
        if isinstance(ended, verdict.Released):
            where = Path(str(self.run.worktree))
            await checkpoint.write(self.folder, where, found, ended.note, self.heard.said)
        restarts = self.settings.restarts
        await self._end(verdict.bounded(ended, self.run, await self._earlier(), restarts))

    async def _verdict(self, exit: Exit, coder: Coder) -> tuple[verdict.Verdict, Result | None]:
        """The verdict from the agent's end and its notes, before the work is inspected."""
        errors = evidence.tail(self.folder / "stderr.log", STDERR_TAIL)
        if not self.stopping:
            hear_the_end(self.heard, coder, exit.code, errors)
        ended = verdict.of_the_run(self.heard, exit, self.stopping, coder.abilities)
        ended = verdict.timed(ended, self._last_heard_at())
        if isinstance(ended, Failed) and self.heard.end is None:
            ended = Failed(ended.reason, f"{ended.note}\n{errors[-NOTE_TAIL:]}".strip())
        result, asks = await self.notebook.says(
            await asked_before(self.fleet, self.run), hands_on=self.task.stage is not None
        )
        posed = await self.fleet.posed(self.run)
        ended = verdict.of_the_notes(ended, result, asks, posed)
        if not isinstance(ended, Delivered):
            return ended, result
        judge = staging.Judge(self.fleet, self.task, self.run)
        return await judge.verdict(ended, result, self.heard.said)

    def _last_heard_at(self) -> datetime:
        """When the agent last printed something, by the clock of its own machine."""
        output = self.folder / "stdout.jsonl"
        found = output if output.exists() else self.folder
        return datetime.fromtimestamp(found.stat().st_mtime, UTC)

    def _inspection(self) -> Inspection:
        return Inspection(
            self.hold, self.place, self.task, self.settings, self.folder, self._given_up
        )

    async def _send(self, found: Evidence) -> None:
        """Send the work to the other machines before it is reported as done."""
        if self.place.travel and await self.place.is_ahead(found):
            branch = str(self.run.branch)
            await self.place.travel.depart(
                self.hold, branch, found.tip, lambda: bool(self.stopping)
            )

    async def _deliver(self, delivered: Delivered, found: Evidence) -> None:
        wrong = verdict.of_the_work(found, delivered) or await self.place.left_out(self.task)
        for message in await self.fleet.unread(self.task.id):
            await self.hold.tell("run.warned", f"the agent did not read: {message.text}")
        if wrong:
            await self._end(wrong)
        elif not found.changes and not (self.task.stage and await self.place.is_ahead(found)):
            await self._complete("finished without changes")
        elif (landing := await self._landing()) is Landing.BRANCH:
            await self._complete(f"on branch {self.run.branch}")
        else:
            keys = await self._keys_in(found)
            approved = landing is Landing.QUEUE and not keys
            note = "; ".join(filter(None, [keys, "" if approved else await self._begun_with()]))
            await self._leave()
            await self.hold.end(lambda run: self.fleet.submit(run, approved=approved, note=note))

    async def _complete(self, how: str) -> None:
        """Leave first: whoever sees the task completed may clean up its worktree at once."""
        await self._leave()
        await self.hold.end(lambda run: self.fleet.complete(run, how))

    async def _keys_in(self, found: Evidence) -> str:
        """A message naming the keys that the work would bring onto the trunk; a human decides."""
        known = custody.secrets(self.settings)
        names = await leaked(Path(self.repo.path), found.tip, self.repo.trunk_ref, known)
        if not names:
            return ""
        told = f"its commits contain the value of {', '.join(names)}; look before you land it"
        await self.hold.tell("run.warned", told)
        return told

    async def _begun_with(self) -> str:
        """What a human should know who decides on work that did not begin at the trunk."""
        if await self.place.is_on_trunk(str(self.run.base)):
            return ""
        return "it began with work that has not landed and would land with it"

    async def _landing(self) -> Landing:
        return await self.fleet.landing_of(self.task, self.settings.landing)

    async def _end(self, ended: verdict.Verdict) -> None:
        task = await write_down(ended, self.hold, self.settings, await self._earlier())
        if task and task.state.is_final:
            await self._leave()

    async def _leave(self) -> None:
        """Return the worktree to the pool; the branch has everything."""
        if self.run.worktree:
            await self.place.leave(Path(self.run.worktree))

    async def _give_up(self, surprise: Exception) -> None:
        """Handle an error on our side: stop the agent, save its work, and record the failure."""
        await self._silence()
        try:
            await self.notebook.close()
            now = await self.fleet.now()
            ended = blame(surprise, Path(self.repo.path), self.run.host, now)
            aftermath = self._aftermath()
            note = ended.note + await aftermath.save()
            if not self.run.evidence:
                self.hold.remember(tip=await aftermath.made())
            await self._end(ended._replace(note=note))
        except Stale:
            await self._wind_down("it no longer holds its task")
        except FleetError as trouble:
            self._record(trouble)

    async def _wind_down(self, why: str) -> None:
        """The task belongs to another run now: stop, archive the work, and report nothing more."""
        await self._silence()
        await self.notebook.close_for(self.run)
        if (tip := await self._aftermath().archive()) and not self.run.evidence:
            self.hold.remember(tip=tip)
        await insist(lambda: self.fleet.bury(self.run, why))
        if await self.place.holds(self.run):
            await self._leave()

    async def _silence(self) -> None:
        """End the agent, and repair its folder so that its work can be saved."""
        self.kept = self.kept or await custody.adopt(self.folder)
        if self.kept:
            self._ask_to_stop()
            await self.kept.ended()
        await asyncio.to_thread(custody.sweep, self.run.id)
        with suppress(FleetError):  # its folder is gone: nothing left to save
            await self.place.mend(self.run, self.folder)

    async def _warn(self, texts: Iterable[str]) -> None:
        for text in texts:
            await self.hold.tell("run.warned", text)

    def _aftermath(self) -> Aftermath:
        return Aftermath(self.place, self.repo, self.run, self._message())

    def _message(self) -> str:
        return f"{self.task.title}\n\nFleet-Task: {self.task.id}\nFleet-Run: {self.run.id}"

    def _record(self, surprise: BaseException) -> None:
        record(self.places.crash_log(), self.run.id, surprise)


def _sum(runs: Iterable[Run]) -> Usage:
    return sum((run.usage for run in runs), start=Usage())
