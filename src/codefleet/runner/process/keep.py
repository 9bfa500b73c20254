"""What a keeper does, from the start of one agent to its record.

It reads FOLDER/start.json, starts the agent with its output going straight into files, records both
processes in keeper.json, and waits. When the agent has ended, it ends all that the agent left
running and writes exit.json. SIGTERM stops the agent gently; a second one, or SIGQUIT, kills it. An
agent that listens gets every complete line of input.jsonl, including later ones: whoever appends a
line writes a byte to the pipe `bell`; to close the input, create input.closed first.

A keeper starts for every run and stays as long, so time and memory count. It imports only what it
cannot do without: no package, and little of the standard library. Loading `pathlib`, `json`,
`contextlib` and the enums of `signal` would take longer than starting Python.
"""

import _thread
import errno
import fcntl
import os
import sys
import time

from codefleet import lean_json, platform
from codefleet.platform import groups

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from io import BufferedReader
    from typing import Any, NoReturn

    from codefleet.platform.parts import Tree
else:
    import _signal as signal

STOPS = {signal.SIGTERM, signal.SIGQUIT}
HEARD = {signal.SIGCHLD, *STOPS}
TIME_IS_UP = signal.SIGALRM
DEAF = {signal.SIGINT, signal.SIGHUP}
IGNORED_BY_PYTHON = {signal.SIGPIPE, signal.SIGXFSZ}
LOCK = 3  # the lock on the agent's worktree: held by us, not passed to the agent
MOST_FILES = 1 << 20
APPEND = os.O_CREAT | os.O_APPEND | os.O_WRONLY
LEFTOVERS_GRACE_S = 0.5
KILL_AGAIN_S = 0.05
NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
ROOM_S = 1.0  # how long to wait before checking for room again
GIVE_UP_S = 10.0  # a process stuck in the kernel outlives SIGKILL; the record must not wait for it


def keep(folder: str) -> None:
    """Keep one agent from its start to its record."""
    os.closerange(LOCK + 1, min(os.sysconf("SC_OPEN_MAX"), MOST_FILES))
    try:
        os.set_inheritable(LOCK, False)
    except OSError:
        pass  # started by hand, without one
    os.chdir(folder)
    set_up_signals()
    hold_folder()
    with open("start.json", encoding="utf-8") as orders:
        start = lean_json.read(orders.read())
    tree = platform.tree(start["tag"])
    agent, error = start_agent(start, tree)
    stop_signal = getattr(signal, start["stop_signal"])
    status, force_at = wait_for(agent, tree, stop_signal, start["grace_s"])
    orphans = end_leftovers(tree, force_at or time.monotonic() + LEFTOVERS_GRACE_S)
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


def set_up_signals() -> None:
    """Receive stops and ended children only in `listen`, and ignore a terminal's Ctrl-C."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {*HEARD, TIME_IS_UP})
    for heard in HEARD:
        # By default, some systems discard SIGCHLD even if it is blocked.
        signal.signal(heard, never_called)
    for deaf in DEAF:
        signal.signal(deaf, signal.SIG_IGN)


def never_called(number: int, frame: object) -> None:
    """Never called, because the signal is blocked."""


def hold_folder() -> None:
    """A folder has only one keeper ever: the lock stops a second one, keeper.json a later one."""
    lock = os.open("keeper.lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("another keeper holds this folder")
    if os.path.exists("keeper.json"):
        sys.exit("the agent of this folder has already been started")
    if not os.path.exists("start.json"):
        sys.exit("this folder was abandoned before its keeper started")


def start_agent(start: "dict[str, Any]", tree: "Tree") -> tuple[int, str]:
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
    who = {"keeper": os.getpid(), "agent": agent}
    started = {name: {"pid": pid, "started": tree.started(pid)} for name, pid in who.items()}
    write_whole("keeper.json", started)
    os.write(open_gate, b"!")
    os.unlink("start.json")  # its environment may contain keys
    error = os.read(problem, 4096).decode(errors="replace")  # closed once the program runs
    detach_from_starter()
    if feeding:
        # A thread, because an agent that does not read must not keep us from stopping it.
        _thread.start_new_thread(feed, feeding)
    return agent, error


def open_input(start: "dict[str, Any]") -> tuple[int, tuple[int, int] | None]:
    """The agent's input and, if it listens, what the feeder needs: its pipe and the bell."""
    if not start["listens"]:
        return os.open(start["stdin"] or os.devnull, os.O_RDONLY), None
    os.mkfifo("bell", 0o600)
    stdin, into = os.pipe()
    return stdin, (into, os.open("bell", os.O_RDWR))  # also to write: it never reads as closed


def feed(into: int, bell: int) -> None:
    """Pass on complete lines as they arrive, until the input is closed or nobody reads it."""
    try:
        with open("input.jsonl", "rb") as lines:
            is_last = False
            while not is_last:
                is_last = os.path.exists("input.closed")
                pass_on(lines, into)
                if not is_last:
                    os.read(bell, 4096)
    except OSError:
        pass  # nobody reads it
    os.close(into)


def pass_on(lines: "BufferedReader", into: int) -> None:
    """Write the complete lines that are there; the rest is read again next time."""
    text = lines.read()
    whole = text.rfind(b"\n") + 1
    lines.seek(whole - len(text), os.SEEK_CUR)
    while whole:
        sent = os.write(into, text[:whole])
        text, whole = text[sent:], whole - sent


def become_agent(start: "dict[str, Any]", stdin: int, gate: int, tell_problem: int) -> "NoReturn":
    """In the forked child: wait at the gate, then exec the agent program."""
    program, *_ = argv = start["argv"]
    try:
        os.setsid()
        if start["mark"] is not None:
            platform.marks().put(os.getpid(), start["mark"])
        connect_files(stdin)
        for name in HEARD | DEAF | IGNORED_BY_PYTHON:
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


def connect_files(stdin: int) -> None:
    """Use files, not pipes: no output is lost when the keeper or the runner ends."""
    os.dup2(stdin, 0)
    os.dup2(os.open("stdout.jsonl", APPEND, 0o600), 1)
    os.dup2(os.open("stderr.log", APPEND, 0o600), 2)


def detach_from_starter() -> None:
    """Close the pipe to the runner to signal success; later errors go to the log."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open("stderr.log", APPEND, 0o600), 2)


def wait_for(
    agent: int, tree: "Tree", stop_signal: "signal.Signals", grace_s: float
) -> tuple[int, float | None]:
    """Wait for the agent and pass on a stop; return its status and, if stopped, its deadline."""
    force_at: float | None = None
    while (status := reaped(agent)) is None:
        heard = listen(force_at, tree.look_every)
        tree.look(agent)  # before it is reaped: afterwards, its pid may be another's
        if heard == signal.SIGTERM and force_at is None:
            ask_to_stop(agent, stop_signal)
            force_at = time.monotonic() + grace_s
        elif heard in STOPS:
            force_at = time.monotonic()
        if force_at is not None and time.monotonic() >= force_at:
            tree.send(signal.SIGKILL, tree.living())
    return status, force_at


def ask_to_stop(agent: int, stop_signal: "signal.Signals") -> None:
    """Signal the agent's whole group, as a terminal would: wrapper scripts forward nothing."""
    if not groups.send(agent, stop_signal):  # it has no group of its own yet, or has just ended
        try:
            os.kill(agent, stop_signal)
        except ProcessLookupError:
            pass


def end_leftovers(tree: "Tree", gentle_until: float) -> int:
    """End whatever the agent left running; returns how many processes that were."""
    found: set[int] = set()
    give_up_at = max(gentle_until, time.monotonic()) + GIVE_UP_S
    while tree.any_left() and time.monotonic() < give_up_at:
        left = tree.living()
        if time.monotonic() < gentle_until:
            tree.send(signal.SIGTERM, left - found)
        else:
            tree.send(signal.SIGKILL, left)
        found |= left
        if listen(gentle_until, tree.look_every and KILL_AGAIN_S) in STOPS:
            gentle_until = time.monotonic()
    return len(found)


def listen(until: float | None, within: float | None = None) -> int | None:
    """Sleep until a signal arrives, or until that time (but long enough for a kill to work)."""
    left = None if until is None else max(KILL_AGAIN_S, until - time.monotonic())
    bounds = [bound for bound in (left, within) if bound is not None]
    signal.setitimer(signal.ITIMER_REAL, min(bounds, default=0))  # 0: no bound
    heard = signal.sigwait({*HEARD, TIME_IS_UP})
    return None if heard == TIME_IS_UP else heard


def reaped(agent: int) -> int | None:
    """Reap everything that has ended, orphans too; the agent's status once it has ended."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == agent:
            return status
        if pid == 0:
            return None


def write_when_there_is_room(name: str, record: "dict[str, Any]") -> None:
    """Wait while the disk is full, so that a good run does not count as crashed."""
    while True:
        try:
            return write_whole(name, record)
        except OSError as trouble:
            if trouble.errno not in NO_ROOM or listen(time.monotonic() + ROOM_S) in STOPS:
                raise


def write_whole(name: str, record: "dict[str, Any]") -> None:
    """Write atomically, even across a power cut."""
    draft = f"{name}.draft"
    with open(draft, "w", encoding="utf-8") as file:
        file.write(lean_json.written(record))
        file.flush()
        os.fsync(file.fileno())
    os.rename(draft, name)
