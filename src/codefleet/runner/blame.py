"""Whether an error on our side uses up an attempt of the task."""

import errno
from datetime import datetime, timedelta
from pathlib import Path

from codefleet.domain.errors import FleetError, Unreachable, Workspace
from codefleet.domain.words import Reason
from codefleet.runner.verdict import Failed, Released

NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
NO_ROOM_SAID = ("No space left on device", "Disk quota exceeded")
ROOM_PAUSE = timedelta(seconds=30)


def blame(trouble: Exception, repo: Path, host: str, now: datetime) -> Failed | Released:
    """Fail the run, or release it: a missing repo or remote or a full disk is not its fault."""
    problem = trouble.problem if isinstance(trouble, FleetError) else f"unexpected: {trouble!r}"
    kept = f"{problem}; its work is kept on {host}"
    if _lacks_room(trouble):
        return Released(kept, now + ROOM_PAUSE)
    if isinstance(trouble, FleetError):
        if isinstance(trouble, Unreachable) or not repo.is_dir():
            return Released(kept)
        return Failed(_reason_of(trouble), f"{problem}\n{trouble.hint}")
    return Failed(Reason.UNKNOWN, problem)


def _lacks_room(trouble: Exception) -> bool:
    if isinstance(trouble, Workspace):  # it may contain git's own message
        return any(said in trouble.problem for said in NO_ROOM_SAID)
    return isinstance(trouble, OSError) and trouble.errno in NO_ROOM


def _reason_of(trouble: FleetError) -> Reason:
    return Reason.CODER_MISSING if trouble.code in ("not_found", "bad_config") else Reason.WORKSPACE
