"""What can be measured about a fleet: totals that its log adds up to, and its state at a moment."""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from codefleet.domain.model import Event, Usage
from codefleet.domain.noun import Instant, Noun

SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0)
"""The upper bounds of what waiting in a queue may take."""
HOUR = timedelta(hours=1)


class Histogram(Noun):
    """How many values are at most as large as each bound; the last count is of all others."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float


class Buckets:
    """A histogram to which values are added."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value

    def read(self) -> Histogram:
        return Histogram(bounds=self._bounds, counts=tuple(self._counts), total=self._total)


class RunsEnded(Noun):
    """How many runs ended in this way; the reason is empty if they did not fail."""

    outcome: str
    reason: str
    many: int


class Totals(Noun):
    """What a log adds up to."""

    events: dict[str, int]
    runs_ended: tuple[RunsEnded, ...]
    restarts: int
    restarts_last_hour: int
    used: dict[str, Usage]
    claim_seconds: Histogram
    landing_seconds: Histogram


class Measures(Noun):
    """A fleet in numbers. `totals` are missing as long as a long log is still being read."""

    at: Instant
    seq: int
    tasks: dict[str, int]
    waiting: dict[str, int]
    agents: dict[str, int]
    workers: int
    lost_workers: int
    inbox: dict[str, int]
    rests: dict[str, int]
    conflicts: int
    totals: Totals | None = None


class LogCount:
    """Adds a log up, event by event, in its order."""

    KINDS = (
        *("task.added", "task.submitted", "task.completed", "task.failed", "task.cancelled"),
        *("task.released", "task.bounced", "task.rejected", "run.started", "run.ended"),
        *("run.failed", "run.used", "message.sent", "account.rests", "conflict.found"),
    )

    def __init__(self) -> None:
        self.seq = 0
        self._events: Counter[str] = Counter()
        self._ended: Counter[tuple[str, str]] = Counter()
        self._used: dict[str, Usage] = {}
        self._claim, self._landing = Buckets(SECONDS), Buckets(SECONDS)
        self._added: dict[str, datetime] = {}
        self._submitted: dict[str, datetime] = {}
        self._released: str | None = None
        self._restarts: deque[datetime] = deque()
        self._restarted = 0

    def add(self, event: Event) -> None:
        """Count one event."""
        self.seq = event.seq
        self._events[event.kind] += 1
        self._time(event.kind, str(event.task), event.at)
        self._sum_up(event)

    def _time(self, kind: str, task: str, at: datetime) -> None:
        """How long tasks wait, from one event to another."""
        match kind:
            case "task.added":
                self._added[task] = at
            case "run.started":
                self._start(task, at)
            case "task.submitted":
                self._submitted[task] = at
            case "task.completed":
                _observe(self._landing, self._submitted.pop(task, None), at)
            case "task.bounced" | "task.rejected":
                self._submitted.pop(task, None)
            case "task.cancelled":
                self._added.pop(task, None)
                self._submitted.pop(task, None)

    def _sum_up(self, event: Event) -> None:
        """How runs ended, and what they cost. A run may end with two events of one step."""
        match event.kind:
            case "task.released":
                self._released = event.run
                self._end("released", event.data)
            case "run.failed":
                self._end("failed", event.data)
            case "run.ended" if event.run != self._released:
                self._end(str(event.data.get("outcome", "")), event.data)
            case "run.used":
                self._use(event.data)

    def read(self, now: datetime) -> Totals:
        """The sums so far."""
        while self._restarts and now - self._restarts[0] > HOUR:
            self._restarts.popleft()
        return Totals(
            events=dict(self._events),
            runs_ended=tuple(
                RunsEnded(outcome=outcome, reason=reason, many=many)
                for (outcome, reason), many in self._ended.items()
            ),
            restarts=self._restarted,
            restarts_last_hour=len(self._restarts),
            used=dict(self._used),
            claim_seconds=self._claim.read(),
            landing_seconds=self._landing.read(),
        )

    def _start(self, task: str, at: datetime) -> None:
        """The first start of a task ends its wait; a later one is a restart."""
        added = self._added.pop(task, None)
        if added is None:
            self._restarted += 1
            self._restarts.append(at)
        _observe(self._claim, added, at)

    def _end(self, outcome: str, data: Mapping[str, object]) -> None:
        self._ended[outcome, str(data.get("reason") or "")] += 1

    def _use(self, data: Mapping[str, object]) -> None:
        coder = str(data.get("coder") or "")
        fields = {name: data.get(name) or 0 for name in Usage.__struct_fields__}
        self._used[coder] = self._used.get(coder, Usage()) + Usage(**fields)  # type: ignore[arg-type]  # as `run.used` has them


def _observe(buckets: Buckets, since: datetime | None, at: datetime) -> None:
    """A clock that was set back makes no negative wait."""
    if since is not None:
        buckets.add(max(0.0, (at - since).total_seconds()))
