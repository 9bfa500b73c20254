"""What the fleet itself verifies about a run: facts from git, and the check commands it runs."""

import asyncio
import os
import re
import shlex
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from codefleet.callers import TAG
from codefleet.domain.errors import Workspace
from codefleet.domain.model import Change, Check, Evidence
from codefleet.domain.scope import matches
from codefleet.runner.agents.redaction import redact_file
from codefleet.runner.custody import secrets_in
from codefleet.runner.leftovers import put_mark, sweep, tag_of
from codefleet.runner.repos.git import Git

DIFF = (
    *("diff-tree", "-r", "-z", "--find-renames", "--no-ext-diff", "--no-textconv"),
    "--ignore-submodules=none",  # whatever `.gitmodules` says
)
KINDS = {"A": "added", "D": "deleted", "R": "renamed", "C": "added"}
MARKERS = "^(<{7}|>{7}) "
LEFTOVER = re.compile(r"^\+(<{7}|>{7}) ", re.MULTILINE)
TAIL_LENGTH = 4000
CANNOT_RUN, NOT_FOUND, TIMED_OUT = 126, 127, 124
"""The same exit codes that shells and `timeout` use."""
STATUS = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=dirty")


async def facts(
    worktree: Path, base: str, scope: Sequence[str], *, at: str = "HEAD", salvaged: bool = False
) -> Evidence:
    """What has been committed in a worktree since `base`."""
    git = Git(worktree)
    names = (f"{at}^{{commit}}", f"{at}^{{tree}}", f"{base}^{{commit}}")
    tip, tree, start = (await git("rev-parse", *names)).split()
    fork = (await git.run("merge-base", start, tip)).out.strip() or start
    changes = [*_changes(await git(*DIFF, "--raw", "--numstat", fork, tip))]
    paths = sorted({path for _, each in changes for path in each})
    return Evidence(
        base=start,
        tip=tip,
        tree=tree,
        commits=int(await git("rev-list", "--count", "--no-merges", f"{start}..{tip}")),
        salvaged=salvaged,
        changes=tuple(change for change, _ in changes),
        outside_scope=tuple(_outside(scope, paths)),
        unresolved=tuple(await _unresolved(git, fork, tip)),
    )


async def check(
    command: str, folder: Path, *, env: Mapping[str, str], log: Path, timeout_s: float
) -> Check:
    """Run a check command to its end, without a shell, and leave nothing of it running.

    Every process with the same tag in its environment is part of the check. If the runner is
    killed, the next one finds the remains of the check by that tag.
    """
    started = time.monotonic()
    tagged = {TAG: tag_of(folder), **env}
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch(mode=0o600)
        with log.open("wb") as output:
            code, problem = await _run(command, folder, tagged, output, timeout_s)
            output.write(problem.encode())
    except OSError as trouble:
        raise Workspace(
            f"cannot write {log}: {trouble.strerror}", hint="is the disk full?"
        ) from None
    await asyncio.to_thread(redact_file, log, [*secrets_in(env)])
    seconds = round(time.monotonic() - started, 3)
    return Check(command=command, exit_code=code, seconds=seconds, log=str(log), tail=tail(log))


async def _run(
    command: str, folder: Path, env: Mapping[str, str], output: BinaryIO, timeout_s: float
) -> tuple[int, str]:
    """The exit code, and what to add to the log."""
    try:
        argv = shlex.split(command)
    except ValueError as trouble:
        return NOT_FOUND, f"cannot parse the command: {trouble}\n"
    if not argv:
        return NOT_FOUND, "the command is empty\n"
    if not folder.is_dir():
        return CANNOT_RUN, f"there is no folder {folder}\n"
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=folder,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except FileNotFoundError:
        return NOT_FOUND, f"there is no program {argv[0]!r}\n"
    except (OSError, ValueError) as trouble:
        return CANNOT_RUN, f"cannot run {argv[0]!r}: {trouble}\n"
    put_mark(process.pid, env[TAG])
    return await _finished(process, env[TAG], timeout_s)


async def _finished(
    process: asyncio.subprocess.Process, tag: str, timeout_s: float
) -> tuple[int, str]:
    try:
        async with asyncio.timeout(timeout_s):
            code = await process.wait()
    except TimeoutError:
        return TIMED_OUT, f"\nstopped: it ran longer than {timeout_s:g} seconds\n"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.to_thread(sweep, tag)  # what left the session
        await process.wait()
    return (code, "") if code >= 0 else (128 - code, f"\nkilled by signal {-code}\n")


async def fingerprint(checkout: Path) -> Mapping[str, str]:
    """Every file of a checkout that differs from its commit, with its state."""
    entries = iter((await Git(checkout)(*STATUS)).split("\0"))
    found = {}
    for entry in entries:
        if entry:
            found[printable(entry[3:])] = f"{entry[:2]} {_stamp(checkout / entry[3:])}"
        if "R" in entry[:2] or "C" in entry[:2]:
            next(entries)  # the old name
    return found


def touched(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """The files whose state differs between two fingerprints."""
    return tuple(sorted(path for path in {*before, *after} if before.get(path) != after.get(path)))


def printable(path: str) -> str:
    """A path as text that can be stored: bytes that are not UTF-8 become escapes."""
    return path.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _stamp(file: Path) -> str:
    try:
        facts = file.lstat()
    except OSError:
        return "gone"
    return f"{facts.st_mtime_ns} {facts.st_size}"


def _changes(listing: str) -> Iterator[tuple[Change, tuple[str, ...]]]:
    """Each change with every path it touches, from `git diff-tree -z --raw --numstat`."""
    fields = iter(listing.split("\0"))
    kinds: dict[tuple[str, ...], str] = {}
    for field in fields:
        if field.startswith(":"):
            letter = field.split()[4][0]
            kinds[_paths(fields, renamed=letter in "RC")] = KINDS.get(letter, "modified")
        elif field:
            added, removed, path = field.split("\t", 2)
            paths = (path,) if path else _paths(fields, renamed=True)
            yield _change(paths, kinds[paths], added, removed), paths


def _paths(fields: Iterator[str], *, renamed: bool) -> tuple[str, ...]:
    return tuple(next(fields) for _ in range(2 if renamed else 1))


def _change(paths: tuple[str, ...], kind: str, added: str, removed: str) -> Change:
    lines = (0 if count == "-" else int(count) for count in (added, removed))  # "-": not text
    more, fewer = lines
    return Change(path=printable(paths[-1]), kind=kind, added=more, removed=fewer)


def _outside(scope: Sequence[str], paths: Iterable[str]) -> Iterator[str]:
    """The touched paths outside a declared scope; without a scope, none."""
    return (printable(path) for path in paths if scope and not matches(scope, path))


async def _unresolved(git: Git, fork: str, tip: str) -> list[str]:
    """The files to which conflict markers were added."""
    names = await git(*DIFF, "--name-only", f"-G{MARKERS}", fork, tip)
    found = []
    for path in filter(None, names.split("\0")):
        patch = await git(*DIFF, "--patch", "--unified=0", fork, tip, "--", f":(literal){path}")
        if LEFTOVER.search(patch):
            found.append(printable(path))
    return found


def tail(log: Path, length: int = TAIL_LENGTH) -> str:
    """The last `length` characters of a file, however long it is; empty if there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4 * length))
            return file.read().decode(errors="replace")[-length:]
    except OSError:
        return ""
