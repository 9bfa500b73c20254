"""Process groups, which are alike on all platforms but for what they say of zombies."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal


def send(leader: int, what: "signal.Signals") -> bool:
    """Signal a whole process group; False if nothing is left of it that we may signal."""
    try:
        os.killpg(leader, what)
    except (ProcessLookupError, PermissionError):  # the latter on macOS, if all are zombies
        return False
    return True
