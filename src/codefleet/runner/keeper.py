"""The keeper of one agent: a tiny separate program, so that the agent outlives any runner.

    python -I -S keeper.py FOLDER

It reads FOLDER/start.json, starts the agent with its output going straight into files, records both
processes in keeper.json, and waits. When the agent has ended, it ends all that the agent left
running and writes exit.json. SIGTERM stops the agent gently; a second one, or SIGQUIT, kills it. An
agent that listens gets every complete line of input.jsonl, including later ones: whoever appends a
line writes a byte to the pipe `bell`; to close the input, create input.closed first. It uses only
the standard library, and little of it, because one keeper starts for every run.
"""

import _thread
import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

PR_SET_CHILD_SUBREAPER = 36
STOPS = {signal.SIGTERM, signal.SIGQUIT}
HEARD = {signal.SIGCHLD, *STOPS}
DEAF = {signal.SIGINT, signal.SIGHUP}
IGNORED_BY_PYTHON = {signal.SIGPIPE, signal.SIGXFSZ}
LOCK = 3  # the lock on the agent's worktree: held by us, not passed to the agent
APPEND = os.O_CREAT | os.O_APPEND | os.O_WRONLY
LEFTOVERS_GRACE_S = 0.5
KILL_AGAIN_S = 0.05
NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
ROOM_S = 1.0  # how long to wait before checking for room again
GIVE_UP_S = 10.0  # a process stuck in the kernel outlives SIGKILL; the record must not wait for it


def main(folder: Path) -> None:
    """Keep one agent from its start to its record."""
    os.closerange(LOCK + 1, os.sysconf("SC_OPEN_MAX"))
    with suppress(OSError):  # started by hand, without one
        os.set_inheritable(LOCK, False)
    os.chdir(folder)
    mind_signals()
    hold_folder()
    # Whatever loses its parent below us becomes our child, even after setsid or a double fork.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start = json.loads(Path("start.json").read_text())
    agent, error = start_agent(start)
    status, force_at = wait_for(agent, signal.Signals[start["stop_signal"]], start["grace_s"])
    orphans = end_leftovers(force_at or time.monotonic() + LEFTOVERS_GRACE_S)
    code = os.waitstatus_to_exitcode(status)
    record = {
        "code": None if error or code < 0 else code,
        "signal": -code if code < 0 else None,
        "orphans": orphans,
        "stopped": force_at is not None,
        "error": error or None,
        "ended_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    write_when_there_is_room("exit.json", record)


def mind_signals() -> None:
    """Receive stops and ended children only in `listen`, and ignore a terminal's Ctrl-C."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    for heard in HEARD:
        signal.signal(heard, signal.SIG_DFL)
    for deaf in DEAF:
        signal.signal(deaf, signal.SIG_IGN)


def hold_folder() -> None:
    """A folder has only one keeper ever: the lock stops a second one, keeper.json a later one."""
    lock = os.open("keeper.lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("another keeper holds this folder")
    if Path("keeper.json").exists():
        sys.exit("the agent of this folder has already been started")
    if not Path("start.json").exists():
        sys.exit("this folder was abandoned before its keeper started")


def start_agent(start: dict[str, Any]) -> tuple[int, str]:
    """Start the agent; return its pid and, if it could not be run, why."""
    gate, open_gate = os.pipe()
    problem, tell_problem = os.pipe()
    stdin, feeding = open_input(start)
    agent = os.fork()
    if agent == 0:
        os.close(open_gate)
        become_agent(start, stdin, gate, tell_problem)
    os.close(tell_problem)
    os.close(stdin)
    # The agent waits at the gate until it is on record: no unrecorded agent can ever run.
    write_whole("keeper.json", {"keeper": identity(os.getpid()), "agent": identity(agent)})
    os.write(open_gate, b"!")
    Path("start.json").unlink()  # its environment may contain keys
    error = os.read(problem, 4096).decode(errors="replace")  # closed once the program runs
    leave_starter()
    if feeding:
        # A thread, because an agent that does not read must not keep us from stopping it.
        _thread.start_new_thread(feed, feeding)
    return agent, error


def open_input(start: dict[str, Any]) -> tuple[int, tuple[int, int] | None]:
    """The agent's input and, if it listens, what the feeder needs: its pipe and the bell."""
    if not start["listens"]:
        return os.open(start["stdin"] or os.devnull, os.O_RDONLY), None
    os.mkfifo("bell", 0o600)
    stdin, into = os.pipe()
    return stdin, (into, os.open("bell", os.O_RDWR))  # also to write: it never reads as closed


def feed(into: int, bell: int) -> None:
    """Pass on complete lines as they arrive, until the input is closed or nobody reads it."""
    with suppress(OSError), Path("input.jsonl").open("rb") as lines:
        is_last = False
        while not is_last:
            is_last = Path("input.closed").exists()
            text = lines.read()
            whole = text.rfind(b"\n") + 1
            lines.seek(whole - len(text), os.SEEK_CUR)
            while whole:
                sent = os.write(into, text[:whole])
                text, whole = text[sent:], whole - sent
            if not is_last:
                os.read(bell, 4096)
    os.close(into)


def become_agent(start: dict[str, Any], stdin: int, gate: int, tell_problem: int) -> NoReturn:
    """In the forked child: wait at the gate, then exec the agent program."""
    program, *_ = argv = start["argv"]
    try:
        os.setsid()
        put_mark(start["mark"])
        connect_files(stdin)
        for name in DEAF | IGNORED_BY_PYTHON:
            signal.signal(name, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if os.read(gate, 1):
            os.chdir(start["cwd"])
            os.execvpe(program, argv, start["env"])
    except Exception as reason:
        why = getattr(reason, "strerror", None) or reason
        text = f"cannot run {program} in {start['cwd']}: {why}"
        os.write(tell_problem, text.encode(errors="replace")[:2000])
    os._exit(127)


def put_mark(mark: int | None) -> None:
    """Set a resource limit that limits nothing but marks everything the agent starts."""
    if mark is not None:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_RTTIME, (mark, mark))


def connect_files(stdin: int) -> None:
    """Use files, not pipes: no output is lost when the keeper or the runner ends."""
    os.dup2(stdin, 0)
    os.dup2(os.open("stdout.jsonl", APPEND, 0o600), 1)
    os.dup2(os.open("stderr.log", APPEND, 0o600), 2)


def leave_starter() -> None:
    """Close the pipe to the runner to signal success; later errors go to the log."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open("stderr.log", APPEND, 0o600), 2)


def wait_for(agent: int, stop_signal: int, grace_s: float) -> tuple[int, float | None]:
    """Wait for the agent and pass on a stop; return its status and, if stopped, its deadline."""
    force_at: float | None = None
    while (status := reaped(agent)) is None:
        heard = listen(force_at)
        if heard == signal.SIGTERM and force_at is None:
            ask_to_stop(agent, stop_signal)
            force_at = time.monotonic() + grace_s
        elif heard in STOPS:
            force_at = time.monotonic()
        if force_at is not None and time.monotonic() >= force_at:
            send(signal.SIGKILL, descendants(os.getpid()))
    return status, force_at


def ask_to_stop(agent: int, stop_signal: int) -> None:
    """Signal the agent's whole group, as a terminal would: wrapper scripts forward nothing."""
    try:
        os.killpg(agent, stop_signal)
    except ProcessLookupError:  # it has no group of its own yet
        os.kill(agent, stop_signal)


def end_leftovers(gentle_until: float) -> int:
    """End whatever the agent left running; returns how many processes that were."""
    found: set[int] = set()
    give_up_at = max(gentle_until, time.monotonic()) + GIVE_UP_S
    while any_left() and time.monotonic() < give_up_at:
        left = descendants(os.getpid())
        if time.monotonic() < gentle_until:
            send(signal.SIGTERM, left - found)
        else:
            send(signal.SIGKILL, left)
        found |= left
        if listen(gentle_until) in STOPS:
            gentle_until = time.monotonic()
    return len(found)


def listen(until: float | None) -> int | None:
    """Sleep until a signal arrives, or until that time (but long enough for a kill to work)."""
    if until is None:
        return signal.sigwaitinfo(HEARD).si_signo
    heard = signal.sigtimedwait(HEARD, max(KILL_AGAIN_S, until - time.monotonic()))
    return heard.si_signo if heard else None


def reaped(agent: int) -> int | None:
    """Reap everything that has ended, orphans too; the agent's status once it has ended."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == agent:
            return status
        if pid == 0:
            return None


def any_left() -> bool:
    """Reap what has ended; a subreaper without children has no descendants either."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def descendants(pid: int) -> set[int]:
    """All descendants of this process that can be found while the tree changes."""
    found: set[int] = set()
    ahead = [pid]
    while ahead:
        new = children(ahead.pop()) - found
        found |= new
        ahead += new
    return found


def children(pid: int) -> set[int]:
    found: set[int] = set()
    with suppress(OSError):  # it has ended meanwhile
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found |= {int(child) for child in (thread / "children").read_text().split()}
    return found


def send(what: signal.Signals, pids: set[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, what)


def identity(pid: int) -> dict[str, int]:
    """A unique process: pids are reused, but not with the same start time."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return {"pid": pid, "started": int(stat.rpartition(")")[2].split()[19])}


def write_when_there_is_room(name: str, record: dict[str, Any]) -> None:
    """Wait while the disk is full, so that a good run does not count as crashed."""
    while True:
        try:
            return write_whole(name, record)
        except OSError as trouble:
            if trouble.errno not in NO_ROOM or listen(time.monotonic() + ROOM_S) in STOPS:
                raise


def write_whole(name: str, record: dict[str, Any]) -> None:
    """Write atomically, even across a power cut."""
    draft = Path(f"{name}.draft")
    with draft.open("w") as file:
        json.dump(record, file)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
