"""A fleet in the middle of its work: a real store, real core verbs, a clock that stands still.

python -m tests.doors.screen.scene docs/how-to/watch-the-fleet.svg    draws the docs' picture
"""

import asyncio
import re
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from hashlib import sha1
from pathlib import Path
from typing import Any

from codefleet.domain.events import event
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Repo, Rest, Run, Runner, Task, TaskId, Usage
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.signals import Asks
from codefleet.domain.validation import checked
from codefleet.domain.words import Reason
from codefleet.doors.cli.screen.app import FleetApp
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import Write
from codefleet.wiring import open_fleet
from tests.store.samples import StillClock

HOSTILE = "Evil [red]bold[/] \x1b[31m \u202e txt.exe"
USUAL_MIN = 15
FINISHED = (
    ("n4t8wq2c", "Read settings from the environment"),
    ("b7m2hx5k", "Split the parser from the reader"),
    ("d3k9vt6p", "Log a line for each sale"),
    ("f8r4cy2n", "Say what a refund costs"),
)
AT_WORK = (
    ("k3m9x2pa", "Extract the mailer", "Edit src/mail/send.py", 12, 0.41, 0.31),
    ("w7d4tqse", "Show counts as JSON", "Bash pytest -q tests/counts", 4, 0.12, 0.08),
    (
        "h5c2npxb",
        "Cache exchange rates",
        "The rates come from two places; I merge them",
        22,
        0.77,
        1.2,
    ),
)
WAITING: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("s9f3kdme", "Mail receipts in the customer's language", {"needs": ["k3m9x2pa"]}),
    ("v2q7rbwh", "Round money the same way everywhere", {"scope": ["src/money/**"], "priority": 5}),
    ("y6t4jczn", "Describe the API", {}),
    ("g8w5mdpx", "Drop the old importer", {"paused": True}),
)


class Scene:
    """Reports to the fleet what its runner and agents would report."""

    def __init__(self, fleet: Fleet, clock: StillClock) -> None:
        self.fleet, self.clock = fleet, clock
        self.runner: Runner

    async def begin(self, seats: int = 6) -> None:
        self.runner = await Dispatch(self.fleet).join(
            host="laptop", pid=1, pid_started=1.0, seats=seats, coder=None
        )

    async def add(self, id: str, title: str, **fields: Any) -> Task:
        now = self.clock.now()
        plain = {"title": title, "repo": "shop", "created_at": now, "updated_at": now}
        task = checked(Task, {"id": TaskId(id), **plain, **fields})
        await self.fleet.core.store.write(
            Write(tasks=[task], events=[event("task.added", now, title, task=task)])
        )
        return task

    async def start(self, id: str, agent: str = "agent-1") -> Run:
        """Let an agent take this task."""
        self.runner = await Dispatch(self.fleet).heartbeat(self.runner)
        seat = Seat(agent, self.runner.id, "laptop", "claude")
        claimed = await self.fleet.core.store.claim(
            [seat], ClaimFilter(tasks=(TaskId(id),)), lease=timedelta(days=1)
        )
        return claimed[0].run

    async def tell(self, run: Run, kind: str, text: str, **changes: Any) -> Run:
        now = self.clock.now()
        return await Dispatch(self.fleet).note(run, [event(kind, now, text, run=run)], **changes)

    async def finish(self, id: str, minutes: float = USUAL_MIN) -> None:
        """Let an agent work on this task, and land its work."""
        run = await self.start(id)
        self.clock.advance(minutes=minutes)
        await Dispatch(self.fleet).submit(run, approved=True)
        await Dispatch(self.fleet).landed(TaskId(id), sha1(id.encode()).hexdigest())


@asynccontextmanager
async def scene(home: Path) -> AsyncIterator[Scene]:
    """An empty fleet with one repository."""
    clock = StillClock()
    async with open_fleet(home, create=True, clock=clock, flags={"durability": "normal"}) as fleet:
        await fleet.core.store.write(
            Write(records=[Repo(name="shop", path=str(home), trunk="main")])
        )
        yield Scene(fleet, clock)


async def busy(scene: Scene) -> None:
    """Work that is done, in progress, waiting for a human, in the lane, and in the queue."""
    fleet, clock = scene.fleet, scene.clock
    await scene.begin()
    for id, title in FINISHED:
        await scene.add(id, title)
    for id, title, *_ in AT_WORK:
        await scene.add(id, title, scope=["src/money/**"] if id == "h5c2npxb" else [])
    for id, title, fields in WAITING:
        await scene.add(id, title, **fields)
    for id, _ in FINISHED:
        await scene.finish(id)
    await ask(scene)
    for number, (id, _, doing, minutes, context, usd) in enumerate(AT_WORK, 1):
        clock.moment -= timedelta(minutes=minutes)
        run = await scene.start(id, f"agent-{number}")
        clock.moment += timedelta(minutes=minutes)
        kind = "run.said" if doing.startswith("The") else "run.tool"
        used = Usage(input_tokens=1000, output_tokens=200, cost_usd=usd)
        run = await scene.tell(run, kind, doing, usage=used, context=context)
        billed = {**used.plain(), "repo": "shop", "source": "reported", "coder": "claude"}
        await Dispatch(fleet).note(run, [event("run.used", clock.now(), run=run, **billed)])
    scene.runner = await Dispatch(fleet).heartbeat(scene.runner)


async def ask(scene: Scene) -> None:
    """A question, a permission request, a review, a failure, a login, a waiting landing."""
    fleet, clock = scene.fleet, scene.clock
    await scene.add("q2v8ynrt", "Export the day's sales")
    await Dispatch(fleet).ask(
        await scene.start("q2v8ynrt"),
        Asks("Which format should be the default?", ("table", "json", "csv")),
    )
    await scene.add("p7x3bskd", "Update the lock file")
    asks = Asks("May it use Bash?\nnpm install", tool="Bash", detail="npm install")
    await Dispatch(fleet).ask(await scene.start("p7x3bskd"), asks)
    await scene.add("c6h9zfmw", "Let the till print in two colours")
    await Dispatch(fleet).submit(await scene.start("c6h9zfmw"), approved=False)
    await scene.add("m4k2wtqa", "Port the importer to the new API")
    failing = await scene.start("m4k2wtqa")
    config = fleet.config
    for _ in range(config.attempts):
        task = await Dispatch(fleet).fail(failing, Reason.CHECKS_FAILED, "pytest: 2 failed", config)
        if task.state == "pending":
            clock.advance(minutes=6)
            failing = await scene.start("m4k2wtqa")
    for id, title in (("r5j8ndvc", "Sort the shelves"), ("x9b4gmhs", "Count what is left")):
        await scene.add(id, title)
        await Dispatch(fleet).submit(await scene.start(id), approved=True)
    await Dispatch(fleet).record_landing_wait(
        await fleet.get("x9b4gmhs"), "your working tree has local edits on main"
    )
    now = clock.now()
    note = "log in: claude /login"
    await Dispatch(fleet).rest(Rest(account="claude", reason=Reason.AUTH, note=note, since=now))
    clock.advance(minutes=3)


async def draw(size: tuple[int, int], home: Path, keys: tuple[str, ...] = ()) -> str:
    """The screen of the busy fleet, as a picture."""
    async with scene(home) as made:
        await busy(made)
        app = FleetApp(made.fleet)
        async with app.run_test(size=size) as pilot:
            while not app.lines.rows:
                await pilot.pause(0.01)
            await pilot.press(*keys)
            await pilot.pause()
            return _with_any_font(app.export_screenshot(title="fleet watch"))


def _with_any_font(picture: str) -> str:
    """The picture with the reader's own font: viewing it fetches nothing."""
    without = re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", picture, flags=re.DOTALL)
    named = without.replace("Fira Code", "DejaVu Sans Mono, Menlo, Consolas")
    return re.sub(r"terminal-\d+", "terminal", named)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        wide, high = (int(n) for n in (sys.argv[2] if len(sys.argv) > 2 else "110x34").split("x"))
        picture = asyncio.run(draw((wide, high), Path(folder) / "home", tuple(sys.argv[3:])))
    Path(sys.argv[1]).write_text(picture, encoding="utf-8")
