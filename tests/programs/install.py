"""The real programs at pinned versions, installed once per machine, outside the repository.

They come from the npm registry, over a gigabyte in total, and go to
$XDG_CACHE_HOME/codefleet/programs (~/.cache if that is not set), a folder per version. A removed
folder is created again. `python -m tests.programs.install` installs them ahead of the tests.
`locks/` has the hashes of all files; after changing a version, update it with
`python -m tests.programs.install --lock`.
"""

import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from web.tools.lock import NotLocked, refuse_unlocked

LOCKS = Path(__file__).with_name("locks")
LOCK = "package-lock.json"
INSTALL_WITHIN_S = 600
QUIETLY = ("--no-audit", "--no-fund", "--loglevel=error")
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}


class NotInstallable(Exception):
    """The program cannot be installed on this machine; the text says why."""


class Pin(NamedTuple):
    """A package at a version, and where in it the program itself is.

    The native programs are started directly: the wrappers around them would be a second process.
    Set-up scripts of packages run only if a program does not work without them.
    """

    package: str
    version: str
    program: str
    is_set_up: bool = False


PINS = {
    "claude": Pin(
        "@anthropic-ai/claude-code",
        "2.1.325",
        "@anthropic-ai/claude-code-linux-{machine}/claude",
    ),
    "codex": Pin(
        "@openai/codex",
        "0.166.0",
        "@openai/codex-linux-{machine}/vendor/{cpu}-unknown-linux-musl/bin/codex",
    ),
    "gemini": Pin("@google/gemini-cli", "0.61.0", ".bin/gemini"),
    "opencode": Pin("opencode-ai", "1.18.33", "opencode-linux-{machine}/bin/opencode"),
}
CLIENTS = {
    "mcp-sdk": Pin("@modelcontextprotocol/sdk", "1.32.2", "@modelcontextprotocol/sdk"),
    "mcp-inspector": Pin("@modelcontextprotocol/inspector", "2.12.0", ".bin/mcp-inspector"),
}
"""What others command the fleet with: the TypeScript SDK's client, and the inspector."""
BROWSERS = {"chromium": Pin("@sparticuz/chromium", "153.0.0", "@sparticuz/chromium")}
"""Chromium, packed: `tests.web.chromium` unpacks it."""
CHECKERS = {"axe": Pin("axe-core", "4.14.0", "axe-core/axe.min.js")}
"""What looks for barriers in a page: `tests.web.test_barriers` runs it there."""
SERVERS = {
    f"postgres-{version.split('.')[0]}": Pin(
        "@embedded-postgres/linux-{machine}",
        version,
        "@embedded-postgres/linux-{machine}/native/bin",
        is_set_up=True,  # which links its libraries
    )
    for version in ("14.23.0-beta.17", "15.18.0-beta.17", "16.14.0-beta.17", "17.10.0-beta.17")
}
"""PostgreSQL versions older than the test dependency: a folder of programs each."""
ALL = {**PINS, **CLIENTS, **BROWSERS, **CHECKERS, **SERVERS}


def program(name: str) -> Path:
    """The path of a pinned program, installed by whoever needs it first."""
    pin = _for_this_machine(ALL[name])
    folder = cache() / f"{name}-{pin.version}"
    with alone(cache() / f"{name}.lock"):
        if not folder.is_dir():
            _install(pin, folder)
    found = folder / "node_modules" / pin.program
    if not found.exists():
        raise NotInstallable(f"{pin.package}@{pin.version} has no {found}")
    return found


def cache() -> Path:
    """Where this machine keeps what tests install."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "codefleet" / "programs"


def _for_this_machine(pin: Pin) -> Pin:
    cpu = platform.machine()
    names = {"cpu": cpu, "machine": MACHINES.get(cpu, cpu)}
    return pin._replace(package=pin.package.format(**names), program=pin.program.format(**names))


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Tests may run in several processes: one installs, the others wait for it."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(pin: Pin, folder: Path) -> None:
    """Into a draft first, so that an installation is complete or absent."""
    with drafted(folder) as draft:
        _ask_for(pin, draft)
        if not _lock_of(pin).exists():
            raise NotInstallable(f"{pin.package}@{pin.version} has no lock; write one with --lock")
        shutil.copy(_lock_of(pin), draft / LOCK)
        call("npm", "install", *QUIETLY, *([] if pin.is_set_up else ["--ignore-scripts"]), at=draft)
        try:
            refuse_unlocked(draft / "node_modules" / f".{LOCK}", _lock_of(pin))
        except NotLocked as why:
            raise NotInstallable(str(why)) from None


def _ask_for(pin: Pin, folder: Path) -> None:
    wanted = {"private": True, "dependencies": {pin.package: pin.version}}
    (folder / "package.json").write_text(json.dumps(wanted))


def _lock_of(pin: Pin) -> Path:
    name = pin.package.removeprefix("@").replace("/", "-")
    return LOCKS / f"{name}-{pin.version}.json"


def lock(pin: Pin, draft: Path) -> None:
    """Record the hashes of everything that belongs to a package, but not where it came from."""
    _ask_for(pin, draft)
    argv = ["npm", "install", "--package-lock-only", "--ignore-scripts", *QUIETLY]
    call(*argv, "--omit-lockfile-registry-resolved=true", at=draft)
    found = json.loads((draft / LOCK).read_text())
    for each in found["packages"].values():
        for word in ("funding", "resolved"):
            each.pop(word, None)
    found.pop("name", None)
    _lock_of(pin).write_text(json.dumps(found, indent=1) + "\n")


def lock_all() -> None:
    """Lock every package again, for this kind of machine."""
    LOCKS.mkdir(exist_ok=True)
    for pin in ALL.values():
        with tempfile.TemporaryDirectory() as draft:
            lock(_for_this_machine(pin), Path(draft))


@contextmanager
def drafted(folder: Path) -> Iterator[Path]:
    """A draft of a folder, which becomes the folder if all goes well."""
    draft = folder.with_name(f"{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    yield draft
    draft.rename(folder)


def call(*argv: str, at: Path) -> None:
    """Run an installer; if it fails, report its own message."""
    if not shutil.which(argv[0]):
        raise NotInstallable(f"{argv[0]} is needed to install {at.stem}")
    try:
        done = subprocess.run(
            argv,
            cwd=at,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_WITHIN_S,
        )
    except subprocess.TimeoutExpired:
        raise NotInstallable(f"{' '.join(argv)} took over {INSTALL_WITHIN_S} s") from None
    if done.returncode:
        raise NotInstallable(f"{' '.join(argv)} failed: {done.stderr.strip()[-500:]}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--lock"]:
        lock_all()
        sys.exit()
    for name in ALL:
        program(name)
