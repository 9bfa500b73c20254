"""Everything fails at random, for minutes: no task's work is lost, or lands as another's.

Runners sleep past their leases and are killed; keepers, agents and gits are killed; git is slow;
the clock is set; others move and delete branches; agents hide processes; and tasks keep coming.
The seed shown on failure repeats the choices, though not the timing.
"""

import asyncio
import os
import random
import shlex
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from codefleet.domain.errors import FleetError
from codefleet.domain.model import Draft, Task
from codefleet.domain.run import last_made
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.runner.context import Context
from codefleet.runner.landing.approval import approve
from codefleet.runner.process.leftovers import kill_tagged, living_in
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.faults.conftest import Runners, agents_alive, landed_files, landed_tasks, until
from tests.gitrepo import SampleRepo
from tests.script import script
from tests.store.conftest import skip_or_fail

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SEED = int(os.environ.get("FAULTS_SEED", "12"))
FAULTS = 200
RUNNERS, SEATS = 3, 2
AT_ONCE = 9
"""How many unfinished tasks there are while faults happen."""
LEASE_S = 2.0
SETTINGS = f"""\
lease_s = {LEASE_S}
attempts = 1000
rest_s = 0.0
grace_s = 0.5
limit_rest_s = 0.1
durability = "normal"
"""
YEAR_S = 31_536_000
SLOW_GIT = """\
#!/bin/sh
[ $(($$ % 101)) -eq 0 ] && sleep 3
[ $(($$ % 23)) -eq 0 ] && sleep 0.$(($$ % 7))
exec {git} "$@"
"""
HIDE = """\
shell <<END
(env -i PATH=$PATH setsid sh -c 'while :; do date > {folder}/hidden.txt; sleep 0.05; done' &)
kill -9 $(cut -d" " -f4 /proc/$PPID/stat)
END"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "fleet.toml").write_text(SETTINGS)
    return home


@pytest.fixture
async def fleet(home: Path, repo: SampleRepo) -> AsyncIterator[Fleet]:
    """Opened before the clock is wrong: this process keeps the right time."""
    async with open_fleet(home, create=True) as fleet:
        await register(fleet, repo.path)
        yield fleet


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that states by how many seconds the runners' clock is wrong."""
    skip_or_fail(None if shutil.which("cc") else "a wrong clock needs a C compiler")
    source, built = Path(__file__).with_name("wrong_clock.c"), tmp_path / "wrong_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", built, source], check=True)
    file = tmp_path / "wrong_by"
    file.write_text("0")
    monkeypatch.setenv("LD_PRELOAD", str(built))
    monkeypatch.setenv("WRONG_BY_FILE", str(file))
    return file


@pytest.fixture
def slow_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "git"
    program.write_text(SLOW_GIT.format(git=shlex.quote(str(shutil.which("git")))))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


class Campaign:
    """A fleet at work, and everything that can be done to it."""

    def __init__(self, fleet: Fleet, repo: SampleRepo, runners: Runners, clock: Path) -> None:
        self.fleet, self.repo, self.runners, self.clock = fleet, repo, runners, clock
        self.chance = random.Random(SEED)
        self.tasks: list[Task] = []
        self.done: Counter[str] = Counter()
        self.crew: list[subprocess.Popen[bytes]] = []
        self.wakes: dict[int, float] = {}
        self.faults: dict[Callable[[], bool], int] = {
            self.freeze: 6,
            self.kill_runner: 3,
            self.kill_keeper: 4,
            self.kill_agent: 4,
            self.kill_git: 3,
            self.delete_branch: 4,
            self.move_branch: 4,
            self.set_clock: 2,
        }

    async def refill(self) -> None:
        """Keep as many unfinished tasks as there should be."""
        first, missing = len(self.tasks), AT_ONCE - await self.unfinished()
        if missing > 0:
            drafts = [self._work(number) for number in range(first, first + missing)]
            self.tasks += await self.fleet.add(drafts)

    def _work(self, number: int) -> Draft:
        """A task that writes only files with its own name; some first leave a hidden process."""
        steps = [
            f"write t{number}/a.txt {number}",
            f"wait {self.chance.uniform(0.1, 0.6):.2f}",
            *(["commit half"] if self.chance.random() < 0.5 else []),
            f"write t{number}/b.txt {number}",
            f"wait {self.chance.uniform(0.1, 0.6):.2f}",
        ]
        if self.chance.random() < 0.1:
            hide = HIDE.format(folder=f"t{number}")
            steps = [*steps[:1], hide, "hang", "on attempt 2", *steps]
        return Draft(title=f"Task {number}", prompt=script(*steps))

    def man(self) -> None:
        """Keep as many runners as there should be."""
        self.crew = [runner for runner in self.crew if runner.poll() is None]
        while len(self.crew) < RUNNERS:
            self.crew.append(self.runners.start(agents=SEATS, until_idle=False))

    def wake(self, *, everybody: bool = False) -> None:
        for pid, moment in [*self.wakes.items()]:
            if everybody or time.monotonic() >= moment:
                del self.wakes[pid]
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    async def fault(self) -> None:
        """Do one thing that the fleet must survive."""
        kinds, weights = [*self.faults], [*self.faults.values()]
        kind = self.chance.choices(kinds, weights)[0]
        if await asyncio.to_thread(kind):
            self.done[kind.__name__] += 1

    def freeze(self) -> bool:
        awake = [runner for runner in self.crew if runner.pid not in self.wakes]
        if not awake:
            return False
        runner = self.chance.choice(awake)
        runner.send_signal(signal.SIGSTOP)
        span = LEASE_S * self.chance.choice((0.3, 1.2, 1.5, 2.0))
        self.wakes[runner.pid] = time.monotonic() + span
        return True

    def kill_runner(self) -> bool:
        runner = self.chance.choice(self.crew)
        self.wakes.pop(runner.pid, None)
        self.runners.kill(runner)
        return True

    def kill_keeper(self) -> bool:
        return self._kill("keeper.py")

    def kill_agent(self) -> bool:
        return self._kill("scripted_agent.py")

    def kill_git(self) -> bool:
        gits = [
            child
            for runner in self.crew
            for child in _children(runner.pid)
            if _words(child)[:1] == ["git"]
        ]
        return self._end(gits)

    def _kill(self, program: str) -> bool:
        alive = agents_alive(self.fleet.home)
        return self._end([it for it in alive if any(program in word for word in _words(it))])

    def _end(self, victims: list[psutil.Process]) -> bool:
        if not victims:
            return False
        with suppress(psutil.Error):
            self.chance.choice(victims).kill()
        return True

    def delete_branch(self) -> bool:
        """What an agent of another task could do."""
        branches = self._branches()
        if branches:
            with suppress(AssertionError):  # it moved, or is gone
                self.repo.git("update-ref", "-d", self.chance.choice(branches))
        return bool(branches)

    def move_branch(self) -> bool:
        branches = self._branches()
        if len(branches) > 1:
            victim, other = self.chance.sample(branches, 2)
            with suppress(AssertionError):
                self.repo.git("update-ref", victim, self.chance.choice((other, "main")))
        return len(branches) > 1

    def set_clock(self) -> bool:
        self.clock.write_text(str(self.chance.choice((0, 3600, -3600, YEAR_S))))
        return True

    def _branches(self) -> list[str]:
        listed = self.repo.git("for-each-ref", "--format=%(refname)", "refs/heads/fleet/")
        return listed.splitlines()

    async def review(self) -> None:
        """Act as the human who is asked when a branch grew after its run: land the run's work."""
        for task in await self.fleet.list(TaskQuery(states=[State.REVIEW])):
            run = last_made(await self.fleet.runs_of(task.id))
            if not task.approved and run:
                with suppress(FleetError):  # it continues by itself meanwhile
                    await approve(Context(self.fleet), task.id, run.made)

    async def unfinished(self) -> int:
        counts = await self.fleet.core.store.counts()
        return sum(counts.values()) - counts.get(State.COMPLETED, 0)

    async def progress(self, within_s: float) -> None:
        """Wait until something happens in the fleet, or for this long."""
        before = await self.fleet.core.store.last_seq()

        async def told() -> bool:
            return await self.fleet.core.store.last_seq() > before

        with suppress(TimeoutError):
            await until(told, within_s)


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children()
    except psutil.Error:
        return []


def _words(process: psutil.Process) -> list[str]:
    try:
        words = process.cmdline()
    except psutil.Error:
        return []
    return [Path(words[0]).name, *words[1:]] if words else []


@pytest.fixture
def campaign(
    fleet: Fleet, repo: SampleRepo, runners: Runners, clock: Path, slow_git: None
) -> Iterator[Campaign]:
    made = Campaign(fleet, repo, runners, clock)
    yield made
    made.wake(everybody=True)


async def test_two_hundred_faults_at_random_lose_and_mix_up_nothing(
    campaign: Campaign, fleet: Fleet, repo: SampleRepo
) -> None:
    while campaign.done.total() < FAULTS:
        campaign.man()
        await campaign.refill()
        await campaign.fault()
        campaign.wake()
        await campaign.review()
        await campaign.progress(campaign.chance.uniform(0.05, 0.4))
    campaign.clock.write_text("0")
    campaign.wake(everybody=True)
    campaign.man()

    async def is_over() -> bool:
        campaign.man()
        await campaign.review()
        return not await campaign.unfinished()

    try:
        await until(is_over, 300)
    except TimeoutError:
        pytest.fail(f"seed {SEED}: {campaign.done}\n{await _story(fleet, repo)}")
    for runner in campaign.crew:
        runner.terminate()
    for runner in campaign.crew:
        await asyncio.to_thread(runner.wait, 60)
    await assert_each_has_its_own(campaign, fleet, repo)
    await assert_nothing_runs(campaign, fleet)


async def assert_each_has_its_own(campaign: Campaign, fleet: Fleet, repo: SampleRepo) -> None:
    """Every task landed once, with all of its files and no others."""
    landed = landed_files(repo)
    for number, task in enumerate(campaign.tasks):
        files = landed.get(task.id, set())
        own = {f"t{number}/{name}" for name in ("a.txt", "b.txt")}
        assert own <= files <= {*own, f"t{number}/hidden.txt"}, (SEED, task.id, files)
        for file in own:
            assert repo.read("main", file) == f"{number}\n"
    assert Counter(landed_tasks(repo)) == Counter(task.id for task in campaign.tasks)


async def assert_nothing_runs(campaign: Campaign, fleet: Fleet) -> None:
    assert agents_alive(fleet.home) == []
    for folder in (fleet.home / "worktrees" / "shop").iterdir():
        assert living_in(folder) == []
    runs = await fleet.core.store.runs(tasks=[task.id for task in campaign.tasks])
    assert kill_tagged(*(run.id for run in runs)) == 0


async def _story(fleet: Fleet, repo: SampleRepo) -> str:
    """The tasks that did not end, the newest events last, and where each branch is."""
    lines = []
    for task in await fleet.list(TaskQuery()):
        if task.state is not State.COMPLETED:
            events = await fleet.core.store.events(task=task.id, newest=True, limit=30)
            lines += [f"{task.id} {task.state}", *(f"  {e.kind} {e.text}" for e in events)]
            lines += [f"  {task}", f"  {(await fleet.runs_of(task.id))[-1]}"]
            try:
                await approve(Context(fleet), task.id)
            except FleetError as trouble:
                lines.append(f"  {trouble.problem}")
    refs = repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")
    return "\n".join([*lines, refs, repo.git("worktree", "list")])
