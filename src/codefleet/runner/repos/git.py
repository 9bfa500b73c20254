"""Git as the fleet uses it: no prompts, editors, hooks, shells, or settings made by agents."""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import Workspace
from codefleet.runner.repos.slot_lock import inherited
from codefleet.runner.repos.trusted_view import seen_by_git

QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_ASKPASS": "true",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
LONGEST_FAREWELL_S = 10.0
MACHINE = (
    *("-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0"),
    *("-c", "core.fsmonitor=false", "-c", "log.showSignature=false"),  # these start programs
    *("-c", "core.safecrlf=false"),  # work is saved whatever its line ends
    *("-c", "submodule.recurse=false"),  # what is in a submodule is its own repository's affair
    *("-c", "protocol.ext.allow=never"),  # an address that is a command
    *("-c", "advice.graftFileDeprecated=false"),  # the file that it warns of is ours, and empty
    *("--no-replace-objects",),  # a commit is what was reviewed, whatever `git replace` says
)
INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "EMAIL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_*"),
    *("XDG_*", "SSH_*", "DBUS_SESSION_BUS_ADDRESS", "GIT_CONFIG_*", "GIT_AUTHOR_*"),
    *("GIT_COMMITTER_*", "GIT_SSH*", "GIT_SSL_*", "GIT_HTTP_*", "GIT_PROTOCOL*", "GIT_PROXY_*"),
    *("GIT_ALLOW_PROTOCOL", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_TRACE*", "GIT_TEST_*"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "NIX_SSL_CERT_FILE", "LD_LIBRARY_PATH"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)
"""What git needs to find its files, its user and other machines. Programs that it starts, such as
filters and credential helpers, get nothing else, and no API keys."""


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Git:
    """Git in one folder, which is a repository or a worktree itself.

    If an agent deleted its `.git`, git must not use a repository further up: the fleet's home may
    be inside one of yours. It does so only with `looks_up`. Its files are in this folder alone,
    whatever an agent set as `core.worktree` or `core.bare`.
    """

    def __init__(self, folder: Path, *, looks_up: bool = False) -> None:
        self.folder = folder
        self._looks_up = looks_up

    async def run(
        self,
        *args: str,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        holds: Sequence[int] = (),
        within_s: float | None = None,
    ) -> Done:
        """Run git and return how it ended; a negative code is the signal that killed it.

        `holds` are open files that git keeps open too: a lock on one lasts until git is gone, as
        does this process's lock on the folder. One that talks to another machine has a bound,
        `within_s`, after which it is killed.

        If cancelled, it still waits a while for git to end: that takes moments, and a killed git
        would leave its locks behind.
        """
        process = await self.start(
            *args, talks=stdin is not None, env=env, holds=holds, leads=within_s is not None
        )
        words = stdin.encode(errors="surrogateescape") if stdin is not None else None
        try:
            return await _ended(process, words, within_s)
        except TimeoutError:
            return Done(-signal.SIGKILL, "", f"fatal: no answer within {within_s:.0f} s")

    def _bounds(self) -> dict[str, str]:
        if self._looks_up:
            return {}
        whole = self.folder.absolute()
        bounds = {"GIT_CEILING_DIRECTORIES": str(whole.parent)}
        if (whole / ".git").exists():  # a mirror has no files
            bounds["GIT_WORK_TREE"] = str(whole)
        return bounds

    async def start(
        self,
        *args: str,
        talks: bool = True,
        env: Mapping[str, str] | None = None,
        holds: Sequence[int] = (),
        leads: bool = False,
    ) -> asyncio.subprocess.Process:
        """Start git and return the process; with `leads`, it can be killed with its children."""
        try:
            return await asyncio.create_subprocess_exec(
                *("git", *MACHINE, *args),
                cwd=self.folder,
                env=_environment(
                    {**seen_by_git(self.folder, args[0]), **self._bounds(), **(env or {})}
                ),
                stdin=asyncio.subprocess.PIPE if talks else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=(*holds, *inherited(self.folder)),
                start_new_session=leads,
            )
        except FileNotFoundError as missing:
            raise _missing(self.folder) from missing

    async def __call__(
        self,
        *args: str,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        holds: Sequence[int] = (),
    ) -> str:
        """Run git, which must succeed, and return what it printed."""
        done = await self.run(*args, stdin=stdin, env=env, holds=holds)
        if done.code:
            raise failed(self.folder, args, done)
        return done.out.rstrip("\n")


def failed(folder: Path, args: Sequence[str], done: Done) -> Workspace:
    how = (
        f"was killed by signal {-done.code}" if done.code < 0 else f"said: {done.err or done.code}"
    )
    return Workspace(
        f"git {args[0]} in {folder} {how}",
        hint=f"try it by hand: git -C {folder} {' '.join(args)}"[:300],
    )


async def _ended(
    process: asyncio.subprocess.Process, words: bytes | None, within_s: float | None
) -> Done:
    talk = asyncio.create_task(process.communicate(words))
    try:
        async with asyncio.timeout(within_s):
            out, err = await asyncio.shield(talk)
    except (TimeoutError, asyncio.CancelledError):
        if within_s is None:
            await asyncio.wait([talk], timeout=LONGEST_FAREWELL_S)
        else:
            _kill_all(process.pid)
        await _gone(process, talk)
        raise
    assert process.returncode is not None
    return Done(
        process.returncode,
        out.decode(errors="surrogateescape"),
        err.decode(errors="replace").strip(),
    )


async def _gone(
    process: asyncio.subprocess.Process, talk: asyncio.Task[tuple[bytes, bytes]]
) -> None:
    """Make sure git is gone, even if a child keeps its pipes open."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    await asyncio.wait([talk], timeout=1.0)
    talk.cancel()


def _kill_all(leader: int) -> None:
    """Kill a git that leads a process group, and the helpers it started."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _missing(folder: Path) -> Workspace:
    if not folder.is_dir():
        return Workspace(f"there is no folder {folder}", hint="was it moved or deleted?")
    return Workspace("git is not installed", hint="install git 2.39 or newer")


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if any(fnmatchcase(name, pattern) for pattern in INHERITED)
    }
    return {**kept, **QUIET, **more}
