"""How a fleet has done over a period: what ended when, how well its coders did, what took long."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from codefleet.domain.model import Event, Run, Task, TaskId
from codefleet.domain.noun import Instant, Noun
from codefleet.domain.words import Outcome

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MOST_HOURS = 7 * 24
"""A longer period is counted by days."""
LIMITS_SHOWN = 20

FLOW = ("task.added", "task.completed", "task.failed", "task.cancelled")
RUN_OVER = ("run.ended", "run.failed", "task.released")
LIMITS = ("account.rests", "budget.warned")
KINDS = (*FLOW, *RUN_OVER, *LIMITS)
JUDGED = (Outcome.SUBMITTED, Outcome.FAILED)
"""How a run ends that shows how good its coder is: others were stopped, or given back."""


class Flow(Noun):
    """How many tasks were added and ended in the hour, or on the day, that began `at`."""

    at: Instant
    added: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0


class Score(Noun):
    """How the runs of one coder and model went; the mean is of those that delivered work."""

    coder: str
    model: str
    runs: int
    delivered: int
    mean_s: float | None = None


class Busy(Noun):
    """Which share of each hour or day an agent was at work."""

    agent: str
    shares: tuple[float, ...]


class LeadTime(Noun):
    """How long completed tasks took since they were added: half of them, and nine of ten."""

    tasks: int
    half_s: float
    most_s: float


class Trends(Noun):
    """How the fleet has done `since` a moment, in steps of an hour or a day."""

    since: Instant
    until: Instant
    step_s: int
    flow: tuple[Flow, ...]
    scores: tuple[Score, ...]
    busy: tuple[Busy, ...]
    lead: LeadTime | None = None
    limits: tuple[Event, ...] = ()


def compose(
    since: datetime,
    until: datetime,
    events: Sequence[Event],
    runs: Sequence[Run],
    tasks: Mapping[TaskId, Task],
) -> Trends:
    """Sum up what a log shows; `runs` are those that ended or are live, `tasks` the completed."""
    step = HOUR if until - since <= MOST_HOURS * HOUR else DAY
    starts = [*_starts(since, until, step)]
    return Trends(
        since=since,
        until=until,
        step_s=int(step.total_seconds()),
        flow=tuple(_flow(starts, step, events)),
        scores=tuple(_scores(runs)),
        busy=tuple(_busy(starts, step, runs, until)),
        lead=_lead(events, tasks),
        limits=tuple(e for e in reversed(events) if e.kind in LIMITS)[:LIMITS_SHOWN],
    )


def _starts(since: datetime, until: datetime, step: timedelta) -> Iterator[datetime]:
    """The hours or days of a period; the first began before it."""
    at = _began(since, step)
    while at <= until:
        yield at
        at += step


def _began(at: datetime, step: timedelta) -> datetime:
    hour = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return hour if step is HOUR else hour.replace(hour=0)


def _flow(starts: Sequence[datetime], step: timedelta, events: Iterable[Event]) -> Iterator[Flow]:
    many = Counter((_began(e.at, step), e.kind.partition(".")[2]) for e in events if e.kind in FLOW)
    for at in starts:
        told = {kind.partition(".")[2]: many[at, kind.partition(".")[2]] for kind in FLOW}
        yield Flow(at=at, **told)


def _scores(runs: Iterable[Run]) -> Iterator[Score]:
    """The most used first."""
    groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        if run.outcome in JUDGED:
            groups[run.coder, run.model or ""].append(run)
    for (coder, model), its in sorted(groups.items(), key=lambda it: (-len(it[1]), it[0])):
        good = [_seconds(run) for run in its if run.outcome is Outcome.SUBMITTED]
        mean = sum(good) / len(good) if good else None
        yield Score(coder=coder, model=model, runs=len(its), delivered=len(good), mean_s=mean)


def _seconds(run: Run) -> float:
    return max(0.0, ((run.ended_at or run.started_at) - run.started_at).total_seconds())


def _busy(
    starts: Sequence[datetime], step: timedelta, runs: Iterable[Run], until: datetime
) -> Iterator[Busy]:
    places = {at: place for place, at in enumerate(starts)}
    worked: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(starts))
    for run in runs:
        begin, end = max(run.started_at, starts[0]), run.ended_at or until
        at = _began(begin, step)
        while at < end and at in places:
            inside = (min(end, at + step) - max(begin, at)).total_seconds()
            worked[run.agent][places[at]] += max(0.0, inside)
            at += step
    for agent, seconds in sorted(worked.items()):
        shares = (min(1.0, round(each / step.total_seconds(), 4)) for each in seconds)
        yield Busy(agent=agent, shares=tuple(shares))


def _lead(events: Iterable[Event], tasks: Mapping[TaskId, Task]) -> LeadTime | None:
    ends = {e.task: e.at for e in events if e.kind == "task.completed" and e.task}
    took = [
        max(0.0, (at - tasks[task].created_at).total_seconds())
        for task, at in ends.items()
        if task in tasks
    ]
    if not took:
        return None
    from statistics import median, quantiles  # imported here, because it is slow to import

    most = quantiles(took, n=10, method="inclusive")[-1] if len(took) > 1 else took[0]
    return LeadTime(tasks=len(took), half_s=median(took), most_s=most)
