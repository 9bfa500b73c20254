"""What the fleet itself verifies about a run: facts from git, and the check commands it runs."""

import asyncio
import re
import shlex
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from codefleet.callers import TAG
from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.model import Change, Check, Evidence
from codefleet.domain.scope import matches
from codefleet.platform import groups
from codefleet.runner.file_redaction import redact_file
from codefleet.runner.git.git import Git
from codefleet.runner.git.history import line
from codefleet.runner.git.lookup import merge_base
from codefleet.runner.git.object_reader import look_up
from codefleet.runner.process.custody import secrets_in
from codefleet.runner.process.leftovers import kill_tagged, put_mark, tag_of

DIFF = (
    *("diff-tree", "-r", "-z", "--find-renames", "--no-ext-diff", "--no-textconv"),
    "--ignore-submodules=none",  # whatever `.gitmodules` says
)
KINDS = {"A": "added", "D": "deleted", "R": "renamed", "C": "added"}
MARKERS = "^(<{7}|>{7}) "
MARKER = re.compile(rb"^(<{7}|>{7}) ", re.MULTILINE)
FEW_FILES, SMALL = 50, 1 << 20
"""Changes up to this many files and bytes are searched for markers without another git."""
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
    tip, tree, start = await _named(git, at, base)
    fork = await merge_base(git, start, tip) or start
    listing = await git(*DIFF, "--raw", "--numstat", "--no-abbrev", fork, tip)
    changes = [*_changes(listing)]
    paths = sorted({path for _, each in changes for path in each})
    return Evidence(
        base=start,
        tip=tip,
        tree=tree,
        commits=await _count(git, start, tip),
        salvaged=salvaged,
        changes=tuple(change for change, _ in changes),
        outside_scope=tuple(_outside(scope, paths)),
        unresolved=tuple(await _unresolved(git, listing, fork, tip)),
    )


async def _named(git: Git, at: str, base: str) -> tuple[str, str, str]:
    """The commit and the tree of the work, and the commit that it was made from."""
    names = (f"{at}^{{commit}}", f"{at}^{{tree}}", f"{base}^{{commit}}")
    if (known := await look_up(git.folder, *names)) and all(known):
        tip, tree, start = (it.id for it in known if it)
    else:
        tip, tree, start = (await git("rev-parse", *names)).split()
    return tip, tree, start


async def _count(git: Git, start: str, tip: str) -> int:
    """How many commits were made since `start`, merges aside."""
    if (made := await line(git, tip, start)) is not None:
        return len(made)
    return int(await git("rev-list", "--count", "--no-merges", f"{start}..{tip}"))


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
        raise WorkspaceTrouble(
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
        groups.send(process.pid, signal.SIGKILL)
        await asyncio.to_thread(kill_tagged, tag)  # what left the session
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
    return f"{facts.st_mtime_ns} {facts.st_ctime_ns} {facts.st_size}"


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


def _blobs(listing: str) -> Iterator[str]:
    """What the changed files contain now, from the same listing."""
    fields = iter(listing.split("\0"))
    for field in fields:
        if not field.startswith(":"):
            return  # after the first part, which is for each file
        *_, blob, letter = field.split()
        _paths(fields, renamed=letter[0] in "RC")
        yield blob


def _paths(fields: Iterator[str], *, renamed: bool) -> tuple[str, ...]:
    return tuple(next(fields) for _ in range(2 if renamed else 1))


def _change(paths: tuple[str, ...], kind: str, added: str, removed: str) -> Change:
    lines = (0 if count == "-" else int(count) for count in (added, removed))  # "-": not text
    more, fewer = lines
    return Change(path=printable(paths[-1]), kind=kind, added=more, removed=fewer)


def _outside(scope: Sequence[str], paths: Iterable[str]) -> Iterator[str]:
    """The touched paths outside a declared scope; without a scope, none."""
    return (printable(path) for path in paths if scope and not matches(scope, path))


async def _unresolved(git: Git, listing: str, fork: str, tip: str) -> list[str]:
    """The files to which conflict markers were added."""
    if await _is_free_of_markers(git, listing):
        return []
    names = await git(*DIFF, "--name-only", f"-G{MARKERS}", fork, tip)
    found = []
    for path in filter(None, names.split("\0")):
        patch = await git(*DIFF, "--patch", "--unified=0", fork, tip, "--", f":(literal){path}")
        if LEFTOVER.search(patch):
            found.append(printable(path))
    return found


async def _is_free_of_markers(git: Git, listing: str) -> bool:
    """Is it certain, at little cost, that no changed file has any?"""
    blobs = {blob for blob in _blobs(listing) if blob.strip("0")}  # a deleted file has none
    sizes = await look_up(git.folder, *blobs) if len(blobs) <= FEW_FILES else None
    if sizes is None or sum(it.size for it in sizes if it) > SMALL:
        return False
    files = await look_up(git.folder, *blobs, contents=True)
    return files is not None and not any(it is None or MARKER.search(it.content) for it in files)


def tail(log: Path, length: int = TAIL_LENGTH) -> str:
    """The last `length` characters of a file, however long it is; empty if there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4 * length))
            return file.read().decode(errors="replace")[-length:]
    except OSError:
        return ""
