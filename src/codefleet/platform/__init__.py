"""What differs between operating systems, behind one door: Linux, or plain POSIX elsewhere.

The choice is made once per process: Linux on Linux, POSIX on anything else or if FLEET_PLATFORM is
`posix`. Both offer the same parts, which `parts` describes. Nothing here imports the rest of the
fleet, so that a keeper, which runs without any installed package, can use it as well.
"""

import os
import sys

TYPE_CHECKING = False  # `typing` takes longer to load than all that a keeper needs
if TYPE_CHECKING:
    from codefleet.platform.parts import Children, Machine, Marks, Processes, Tree

VARIABLE = "FLEET_PLATFORM"
LINUX, POSIX = "linux", "posix"


_IS_POSIX = os.environ.get(VARIABLE) == POSIX or sys.platform != LINUX


def name() -> str:
    """The platform in use."""
    return POSIX if _IS_POSIX else LINUX


def processes() -> "Processes":
    """Other processes: which there are, what they do, and how to end them."""
    if name() == LINUX:
        from codefleet.platform.linux import processes as linux

        return linux
    from codefleet.platform.posix import processes as posix

    return posix


def children() -> "Children":
    """Programs of ours that run for moments."""
    if name() == LINUX:
        from codefleet.platform.linux import children as linux

        return linux
    from codefleet.platform.posix import children as posix

    return posix


def marks() -> "Marks":
    """A mark that a process cannot remove, and that all its children inherit."""
    if name() == LINUX:
        from codefleet.platform.linux import marks as linux

        return linux
    from codefleet.platform.posix import marks as posix

    return posix


def own_mark() -> int:
    """The mark of this process, if this system has marks: whatever FLEET_PLATFORM says, because an
    agent could set that too."""
    if sys.platform != LINUX:
        return 0
    from codefleet.platform.linux import marks as linux

    return linux.own()


def machine() -> "Machine":
    """This machine: which boot this is, and what it has left."""
    if name() == LINUX:
        from codefleet.platform.linux import machine as linux

        return linux
    from codefleet.platform.posix import machine as posix

    return posix


def tree(variable: str) -> "Tree":
    """All that a child of ours starts from now on, with this `NAME=value` in its environment."""
    if name() == LINUX:
        from codefleet.platform.linux.tree import Adopted

        return Adopted()
    from codefleet.platform.posix.tree import Followed

    return Followed(variable)
