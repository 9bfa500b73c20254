"""Recording how a run ended that did not deliver, and whether that costs an attempt."""

import errno
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from pathlib import Path

from codefleet.config import Config
from codefleet.domain.errors import FleetError, Unreachable, WorkspaceTrouble
from codefleet.domain.model import Run, Task
from codefleet.domain.retries import begun
from codefleet.domain.words import Outcome, Reason
from codefleet.fleet.dispatch import Dispatch
from codefleet.runner.lease import Lease, retry_write
from codefleet.runner.limits import rate_limits
from codefleet.runner.run import verdict
from codefleet.runner.run.verdict import Failed, Released

NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
NO_ROOM_SAID = ("No space left on device", "Disk quota exceeded")
ROOM_PAUSE = timedelta(seconds=30)


async def record_verdict(
    ended: verdict.Verdict, lease: Lease, settings: Config, earlier: Sequence[Run]
) -> Task | None:
    """End the run with this verdict; returns the updated task, or None if the run delivered."""
    fleet = lease.fleet
    match ended:
        case verdict.Failed() as bad:
            return await lease.end(
                lambda run: Dispatch(fleet).fail(run, bad.reason, bad.note, settings)
            )
        case verdict.Released(note, None, Reason.RATE_LIMIT | Reason.CRASHED as reason):
            until = _rest_after_limit(await fleet.now(), earlier, settings)
            return await lease.end(
                lambda run: Dispatch(fleet).release(run, note, until=until, reason=reason)
            )
        case verdict.Released(note, until, Reason.QUOTA | Reason.AUTH as reason):
            refused = rate_limits.Refusal(reason, note, until)
            rest = await rate_limits.rest_after(refused, lease.run, settings, fleet)
            await retry_write(lambda: Dispatch(fleet).rest(rest))
            return await lease.end(lambda run: Dispatch(fleet).release(run, note, reason=reason))
        case verdict.Released(note, until, reason):
            return await lease.end(
                lambda run: Dispatch(fleet).release(run, note, until=until, reason=reason)
            )
        case verdict.Asked(asks):
            return await lease.end(lambda run: Dispatch(fleet).ask(run, asks))
    return None


def _rest_after_limit(now: datetime, earlier: Sequence[Run], settings: Config) -> datetime:
    """Exponential backoff for a limit without a reset time."""
    times = sum(1 for _ in takewhile(_was_limited, reversed(begun(earlier))))
    rest = min(settings.limit_rest_s * float(2 ** min(times, 30)), settings.longest_limit_rest_s)
    return now + timedelta(seconds=rest)


def _was_limited(run: Run) -> bool:
    return run.outcome is Outcome.RELEASED and run.reason in (Reason.RATE_LIMIT, Reason.CRASHED)


def verdict_on_error(trouble: Exception, repo: Path, host: str, now: datetime) -> Failed | Released:
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
    if isinstance(trouble, WorkspaceTrouble):  # it may contain git's own message
        return any(said in trouble.problem for said in NO_ROOM_SAID)
    return isinstance(trouble, OSError) and trouble.errno in NO_ROOM


def _reason_of(trouble: FleetError) -> Reason:
    return Reason.CODER_MISSING if trouble.code in ("not_found", "bad_config") else Reason.WORKSPACE
