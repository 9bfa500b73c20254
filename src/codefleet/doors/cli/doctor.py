"""Is everything there that a fleet needs? Each finding says what to do."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from codefleet.config import KEYS, Config, load, nearest
from codefleet.domain.errors import FleetError
from codefleet.domain.model import Repo
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, home, json_option
from codefleet.doors.cli.text import clean

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

OLDEST_GIT = (2, 39)
OLDEST_SQLITE = (3, 35)
LEAST_FREE = 1 << 30
OTHER_VARIABLES = frozenset({"FLEET_HOME", "FLEET_DEBUG", "FLEET_RUN", "FLEET_TASK"})


class Finding(NamedTuple):
    """One thing that was looked at. `mend` is empty when all is well."""

    what: str
    mend: str = ""
    must: bool = True


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Look whether everything that a fleet needs is there; exit code 1 when something is not."""
    findings = [*_programs(), *_home(home()), *_settings(home())]
    if as_json:
        show.data([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            click.echo(_line(finding))
    if any(finding.mend and finding.must for finding in findings):
        click.get_current_context().exit(1)


def _line(finding: Finding) -> str:
    if not finding.mend:
        return f"{click.style('ok', fg='green')}    {clean(finding.what)}"
    mark = click.style("mend", fg="red") if finding.must else click.style("note", fg="yellow")
    return f"{mark}  {clean(finding.what)}\n      -> {clean(finding.mend)}"


def _programs() -> Iterator[Finding]:
    yield Finding(f"Python {sys.version.split()[0]}")
    yield _git()
    old = sqlite3.sqlite_version_info < OLDEST_SQLITE
    needed = ".".join(map(str, OLDEST_SQLITE))
    yield Finding(
        f"SQLite {sqlite3.sqlite_version}", f"use a Python with SQLite {needed} or newer" * old
    )


def _git() -> Finding:
    needed = ".".join(map(str, OLDEST_GIT))
    mend = f"install git {needed} or newer"
    if not shutil.which("git"):
        return Finding("git is not installed", mend)
    said = subprocess.run(["git", "version"], capture_output=True, text=True).stdout.strip()
    digits = [int(part) for part in said.split()[2].split(".")[:2] if part.isdigit()]
    return Finding(said, mend * (tuple(digits) < OLDEST_GIT))


def _home(folder: Path) -> Iterator[Finding]:
    if not folder.is_dir():
        yield Finding(f"there is no home {folder}", "make it: fleet init")
        return
    writable = os.access(folder, os.W_OK)
    yield Finding(f"home {folder}", "" if writable else "let yourself write there")
    free = shutil.disk_usage(folder).free
    yield Finding(
        f"{free / (1 << 30):.1f} GB free for the home",
        "" if free > LEAST_FREE else "make room: worktrees and logs need it",
        must=False,
    )


def _settings(folder: Path) -> Iterator[Finding]:
    try:
        config = load(folder, env=os.environ)
    except FleetError as wrong:
        yield Finding(wrong.problem, wrong.hint)
        return
    yield Finding("settings can be used")
    yield from _variables()
    yield from _coders(config)
    try:
        about, repos = call(_store_and_repos)
    except FleetError as wrong:
        yield Finding(wrong.problem, wrong.hint or "restore the store from a copy")
        return
    yield Finding(f"store {about}")
    yield from _repos(repos)


async def _store_and_repos(fleet: "Fleet") -> tuple[str, Sequence[Repo]]:
    return await fleet.store.about(), await fleet.repos()


def _variables() -> Iterator[Finding]:
    known = {f"FLEET_{key.upper()}" for key in KEYS} | OTHER_VARIABLES
    for name in sorted(set(os.environ) - known):
        if name.startswith("FLEET_") and (meant := nearest(name, sorted(known))):
            yield Finding(f"nothing reads the variable {name}", f"did you mean {meant}?", False)


def _coders(config: Config) -> Iterator[Finding]:
    found = {entry.name: entry for entry in entry_points(group="codefleet.coders")}
    for name, entry in sorted(found.items()):
        yield _coder(name, entry, config)
    if config.coder not in found:
        yield Finding(
            f"the coder {config.coder} is not installed",
            f"choose one of {', '.join(sorted(found))}: fleet config set coder NAME",
        )


def _coder(name: str, entry: EntryPoint, config: Config) -> Finding:
    try:
        entry.load()
    except Exception as wrong:  # whatever a plug-in of somebody else does
        return Finding(f"the coder {name} cannot be loaded: {wrong}", "reinstall its package")
    argv = config.coders.get(name, {}).get("argv")
    program = argv[0] if isinstance(argv, list) and argv else None
    if program and not shutil.which(str(program)):
        mend = f"install it, or mend coders.{name}.argv"
        return Finding(f"the program {program} of the coder {name} is not there", mend)
    return Finding(f"coder {name}")


def _repos(repos: Sequence[Repo]) -> Iterator[Finding]:
    if not repos:
        yield Finding("no repo is known yet", "call `fleet init` inside one", must=False)
    for repo in repos:
        yield _repo(repo)


def _repo(repo: Repo) -> Finding:
    folder = Path(repo.path)
    if not folder.is_dir():
        return Finding(f"repo {repo.name}: there is no {repo.path}", "was it moved?")
    try:
        load(home(), repo=folder, repo_name=repo.name, env=os.environ)
    except FleetError as wrong:
        return Finding(wrong.problem, wrong.hint)
    what = f"repo {repo.name}: {repo.path}, trunk {repo.trunk}"
    return Finding(what, "" if _has_trunk(repo) else f"there is no branch {repo.trunk}; make it")


def _has_trunk(repo: Repo) -> bool:
    ref = f"refs/heads/{repo.trunk}"
    asked = ["git", "-C", repo.path, "rev-parse", "--verify", "--quiet", ref]
    try:
        return subprocess.run(asked, capture_output=True).returncode == 0
    except FileNotFoundError:
        return True  # without git nobody knows, and that git is missing is told already
