"""Wrong secrets are counted: after too many, nobody joins that team for a while."""

from collections import defaultdict, deque
from datetime import datetime, timedelta
from math import ceil

from codefleet.domain.errors import TooManyGuesses

MOST = 10
WINDOW = timedelta(minutes=1)


class Guesses:
    """The last wrong secrets for each team, in this process."""

    def __init__(self) -> None:
        self._wrong: defaultdict[str, deque[datetime]] = defaultdict(lambda: deque(maxlen=MOST))

    def refuse_many(self, team: str, now: datetime) -> None:
        """Refuse another guess if there were too many."""
        wrong = self._wrong.get(team)
        if wrong and len(wrong) == MOST and now - wrong[0] < WINDOW:
            left = ceil((wrong[0] + WINDOW - now).total_seconds())
            raise TooManyGuesses(f"there were {MOST} wrong secrets within a minute", left)

    def count(self, team: str, now: datetime) -> None:
        """Count a wrong secret."""
        self._wrong[team].append(now)
