"""A real fleet in a sample repository: real git, real processes, an agent that needs no key."""

import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codefleet.domain.errors import Refused
from codefleet.doors.cli.call import say
from codefleet.doors.cli.text import duration

if TYPE_CHECKING:
    from codefleet.domain.model import Task
    from codefleet.fleet import Fleet

SAMPLE = Path(__file__).with_name("sample")
AGENTS = 4
SERVED_AGENTS = 6
ANSWER = "table"
CHECKS = "python3 -m unittest -q"
SETTINGS = {"checks": [CHECKS], "rest_s": 0.2, "radar_s": 1.0}
AUTHOR = ("-c", "user.name=demo", "-c", "user.email=demo@codefleet.invalid")


@click.command()
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Keep the repository and the fleet's home in this new folder.",
)
@click.option("--serve", "served", is_flag=True, help="Serve it with the dashboard until Ctrl-C.")
def demo(keep: Path | None, served: bool) -> None:
    """Watch four agents work through a small backlog; no key or network needed."""
    folder = _make_room(keep)
    try:
        if served:
            asyncio.run(_serve(folder))
            return
        began = time.monotonic()
        tests = asyncio.run(_show(folder))
        say(f"{tests}; took {duration(time.monotonic() - began)}")
        if keep:
            _point_around(folder)
        else:
            say("to explore the result: fleet demo --keep DIR")
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


async def _show(folder: Path) -> str:
    from codefleet.doors.cli.drafts import read_drafts
    from codefleet.runner.repos import register
    from codefleet.wiring import open_fleet

    repo = await _make_repo(folder / "tally")
    home = folder / "home"
    async with open_fleet(home, create=True, flags=SETTINGS) as fleet:
        await register(fleet, repo)
        at = await fleet.now()
        tasks = await fleet.add(read_drafts(str(SAMPLE / "tasks.yaml"), lambda: at))
        say(f"{len(tasks)} tasks queued for {repo}, {AGENTS} agents")
        await asyncio.gather(_work(fleet, home), _answer_what_is_asked(home, tasks))
        await _sum_up(fleet, tasks)
    return await asyncio.to_thread(_test_trunk, repo)


async def _serve(folder: Path) -> None:
    """The same fleet with more to decide, behind an address of its own."""
    from codefleet.doors.cli.demo_crew import add_crew
    from codefleet.doors.cli.drafts import read_drafts
    from codefleet.doors.cli.serve import served_modules
    from codefleet.runner.context import Context
    from codefleet.runner.loop import Loop
    from codefleet.runner.repos import register
    from codefleet.wiring import open_fleet

    serve = served_modules().serve
    repo = await _make_repo(folder / "tally")
    async with open_fleet(folder / "home", create=True, flags=SETTINGS) as fleet:
        await register(fleet, repo)
        at = await fleet.now()
        for name in ("dashboard.yaml", "tasks.yaml"):
            await fleet.add(read_drafts(str(SAMPLE / name), lambda: at))
        await add_crew(fleet, SAMPLE / "release.yaml")
        loop = Loop(Context(fleet, SETTINGS), agents=SERVED_AGENTS)
        await serve.serve(fleet, serve.Address("127.0.0.1", 0), say, loop=loop)


async def _work(fleet: "Fleet", home: Path) -> None:
    from codefleet.doors.cli.watch import watching
    from codefleet.runner.context import Context
    from codefleet.runner.loop import Loop

    loop = Loop(Context(fleet, SETTINGS), agents=AGENTS)
    async with watching(home):
        running = asyncio.create_task(loop.run())
        try:
            async for _event in fleet.follow():
                counts = await fleet.counts()
                if set(counts) <= {"completed", "failed"} or running.done():
                    break
        finally:
            loop.stop()
            await running


async def _answer_what_is_asked(home: Path, tasks: "Sequence[Task]") -> None:
    """Play the human: answer the demo's one question."""
    from codefleet.wiring import open_fleet

    async with open_fleet(home) as fleet:
        async for event in fleet.follow():
            if event.kind == "task.asked" and event.task:
                await fleet.answer(event.task, ANSWER)
                return


async def _sum_up(fleet: "Fleet", tasks: "Sequence[Task]") -> None:
    from codefleet.ports import TaskQuery

    ended = await fleet.list(TaskQuery(ids=[task.id for task in tasks]))
    runs = await fleet.runs_of(*(task.id for task in tasks))
    landed = sum(task.landed is not None for task in ended)
    spent = sum(run.usage.cost_usd for run in runs)
    say(f"{landed} of {len(ended)} tasks landed on the trunk, {len(runs)} runs, {spent:.2f} USD")
    if landed < len(ended):
        stuck = ", ".join(f"{task.title} ({task.state})" for task in ended if not task.landed)
        raise Refused(f"the demo failed: {stuck}", hint="inspect it with --keep DIR")


def _make_room(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="fleet-demo-"))
    if keep.exists() and any(keep.iterdir()):
        raise Refused(f"{keep} is not empty", hint="name a folder that is new or empty")
    keep.mkdir(parents=True, exist_ok=True)
    return keep.absolute()


async def _make_repo(folder: Path) -> Path:
    """A small program with its tests, under git."""
    from codefleet.runner.git.git import Git

    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("*.yaml", "__pycache__"))
    (folder / ".gitignore").write_text("__pycache__/\n")
    for command in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "--all"),
        (*AUTHOR, "commit", "--quiet", "--message=Count words"),
    ):
        await Git(folder)(*command)
    return folder


def _test_trunk(repo: Path) -> str:
    """Run the sample's own tests on the trunk, as its user would."""
    done = subprocess.run(
        (sys.executable, "-m", "unittest", "-q"), cwd=repo, capture_output=True, text=True
    )
    if done.returncode:
        raise Refused(f"the sample's tests fail on the trunk:\n{done.stderr}")
    ran = next((line for line in done.stderr.splitlines() if line.startswith("Ran ")), "")
    return f"the sample's own tests pass on the trunk ({ran.partition(' in ')[0].lower()})"


def _point_around(folder: Path) -> None:
    home = f"--home {folder / 'home'}"
    say("explore it:")
    for command in (
        f"git -C {folder / 'tally'} log --oneline --graph",
        f"fleet {home} list --all",
        f"fleet {home} log",
        f"fleet {home} status",
    ):
        say(f"  {command}")
