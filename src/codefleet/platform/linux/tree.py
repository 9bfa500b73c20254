"""The tree below a keeper: as a subreaper, it inherits whatever loses its parent below it."""

import os
from _ctypes import call_function, dlopen, dlsym  # `ctypes` takes long to load

from codefleet.platform.linux import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal

PR_SET_CHILD_SUBREAPER = 36


class Adopted:
    """Nothing escapes, even after setsid or a double fork: orphans become our children."""

    look_every: float | None = None

    def __init__(self) -> None:
        ourselves = dlopen(None, os.RTLD_LAZY)  # type: ignore[arg-type]  # as `ctypes` does
        prctl = dlsym(ourselves, "prctl")
        call_function(prctl, (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))

    def look(self, agent: int) -> None:
        """The kernel keeps the tree together."""

    def any_left(self) -> bool:
        """Reap what has ended; a subreaper without children has no descendants either."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return False
        return True

    def living(self) -> set[int]:
        return stat.descendants(os.getpid())

    def send(self, what: "signal.Signals", pids: set[int]) -> None:
        for pid in pids:
            try:
                os.kill(pid, what)
            except (ProcessLookupError, PermissionError):
                continue

    def started(self, pid: int) -> int:
        return int(stat.fields(pid)[stat.STARTED])
