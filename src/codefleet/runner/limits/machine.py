"""What this machine, or the container we are in, has left for more agents."""

import os

from codefleet import platform


def memory_left() -> float:
    """Bytes of memory that new processes may take."""
    return platform.machine().memory_left()


def processors() -> int:
    """The number of processors that we may use."""
    return platform.machine().cpus()


def load() -> float:
    """The load average of the last minute, per processor."""
    return round(os.getloadavg()[0] / processors(), 2)


def processes_left() -> float:
    """How many more processes and threads we may start."""
    return platform.machine().processes_left()
