"""Probing an agent program: is it installed, which version, which flags, is it logged in?

Nothing here uses tokens. A program gets the environment that its agents would get, an empty
working directory, no input, and a time limit.
"""

import asyncio
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from codefleet.coder import Answers, Assignment, Coder, Probe
from codefleet.coders.options import handed_on
from codefleet.domain.model import Run, RunId, RunnerId, Task, TaskId
from codefleet.platform import groups

ANSWERS_WITHIN_S = 30.0
GONE_WITHIN_S = 5.0
LONGEST_ANSWER = 1 << 20
VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
LONG_AGO = datetime.fromtimestamp(0, UTC)


class NoAnswer(Exception):
    """The program did not answer; the text says why."""


class Reply(NamedTuple):
    exit_code: int
    said: str


class Program(NamedTuple):
    """What is known about a coder's program; `silent` states what it did not answer, and why."""

    name: str
    path: str | None = None
    version: str | None = None
    missing_flags: tuple[str, ...] = ()
    logged_in: bool | None = None
    silent: str = ""


def calls(coder: Coder, options: Mapping[str, object]) -> list[Sequence[str]]:
    """How runs would call the program: to start and, if it can, to resume a session."""
    plain = {name: value for name, value in options.items() if name != "args"}
    sessions = (None, "session") if coder.abilities.resume else (None,)
    return [coder.start(sample(plain, session)).argv for session in sessions]


def flags(argv: Sequence[str]) -> list[str]:
    """The flags in a call, without their values and without what comes after a bare `--`."""
    words = list(argv[1:])
    options = words[: words.index("--")] if "--" in words else words
    return [word.partition("=")[0] for word in options if re.match(r"--?\w", word)]


def program(argv: Sequence[str]) -> str:
    """The program that a call runs: one of our bridges names it after a bare `--`."""
    bridged = argv[0] == sys.executable and "--" in argv
    return argv[list(argv).index("--") + 1] if bridged else argv[0]


async def examine(
    program: str, used: Sequence[str], probe: Probe, env: Mapping[str, str]
) -> Program:
    """Find a program and ask it all questions at once."""
    path = shutil.which(program, path=env.get("PATH"))
    if path is None:
        return Program(program)
    with tempfile.TemporaryDirectory(prefix="fleet-probe-") as folder:
        asked = [
            ask((path, *words), env, Path(folder)) if words else _nothing()
            for words in (probe.version, probe.help, probe.login)
        ]
        version, help, login = await asyncio.gather(*asked, return_exceptions=True)
    told = _told(probe, login, env)
    return Program(
        name=program,
        path=path,
        version=_version(version),
        missing_flags=_missing(help, [flag for flag in used if flag not in probe.hidden]),
        logged_in=probe.logged_in(told),
        silent="; ".join(str(each) for each in (version, help, login) if _failed(each)),
    )


async def ask(argv: Sequence[str], env: Mapping[str, str], folder: Path) -> Reply:
    """Call a program and read its output, within bounds."""
    words = " ".join((Path(argv[0]).name, *argv[1:]))
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=folder,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as reason:
        raise NoAnswer(f"`{words}` cannot be run: {reason.strerror or reason}") from reason
    try:
        async with asyncio.timeout(ANSWERS_WITHIN_S):
            said = await asyncio.gather(_some(process.stdout), _some(process.stderr))
            code = await process.wait()
    except TimeoutError:
        raise NoAnswer(f"`{words}` did not end within {ANSWERS_WITHIN_S:g} s") from None
    finally:
        await _killed(process)
    return Reply(code, "\n".join(said))


async def _killed(process: asyncio.subprocess.Process) -> None:
    """Kill a program and wait until it is gone, which asyncio tells once its output is read."""
    groups.send(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(GONE_WITHIN_S):
            await asyncio.gather(_some(process.stdout), _some(process.stderr))
            await process.wait()


async def _some(stream: asyncio.StreamReader | None) -> str:
    """The output up to a limit; the rest is discarded."""
    said = b""
    while stream and (more := await stream.read(1 << 16)):
        said = (said + more)[:LONGEST_ANSWER]
    return said.decode(errors="replace")


async def _nothing() -> None:
    return None


def _failed(reply: Reply | BaseException | None) -> bool:
    if isinstance(reply, BaseException) and not isinstance(reply, NoAnswer):
        raise reply
    return isinstance(reply, NoAnswer)


def _version(reply: Reply | BaseException | None) -> str | None:
    found = VERSION.search(reply.said) if isinstance(reply, Reply) else None
    return found[0] if found else None


def _missing(reply: Reply | BaseException | None, used: Sequence[str]) -> tuple[str, ...]:
    """The flags that its help does not name; none if it printed no help."""
    if not isinstance(reply, Reply):
        return ()
    known = set(re.findall(r"(?<![\w-])--?\w[\w-]*", reply.said))
    return tuple(dict.fromkeys(flag for flag in used if flag not in known))


def files_of(probe: Probe, env: Mapping[str, str]) -> Mapping[str, str]:
    """The contents of the program's files that show whether it is logged in."""
    variable, usual = probe.folder
    folder = Path(env.get(variable) or usual.replace("~", env.get("HOME", "~"), 1))
    return {name: text for name in probe.files if (text := _text(folder / name)) is not None}


def _told(probe: Probe, login: Reply | BaseException | None, env: Mapping[str, str]) -> Answers:
    files = files_of(probe, env)
    if isinstance(login, Reply):
        return Answers(login.exit_code, login.said, files, env)
    return Answers(files=files, env=env)


def _text(file: Path) -> str | None:
    try:
        with file.open(errors="replace") as opened:
            return opened.read(LONGEST_ANSWER)
    except OSError:
        return None


def sample(options: Mapping[str, object], session: str | None = None) -> Assignment:
    """A sample run, to see how a program would be called."""
    task = Task(
        id=TaskId("t"), title="A task", repo="repo", created_at=LONG_AGO, updated_at=LONG_AGO
    )
    run = Run(
        id=RunId("t.1"),
        task=task.id,
        number=1,
        agent="agent",
        runner=RunnerId("runner"),
        host="host",
        fence=1,
        lease_until=LONG_AGO,
        coder="coder",
        model=_model(options),
        started_at=LONG_AGO,
    )
    folder = Path("/nowhere")
    return Assignment(run, task, "", folder / "prompt.md", folder, handed_on(options), session)


def _model(options: Mapping[str, object]) -> str:
    """Any model; where it selects one of several agents and there is no default, the first."""
    agents = options.get("agents")
    if isinstance(agents, Mapping) and agents and "argv" not in options:
        return str(next(iter(agents)))
    return "model"
