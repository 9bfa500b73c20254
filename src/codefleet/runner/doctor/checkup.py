"""Does the fleet have everything it needs? Each problem comes with a fix."""

import os
import shutil
import sqlite3
import sys
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from codefleet import platform
from codefleet.coders.registry import coder
from codefleet.config import FILE, KEYS, Config, load
from codefleet.config.legacy import OLD_HOME, OLD_NAMES
from codefleet.config.tightening import NOT_HELD
from codefleet.domain.errors import FleetError, WorkspaceTrouble
from codefleet.domain.model import Repo, Task
from codefleet.domain.suggestion import did_you_mean, nearest
from codefleet.domain.words import UNFINISHED
from codefleet.fleet.dispatch import Dispatch
from codefleet.fleet.places import is_elsewhere
from codefleet.ports import TaskQuery
from codefleet.runner.doctor.coder_programs import check_coders, wanted
from codefleet.runner.doctor.findings import Finding
from codefleet.runner.doctor.system import system
from codefleet.runner.git import trunk_file
from codefleet.runner.git.worktree_pool import Pool
from codefleet.runner.limits import machine
from codefleet.runner.output.permission import unenforced
from codefleet.runner.paths import Paths
from codefleet.runner.process.leftovers import living_in
from codefleet.runner.programs.probe import VERSION, NoAnswer, ask
from codefleet.runner.sharing import reachability, remote
from codefleet.wiring import open_fleet

OLDEST_GIT = (2, 39)
OLDEST_SQLITE = (3, 35)
LEAST_FREE = 1 << 30
AGENT_MEMORY = 300 << 20
AGENT_PROCESSES = 50
"""An agent program needs 180 to 600 MB, and its threads and tools count as processes."""
OTHER_VARIABLES = frozenset(
    {
        *("FLEET_HOME", "FLEET_DEBUG", "FLEET_RUN", "FLEET_TASK", "FLEET_TOKEN_FILE"),
        *("FLEET_SERVER", "FLEET_TOKEN"),
        *(platform.VARIABLE, OLD_HOME, *OLD_NAMES),
    }
)


class Stored(NamedTuple):
    """What the store has that is worth checking, or why it cannot be opened."""

    repos: Sequence[Repo] = ()
    elsewhere: Collection[str] = ()
    tasks: Sequence[Task] = ()
    about: str = ""
    trouble: FleetError | None = None


async def checkup(home: Path) -> list[Finding]:
    """Check the machine, the home, the settings, the programs and the repositories."""
    found = [*system(), *await _tools(home), *_home(home)]
    try:
        config = load(home, env=os.environ)
    except FleetError as wrong:
        return [*found, Finding(wrong.problem, wrong.hint)]
    stored = await _stored(home)
    for repo in stored.repos:
        await _look_at_trunk(repo, config, home)
    settings = {"of the fleet": config, **_settings_of(stored.repos, home)}
    return [
        *found,
        *_room(config),
        Finding("settings can be used"),
        *_variables(),
        *await check_coders(config, wanted(settings, stored.tasks)),
        *_unheeded(settings, stored.tasks),
        _store(stored),
        *_unmatched(config, stored),
        *[finding async for finding in _repos(stored, home)],
    ]


async def _tools(home: Path) -> list[Finding]:
    old = sqlite3.sqlite_version_info < OLDEST_SQLITE
    needed = ".".join(map(str, OLDEST_SQLITE))
    return [
        Finding(f"Python {sys.version.split()[0]}"),
        await _git(home),
        Finding(
            f"SQLite {sqlite3.sqlite_version}", f"use a Python with SQLite {needed} or newer" * old
        ),
    ]


async def _git(home: Path) -> Finding:
    mend = f"install git {'.'.join(map(str, OLDEST_GIT))} or newer"
    path = shutil.which("git")
    if path is None:
        return Finding("git is not installed", mend)
    try:
        said = (await ask((path, "version"), os.environ, Path("/"))).said.strip()
    except NoAnswer as silent:
        return Finding(str(silent), mend)
    found = VERSION.search(said)
    version = tuple(int(part) for part in found[0].split(".")[:2]) if found else ()
    return Finding(said or "git does not report its version", mend * (version < OLDEST_GIT))


def _home(folder: Path) -> Iterator[Finding]:
    if not folder.is_dir():
        yield Finding(f"there is no home {folder}", "make it: fleet init")
        return
    writable = os.access(folder, os.W_OK)
    yield Finding(f"home {folder}", "" if writable else "give yourself write permission")
    if folder.stat().st_mode & 0o077:
        mend = f"keys and logs are in there: chmod go= {folder}"
        yield Finding(f"other users can read the home {folder}", mend, must=False)
    free = shutil.disk_usage(folder).free
    yield Finding(
        f"{free / (1 << 30):.1f} GB free for the home",
        "" if free > LEAST_FREE else "make room: worktrees and logs need it",
        must=False,
    )


def _room(config: Config) -> Iterator[Finding]:
    """Are there enough memory and processes for the number of agents in the settings?"""
    memory = machine.memory_left()
    fewer = "run fewer agents: `fleet config set agents NUMBER`"
    yield Finding(
        f"{memory / (1 << 30):.1f} GB of memory free for {config.agents} agents",
        fewer if memory < config.agents * AGENT_MEMORY else "",
        must=False,
    )
    processes = machine.processes_left()
    if processes < config.agents * AGENT_PROCESSES:
        yield Finding(f"only {processes:.0f} more processes are allowed here", fewer, must=False)


def _variables() -> Iterator[Finding]:
    known = {f"FLEET_{key.upper()}" for key in KEYS} | OTHER_VARIABLES
    for name in sorted(set(os.environ) - known):
        if name.startswith("FLEET_") and (meant := nearest(name, sorted(known))):
            yield Finding(f"nothing reads the variable {name}", f"did you mean {meant}?", False)


def _unmatched(config: Config, stored: Stored) -> Iterator[Finding]:
    """Tables of the home's file for repos that the fleet does not have."""
    known = [repo.name for repo in stored.repos]
    for name in sorted(config.repos.keys() - known) if not stored.trouble else ():
        mend = did_you_mean(name, known, "change the name, or call `fleet init` inside that repo")
        yield Finding(f"[repos.{name}] holds for nothing: no repo has that name", mend, False)


def _unheeded(settings: Mapping[str, Config], tasks: Sequence[Task]) -> Iterator[Finding]:
    """Rules that do not apply to a coder in use, because it never asks."""
    found: dict[str, str] = {}
    for place, config in settings.items():
        its = [task for task in tasks if place == _place(task.repo)]
        for name in sorted({*wanted({place: config}, its), *config.coders}):
            with suppress(Exception):  # the roll call reports one that cannot be used
                found[name] = unenforced(config.policy, coder(name)) or found.get(name, "")
    mend = "use a coder that asks, or forbid it in the program's own settings"
    yield from (Finding(told, mend, must=False) for told in found.values() if told)


def _place(repo: str) -> str:
    return f"of the repo {repo}"


async def _stored(home: Path) -> Stored:
    try:
        async with open_fleet(home) as fleet:
            tasks = await fleet.list(TaskQuery(states=UNFINISHED))
            repos = await fleet.repos()
            elsewhere = {repo.name for repo in repos if is_elsewhere(fleet, repo)}
            return Stored(repos, elsewhere, tasks, await Dispatch(fleet).about_store())
    except FleetError as trouble:
        return Stored(trouble=trouble)


def _settings_of(repos: Sequence[Repo], home: Path) -> Mapping[str, Config]:
    found = {}
    for repo in repos:
        try:
            found[_place(repo.name)] = _settings(repo, home)
        except FleetError:
            continue  # reported with the repo itself
    return found


async def _look_at_trunk(repo: Repo, config: Config, home: Path) -> None:
    """Read the repo's settings from its trunk, as they are now."""
    if Path(repo.path).is_dir():
        with suppress(FleetError):  # a missing git is already reported
            trunk = config.for_repo(repo.name).trunk or repo.trunk
            await trunk_file.copy_repo_settings(home, repo.evolve(trunk=trunk))


def _settings(repo: Repo, home: Path) -> Config:
    return load(home, repo_name=repo.name, env=os.environ)


def _store(stored: Stored) -> Finding:
    if stored.trouble:
        problem, hint = stored.trouble.problem, stored.trouble.hint
        return Finding(problem, hint or "restore the store from a copy")
    return Finding(f"store {stored.about}")


async def _repos(stored: Stored, home: Path) -> AsyncIterator[Finding]:
    if not stored.repos and not stored.trouble:
        yield Finding("no repo is known yet", "call `fleet init` inside one", must=False)
    for repo in stored.repos:
        if repo.name in stored.elsewhere:
            yield Finding(f"repo {repo.name}: worked on by {', '.join(sorted(repo.paths))} alone")
        elif repo.shared and (why := await _remote_trouble(repo)):
            what = f"repo {repo.name}: its remote {repo.remote} cannot be used: {why}"
            yield Finding(what, "set up git to fetch and push there without a prompt")
        else:
            yield await _repo(repo, home)
            for found in await _not_counting(repo, home):
                yield found
            for finding in _occupied(repo, home):
                yield finding


def _occupied(repo: Repo, home: Path) -> Iterator[Finding]:
    """Worktrees that agents cannot use because other processes work in them."""
    paths = Paths(home)
    pool = Pool(Path(repo.path), paths.worktrees(repo.name), paths.lock(repo.name))
    for path in sorted(paths.worktrees(repo.name).glob("[0-9]*")):
        if not pool.locks.is_held(path) and (found := living_in(path)):
            names = ", ".join(f"{it.name} (process {it.pid})" for it in found)
            what = f"worktree {path} is not used: {names} is working in it"
            yield Finding(what, "leave that folder, or end that process", must=False)


async def _repo(repo: Repo, home: Path) -> Finding:
    is_there = Path(repo.path).is_dir()
    if repo.shared and not is_there and repo.path not in repo.paths.values():
        return Finding(f"repo {repo.name}: the next runner here copies it from {repo.remote}")
    if not is_there:
        mend = f"was it moved? go there and run `fleet init --moved {repo.name}`"
        return Finding(f"repo {repo.name}: there is no {repo.path}", mend)
    try:
        repo = _with_trunk(repo, home)
    except FleetError as wrong:
        return Finding(wrong.problem, wrong.hint)
    what = f"repo {repo.name}: {repo.path}, trunk {repo.trunk}"
    mend = f"there is no branch {repo.trunk}; create it, or name another: "
    mend += f"`fleet config set repos.{repo.name}.trunk BRANCH`"
    return Finding(what, "" if await _has_trunk(repo) else mend)


def _with_trunk(repo: Repo, home: Path) -> Repo:
    """The repo with the trunk from the owner's settings; a repo's own file cannot change it."""
    _settings(repo, home)
    return repo.evolve(trunk=load(home, env=os.environ).for_repo(repo.name).trunk or repo.trunk)


async def _not_counting(repo: Repo, home: Path) -> list[Finding]:
    """What a repo's own file sets without effect: not on the trunk, or looser than yours."""
    found = []
    with suppress(FleetError):  # already reported
        there = _with_trunk(repo, home)
        if Path(repo.path).is_dir() and await trunk_file.differs(there):
            what = f"repo {repo.name}: its {FILE} differs from the one on {there.trunk}"
            found.append(Finding(what, f"commit it to {there.trunk}: only that one counts", False))
        settings = _settings(repo, home)
        looser = [key for key in KEYS if NOT_HELD in settings.source(key)]
        if looser:
            what = f"repo {repo.name}: its {FILE} cannot loosen {', '.join(looser)}"
            mend = f"set it yourself: `fleet config set repos.{repo.name}.{looser[0]} VALUE`"
            found.append(Finding(what, mend, False))
    return found


async def _remote_trouble(repo: Repo) -> str:
    with suppress(WorkspaceTrouble):  # a missing git is already reported
        return await remote.trouble(repo)
    return ""


async def _has_trunk(repo: Repo) -> bool:
    try:
        return await reachability.has_trunk(repo)
    except WorkspaceTrouble:
        return True  # a missing git is already reported
