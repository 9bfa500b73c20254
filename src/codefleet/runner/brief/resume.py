"""How a run continues where the last one stopped: in its session, or from its checkpoint."""

from collections.abc import Sequence

from codefleet.coder import Coder
from codefleet.domain.model import Run
from codefleet.domain.retries import begun
from codefleet.domain.words import Outcome, Reason
from codefleet.runner.brief import checkpoint
from codefleet.runner.paths import Paths

NEEDS_A_FRESH_SESSION = (Reason.CONTEXT_FULL, Reason.SESSION_LOST)


def session(earlier: Sequence[Run], coder: Coder, host: str) -> str | None:
    """The session to resume: the last run's, if that was interrupted and did not fail.

    Programs keep their sessions in local files, so it must be on the same machine.
    """
    last = _last(earlier)
    if not last or last.coder != coder.name or last.reason in NEEDS_A_FRESH_SESSION:
        return None
    if last.host != host:
        return None
    can = coder.abilities
    interrupted = last.outcome in (Outcome.ASKED, Outcome.RELEASED)
    crashed = last.reason is Reason.CRASHED
    goes_on = (can.resume and interrupted) or (can.resume_after_crash and crashed)
    return last.session if goes_on else None


async def left(earlier: Sequence[Run], coder: Coder, paths: Paths, host: str) -> str:
    """What the last run left for a run that cannot, or may not be able to, resume its session."""
    is_lost = (ended := _last(earlier)) is not None and ended.reason is Reason.SESSION_LOST
    last = _last(begun(earlier))
    if not last or (coder.abilities.remembers and session(earlier, coder, host)):
        return ""
    if last.outcome is not Outcome.RELEASED and not is_lost:
        return ""
    changes = last.evidence.changes if last.evidence else ()
    known = checkpoint.Known(last.note, last.said, changes=changes)  # of a run on another machine
    return await checkpoint.read(paths.run(last)) or checkpoint.compose(known)


def _last(earlier: Sequence[Run]) -> Run | None:
    """The last run that was not given back before it began."""
    return next((run for run in reversed(earlier) if run.worktree), None)
