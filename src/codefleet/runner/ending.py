"""Recording in the store how a run ended that did not deliver."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from codefleet.config import Config
from codefleet.domain.model import Run, Task
from codefleet.domain.persistence import begun
from codefleet.domain.words import Outcome, Reason
from codefleet.runner import verdict
from codefleet.runner.agents.redaction import redacted
from codefleet.runner.bounds import rests
from codefleet.runner.hold import Hold, insist


async def write_down(
    ended: verdict.Verdict, hold: Hold, settings: Config, earlier: Sequence[Run]
) -> Task | None:
    """End the run with this verdict; returns the updated task, or None if the run delivered."""
    fleet = hold.fleet
    match redacted(ended, hold.secrets):
        case verdict.Failed() as bad:
            return await hold.end(lambda run: fleet.fail(run, bad.reason, bad.note, settings))
        case verdict.Released(note, None, Reason.RATE_LIMIT | Reason.CRASHED as reason):
            until = _rest_after_limit(await fleet.now(), earlier, settings)
            return await hold.end(lambda run: fleet.release(run, note, until=until, reason=reason))
        case verdict.Released(note, until, Reason.QUOTA | Reason.AUTH as reason):
            refused = rests.Refusal(reason, note, until)
            rest = await rests.after(refused, hold.run, settings, fleet)
            await insist(lambda: fleet.rest(rest))
            return await hold.end(lambda run: fleet.release(run, note, reason=reason))
        case verdict.Released(note, until, reason):
            return await hold.end(lambda run: fleet.release(run, note, until=until, reason=reason))
        case verdict.Asked(asks):
            return await hold.end(lambda run: fleet.ask(run, asks))
    return None


def _rest_after_limit(now: datetime, earlier: Sequence[Run], settings: Config) -> datetime:
    """Exponential backoff for a limit without a reset time."""
    times = sum(1 for _ in takewhile(_was_limited, reversed(begun(earlier))))
    rest = min(settings.limit_rest_s * float(2 ** min(times, 30)), settings.longest_limit_rest_s)
    return now + timedelta(seconds=rest)


def _was_limited(run: Run) -> bool:
    return run.outcome is Outcome.RELEASED and run.reason in (Reason.RATE_LIMIT, Reason.CRASHED)
