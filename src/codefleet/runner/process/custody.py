"""Agents under keepers: start them, find them again, read them, stop them, lose nothing.

The runner holds no pipe to an agent. All it needs is in the run's folder, so it can be killed at
any moment, and the next runner adopts the agents that still run.
"""

import asyncio
import fcntl
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from fnmatch import translate
from functools import lru_cache
from pathlib import Path

from codefleet import platform
from codefleet.callers import TAG
from codefleet.coder import Start
from codefleet.config import Config
from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.secrets import secret_values
from codefleet.runner.process import stdin
from codefleet.runner.process.agent_process import AgentProcess, Exit, read_record
from codefleet.runner.process.identity import Process, reap
from codefleet.runner.process.keep import LOCK
from codefleet.runner.process.leftovers import kill_tagged, mark

__all__ = ["AgentProcess", "Exit", "Process", "adopt", "environment", "kill_tagged", "start"]

KEEPER = Path(__file__).with_name("keeper.py")
KEEPER_STARTS_POLL_S = 0.01

INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE"),
    *("LC_*", "XDG_*", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    platform.VARIABLE,  # a fleet that an agent calls must see the same boot as ours
)
"""What a program needs to find its files and the network; everything else must be allowed."""


async def start(
    folder: Path,
    start: Start,
    *,
    cwd: Path,
    env: Mapping[str, str],
    run_id: str,
    grace_s: float,
    lock: int | None = None,
) -> AgentProcess:
    """Start an agent under a keeper; if the folder already has one, adopt it.

    The keeper holds the `lock`, an open file, for as long as it runs.
    """
    tagged = {**env, **start.env, TAG: run_id}
    try:
        async with _one_start(folder):
            if kept := await adopt(folder):
                return kept
            _write_orders(folder, start, cwd=cwd, env=tagged, run_id=run_id, grace_s=grace_s)
            pid, complaint = await _launch(folder, lock)
            kept = await adopt(folder)
    except OSError as reason:
        raise WorkspaceTrouble(
            f"cannot start an agent in {folder}: {reason}",
            hint="is the disk full, or the folder read-only?",
        ) from reason
    if kept is None or kept.keeper.pid != pid:
        await _left(pid)
    if kept is None:
        raise WorkspaceTrouble(
            f"the keeper in {folder} gave up: {complaint}",
            hint="try the task again; `fleet doctor` checks this machine",
        )
    return kept


async def adopt(folder: Path) -> AgentProcess | None:
    """The agent of this folder, running or ended; None if no agent was, or can be, started."""
    while (kept := _recorded(folder)) is None:
        if _closed(folder):
            return _recorded(folder)  # a keeper may have come and gone in between
        await asyncio.sleep(KEEPER_STARTS_POLL_S)
    return kept


def environment(allow: Iterable[str], extra: Mapping[str, str]) -> dict[str, str]:
    """A minimal environment for an agent: basics, what is allowed (`NAME`, `AWS_*`), `extra`."""
    allowed = _any_of((*INHERITED, *allow))
    kept = {name: value for name, value in os.environ.items() if allowed.match(name)}
    return {**kept, **extra}


def secrets(settings: Config) -> Mapping[str, str]:
    """The keys that an agent gets with these settings, each with the name of its variable."""
    given = environment(settings.environment, {})
    configured: dict[str, str] = {}
    for options in settings.coders.values():
        env = options.get("env")
        configured |= {str(k): str(v) for k, v in env.items()} if isinstance(env, Mapping) else {}
    return {**secret_values(configured, ()), **secrets_in(given)}


def secrets_in(env: Mapping[str, str]) -> Mapping[str, str]:
    """The keys in an environment: variables that its owner lists are secret, whatever the name."""
    basic = {value for name, value in env.items() if _is_basic(name)}
    listed = [n for n, value in env.items() if not _is_basic(n) and value not in basic]
    return secret_values(env, (name for name in listed if not name.startswith("FLEET_")))


def _is_basic(name: str) -> bool:
    return _any_of(INHERITED).match(name) is not None


@lru_cache(maxsize=100)
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)))


@asynccontextmanager
async def _one_start(folder: Path) -> AsyncIterator[None]:
    """One start at a time: another's `adopt` would withdraw the orders of a keeper on its way."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(folder / "start.lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        while not _locked(lock):  # noqa: ASYNC110  # a lock sends no event
            await asyncio.sleep(KEEPER_STARTS_POLL_S)
        yield
    finally:
        os.close(lock)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_orders(
    folder: Path,
    start: Start,
    *,
    cwd: Path,
    env: Mapping[str, str],
    run_id: str,
    grace_s: float,
) -> None:
    """Write down for the keeper what to start and how."""
    if start.listens:
        _write_private(folder / stdin.LINES, stdin.whole(start.stdin or ""))
    elif start.stdin is not None:
        _write_private(folder / "stdin.txt", start.stdin)
    for name, text in start.files.items():
        _write_private(folder / name, text)
    orders = {
        "argv": list(start.argv),
        "env": dict(env),
        "cwd": str(cwd),
        "stdin": None if start.stdin is None else "stdin.txt",
        "listens": start.listens,
        "stop_signal": start.stop_signal,
        "grace_s": grace_s,
        "tag": f"{TAG}={run_id}",
        "mark": mark(run_id, platform.marks().own()),
    }
    _write_private(folder / "start.json", json.dumps(orders))


def _write_private(path: Path, text: str) -> None:
    """Write a file atomically that only its owner can read: it may contain keys."""
    draft = path.with_name(f"{path.name}.draft")
    draft.touch(mode=0o600)
    draft.write_text(text, encoding="utf-8", errors="replace", newline="")
    draft.rename(path)


async def _launch(folder: Path, lock: int | None) -> tuple[int, str]:
    """Start a keeper, and wait until it is ready or has failed; its pid and its error, if any."""
    out, into = os.pipe()
    try:
        try:
            pid = _spawn(folder, into, lock)
        finally:
            os.close(into)
        return pid, await _last_line(out)
    finally:
        os.close(out)


def _spawn(folder: Path, tell: int, lock: int | None) -> int:
    no_lock = (os.POSIX_SPAWN_OPEN, LOCK, os.devnull, os.O_RDONLY, 0)
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", str(KEEPER), str(folder.absolute())],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, tell, 1),
            (os.POSIX_SPAWN_DUP2, tell, 2),
            no_lock if lock is None else (os.POSIX_SPAWN_DUP2, lock, LOCK),
        ],
        setsid=True,
    )


async def _last_line(pipe: int) -> str:
    """The last line before the pipe is closed at its other end."""
    text = b""
    await _readable(pipe)
    while piece := os.read(pipe, 1 << 16):
        text += piece
        await _readable(pipe)
    return text.decode(errors="replace").strip().rpartition("\n")[2]


async def _readable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)


async def _left(pid: int) -> None:
    """Wait for a keeper of ours that was not needed and is exiting."""
    if process := Process.find(pid):
        await process.ended()
    reap(pid)


def _recorded(folder: Path) -> AgentProcess | None:
    record = read_record(folder / "keeper.json")
    if record is None:
        return None
    return AgentProcess(folder, Process(**record["keeper"]), Process(**record["agent"]))


def _closed(folder: Path) -> bool:
    """Make sure that no keeper can start here any more; False while one holds the folder.

    A runner may have been killed just after it launched a keeper. A keeper that starts late finds
    no orders and exits, so a worktree never gets a second agent.
    """
    try:
        lock = os.open(folder / "keeper.lock", os.O_CREAT | os.O_RDWR, 0o600)
    except FileNotFoundError:
        return True
    try:
        if not _locked(lock):
            return False
        (folder / "start.json").unlink(missing_ok=True)
    finally:
        os.close(lock)
    return True
