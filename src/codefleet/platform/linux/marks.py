"""A mark in a resource limit that limits nothing: the CPU time of real-time processes.

Every child inherits it, through `setsid`, double forks and exec, and it cannot be removed without
privileges.
"""

import resource

LINE = "Max realtime timeout"


def own() -> int:
    limit = getattr(resource, "RLIMIT_RTTIME", None)  # not every libc has it
    return 0 if limit is None else resource.getrlimit(limit)[1]


def of(pid: int) -> int:
    try:
        return resource.prlimit(pid, resource.RLIMIT_RTTIME)[1]
    except (OSError, AttributeError):  # another user's, or a libc without this limit
        return _listed(pid)


def put(pid: int, number: int) -> None:
    try:
        resource.prlimit(pid, resource.RLIMIT_RTTIME, (number, number))
    except (OSError, ValueError):
        return


def _listed(pid: int) -> int:
    """What the kernel's list of its limits says, which everybody can read."""
    try:
        with open(f"/proc/{pid}/limits", encoding="ascii") as limits:
            _, found, rest = limits.read().partition(LINE)
    except OSError:
        return 0
    hard = rest.split(maxsplit=2)[1] if found else "0"
    return int(hard) if hard.isdigit() else resource.RLIM_INFINITY
