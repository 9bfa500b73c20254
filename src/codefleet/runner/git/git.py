"""Git as the fleet uses it: no prompts, editors, hooks, shells, or settings made by agents."""

import asyncio
import os
import re
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import translate
from functools import cache
from pathlib import Path
from typing import NamedTuple

from codefleet import platform
from codefleet.domain.errors import WorkspaceTrouble
from codefleet.platform import groups
from codefleet.platform.parts import Child, Files
from codefleet.runner.git.output_files import content, output_files
from codefleet.runner.git.slot_lock import inherited
from codefleet.runner.git.trusted_view import seen_by_git

QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_ASKPASS": "true",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
LONGEST_FAREWELL_S = 10.0
PLAIN_DIFF = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
"""What makes a diff depend on nothing that an agent configured."""
MACHINE = (
    *("-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0"),
    *("-c", "core.fsmonitor=false", "-c", "log.showSignature=false"),  # these start programs
    *("-c", "core.trustctime=true", "-c", "core.checkStat=default"),  # times can be set back
    *("-c", "core.safecrlf=false"),  # work is saved whatever its line ends
    *("-c", "submodule.recurse=false"),  # what is in a submodule is its own repository's affair
    *("-c", "protocol.ext.allow=never"),  # an address that is a command
    *("-c", "advice.graftFileDeprecated=false"),  # the file that it warns of is ours, and empty
    *("--no-replace-objects",),  # a commit is what was reviewed, whatever `git replace` says
)
HERE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}  # old gits know only the second
NEED_NO_FILES = ("cat-file", "for-each-ref", "merge-base", "rev-list", "rev-parse", "update-ref")
"""Commands about commits, which a partial clone has: what they do not find is not fetched."""
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
_INHERITED = re.compile("|".join(map(translate, INHERITED)))


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
        with output_files(stdin) as files:
            child = await self._child(args, files, env, holds, leads=within_s is not None)
            try:
                code = await _ended(child, within_s)
            except TimeoutError:
                return Done(-signal.SIGKILL, "", f"fatal: no answer within {within_s:.0f} s")
            return Done(
                code,
                content(files.stdout).decode(errors="surrogateescape"),
                content(files.stderr).decode(errors="replace").strip(),
            )

    async def _child(
        self,
        args: Sequence[str],
        files: Files,
        env: Mapping[str, str] | None,
        holds: Sequence[int],
        *,
        leads: bool,
    ) -> Child:
        try:
            return await platform.children().start(
                ("git", *MACHINE, *args),
                files,
                cwd=self.folder,
                env=self._environment(args[0], env),
                pass_fds=(*holds, *inherited(self.folder)),
                leads=leads,
            )
        except FileNotFoundError as missing:
            raise _missing(self.folder) from missing

    def _environment(self, command: str, more: Mapping[str, str] | None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if _is_inherited(name)}
        return {**kept, **QUIET, **self._told(command), **self._bounds(), **(more or {})}

    def _bounds(self) -> dict[str, str]:
        if self._looks_up:
            return {}
        whole = self.folder.absolute()
        bounds = {"GIT_CEILING_DIRECTORIES": str(whole.parent)}
        if (whole / ".git").exists():  # a mirror has no files
            bounds["GIT_WORK_TREE"] = str(whole)
        return bounds

    def _told(self, command: str) -> dict[str, str]:
        alone = HERE if command in NEED_NO_FILES else {}
        return {**seen_by_git(self.folder, command), **alone}

    async def start(
        self,
        *args: str,
        talks: bool = True,
        env: Mapping[str, str] | None = None,
        holds: Sequence[int] = (),
        leads: bool = False,
        mute: bool = False,
    ) -> asyncio.subprocess.Process:
        """Start a git to talk with; with `leads`, it can be killed with its children, and with
        `mute` its warnings are dropped."""
        try:
            return await asyncio.create_subprocess_exec(
                *("git", *MACHINE, *args),
                cwd=self.folder,
                env=self._environment(args[0], env),
                stdin=asyncio.subprocess.PIPE if talks else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL if mute else asyncio.subprocess.PIPE,
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


def failed(folder: Path, args: Sequence[str], done: Done) -> WorkspaceTrouble:
    how = (
        f"was killed by signal {-done.code}" if done.code < 0 else f"said: {done.err or done.code}"
    )
    return WorkspaceTrouble(
        f"git {args[0]} in {folder} {how}",
        hint=f"try it by hand: git -C {folder} {' '.join(args)}"[:300],
    )


async def _ended(child: Child, within_s: float | None) -> int:
    try:
        async with asyncio.timeout(within_s):
            return await child.wait()
    except (TimeoutError, asyncio.CancelledError):
        await _gone(child, spare=within_s is None)
        raise


async def _gone(child: Child, *, spare: bool) -> None:
    """Make sure git is gone: wait for it if it is to be spared, or kill it and its helpers."""
    if spare:
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_FAREWELL_S):
                await child.wait()
    elif child.returncode is None:
        groups.send(child.pid, signal.SIGKILL)
    if child.returncode is None:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()


def _missing(folder: Path) -> WorkspaceTrouble:
    if not folder.is_dir():
        return WorkspaceTrouble(f"there is no folder {folder}", hint="was it moved or deleted?")
    return WorkspaceTrouble("git is not installed", hint="install git 2.39 or newer")


@cache
def _is_inherited(name: str) -> bool:
    return _INHERITED.match(name) is not None
