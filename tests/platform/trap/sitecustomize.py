"""Take away what only Linux has, in this process and all Python processes that it starts.

What Python offers on Linux alone is removed, so that a use of it fails as it would on a Mac. The
files of /proc and /sys remain, because psutil needs them; code of ours that opens one is recorded
and refused. Python loads this file by itself if its folder is on the PYTHONPATH; a keeper, which
ignores that, is started through it.
"""

import importlib
import os
import runpy
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

RECORD = "TEST_TRAP"
"""The variable with the file in which every breach is recorded."""
GONE = {
    "os": (
        *("pidfd_open", "waitid", "sched_getaffinity", "sched_setaffinity", "memfd_create"),
        *("O_TMPFILE", "O_PATH", "eventfd", "pipe2", "splice", "copy_file_range", "getrandom"),
        *("posix_fallocate", "posix_fadvise", "getxattr", "setxattr", "unshare", "setns"),
    ),
    "signal": ("pidfd_send_signal", "sigtimedwait", "sigwaitinfo", "SIGPOLL", "SIGPWR"),
    "resource": ("prlimit", "RLIMIT_RTTIME", "RLIMIT_NICE", "RLIMIT_MSGQUEUE", "RLIMIT_RTPRIO"),
    "select": ("epoll",),
    "time": ("CLOCK_BOOTTIME", "clock_settime"),
    "fcntl": ("F_OFD_SETLK", "F_OFD_SETLKW", "F_OFD_GETLK", "F_ADD_SEALS"),
    "socket": ("SO_PEERCRED", "TCP_USER_TIMEOUT", "AF_NETLINK"),
}
FILES = ("/proc", "/sys")
OPENING = {"open", "os.listdir", "os.scandir"}
KEEPER = "process/keeper.py"


def arm() -> None:
    for module, names in GONE.items():
        for name in names:
            vars(importlib.import_module(module)).pop(name, None)
    sys.addaudithook(_watch)
    _spawn: Any = os.posix_spawn

    def spawn(path: Any, argv: Sequence[str], *rest: Any, **options: Any) -> int:
        at = next((n for n, word in enumerate(argv) if str(word).endswith(KEEPER)), None)
        if at is not None:
            argv = [*argv[:at], __file__, *argv[at:]]
        pid: int = _spawn(path, argv, *rest, **options)
        return pid

    vars(os)["posix_spawn"] = spawn


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if event == "ctypes.dlopen" or (event in OPENING and _is_linux_only(args[0])):
        where = _our_code(sys._getframe(1))
        if where:
            with open(os.environ[RECORD], "a") as record:  # noqa: PTH123  # keepers import little
                record.write(f"{where}: {event} {args[0]!r}\n")
            raise RuntimeError(f"{event} {args[0]!r} works on Linux alone")


def _is_linux_only(path: object) -> bool:
    text = os.fsdecode(path) if isinstance(path, bytes | str) else ""
    return any(text == folder or text.startswith(f"{folder}/") for folder in FILES)


def _our_code(frame: FrameType | None) -> str:
    """The line of ours that asked, unless a library asked for itself."""
    while frame:
        file = frame.f_code.co_filename
        if "/src/codefleet/" in file:
            return f"{file}:{frame.f_lineno}"
        if "/site-packages/" in file:
            return ""
        frame = frame.f_back
    return ""


if RECORD in os.environ:
    arm()
if __name__ == "__main__":
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
