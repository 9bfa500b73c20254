"""Measures as metrics of Prometheus: our own names, and those that claude-fleet's users know."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from prometheus_client import generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    UntypedMetricFamily,
)

from codefleet.domain.measures import Histogram, Measures, Totals
from codefleet.doors.http.hub import Hub
from codefleet.doors.http.traffic import Traffic

TEAM_WORDS = {
    "pending": "open",
    "blocked": "blocked",
    "running": "in_progress",
    "asking": "in_progress",
    "review": "in_progress",
    "completed": "resolved",
    "failed": "resolved",
    "cancelled": "resolved",
}


class Collected:
    """Metrics as the library takes them."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = list(metrics)

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def text(measures: Measures, traffic: Traffic, hub: Hub) -> bytes:
    """Everything that is measured, as a scrape gets it."""
    found = [*_fleet(measures), *_server(measures, traffic, hub), *_collab(measures, traffic)]
    if measures.totals:
        found += [*_totals(measures.totals), *_collab_totals(measures.totals)]
    written: bytes = generate_latest(Collected(found))
    return written


def _fleet(now: Measures) -> Iterator[Metric]:
    yield _gauges("fleet_tasks", "Tasks by state.", "state", now.tasks)
    yield _gauges("fleet_waiting_tasks", "Pending tasks by why they wait.", "reason", now.waiting)
    yield _gauges("fleet_agents", "Seats of agents by state.", "state", now.agents)
    yield _gauge("fleet_keepers", "Agents at work, each under a keeper.", now.workers)
    yield _gauges("fleet_inbox_items", "What waits for a human, by kind.", "kind", now.inbox)
    yield _gauges("fleet_rests", "Accounts of coders at rest, by reason.", "reason", now.rests)
    yield _gauge("fleet_open_conflicts", "Unfinished work that conflicts.", now.conflicts)
    yield _gauge("fleet_last_event", "The seq of the newest event.", now.seq)


def _totals(totals: Totals) -> Iterator[Metric]:
    ended = CounterMetricFamily(
        "fleet_runs_ended", "Runs that ended, by how and why.", labels=["outcome", "reason"]
    )
    for each in totals.runs_ended:
        ended.add_metric([each.outcome, each.reason], each.many)
    yield ended
    tokens = CounterMetricFamily(
        "fleet_tokens", "Tokens used, by coder and direction.", labels=["coder", "direction"]
    )
    money = CounterMetricFamily("fleet_cost_usd", "Dollars spent, by coder.", labels=["coder"])
    for coder, usage in totals.used.items():
        tokens.add_metric([coder, "input"], usage.input_tokens)
        tokens.add_metric([coder, "output"], usage.output_tokens)
        tokens.add_metric([coder, "cached"], usage.cached_tokens)
        money.add_metric([coder], usage.cost_usd)
    yield tokens
    yield money
    yield _counters("fleet_events", "Events in the log, by kind.", "kind", totals.events)
    yield _histogram(
        "fleet_claim_seconds", "From adding a task to its first start.", totals.claim_seconds
    )
    yield _histogram(
        "fleet_landing_seconds", "From submitting work to its completion.", totals.landing_seconds
    )


def _server(now: Measures, traffic: Traffic, hub: Hub) -> Iterator[Metric]:
    requests = CounterMetricFamily(
        *("http_requests", "Requests by operation and status."),
        labels=["method", "operation", "status"],
    )
    for (asked, status), many in traffic.requests.items():
        requests.add_metric([*asked, str(status)], many)
    yield requests
    seconds = HistogramMetricFamily(
        *("http_request_duration_seconds", "Time until an answer begins, by operation."),
        labels=["method", "operation"],
    )
    for asked, buckets in traffic.seconds.items():
        seconds.add_metric([*asked], *_buckets(buckets.read()))
    yield seconds
    yield _gauge("fleet_stream_clients", "Clients that follow the log.", hub.clients)
    yield _gauge(
        "fleet_event_lag", "Events that the server has not read yet.", max(0, now.seq - hub.seq)
    )
    yield _counter("fleet_stream_gaps", "Gaps that slow clients were told of.", hub.gaps)
    yield _counter("fleet_stream_missed_events", "Events that they missed.", hub.missed)


def _collab(now: Measures, traffic: Traffic) -> Iterator[Metric]:
    """The names of claude-fleet: a worker is an agent at work, a work item is a task."""
    statuses: dict[str, int] = {}
    for state, many in now.tasks.items():
        word = TEAM_WORDS.get(state, state)
        statuses[word] = statuses.get(word, 0) + many
    every, healthy = sum(now.tasks.values()), now.workers - now.lost_workers
    states = {"working": healthy, "stopped": now.lost_workers}
    yield _number("collab_workers_total", "Agents at work.", now.workers)
    yield _gauge("collab_workers_healthy", "Agents at work whose runner is alive.", healthy)
    yield _gauges("collab_workers_by_state", "Agents at work by state.", "state", states)
    yield _number("collab_agents_total", "Seats of agents.", sum(now.agents.values()))
    for noun in ("tasks", "workitems"):
        yield _number(f"collab_{noun}_total", "Tasks.", every)
        yield _gauges(f"collab_{noun}_by_status", "Tasks by status.", "status", statuses)
    yield _counter("collab_errors", "Answers that say the server failed.", traffic.errors)
    yield _counter(
        "collab_agent_authentications", "Requests with a valid token.", traffic.authenticated
    )
    yield _counter("collab_auth_failures", "Requests without a valid token.", traffic.refused)
    yield _gauge("collab_websocket_connections", "Open sockets.", traffic.sockets)
    yield _counter("collab_websocket_messages_received", "Messages from sockets.", traffic.received)
    yield _counter("collab_websocket_messages_sent", "Messages to sockets.", traffic.sent)


def _collab_totals(totals: Totals) -> Iterator[Metric]:
    events = totals.events
    dismissed = sum(each.many for each in totals.runs_ended if each.outcome == "cancelled")
    sent = events.get("message.sent", 0)
    yield _counter("collab_worker_spawns", "Runs started.", events.get("run.started", 0))
    yield _counter("collab_worker_restarts", "Runs after a task's first.", totals.restarts)
    yield _counter("collab_worker_dismissals", "Runs that were cancelled.", dismissed)
    yield _counter("collab_tasks_created", "Tasks added.", events.get("task.added", 0))
    yield _counter("collab_tasks_completed", "Tasks completed.", events.get("task.completed", 0))
    yield _number("collab_messages_total", "Messages to agents.", sent)
    yield _counter("collab_messages_sent", "Messages sent to agents.", sent)
    yield _counter("collab_broadcasts_sent", "Messages sent to a whole team.", 0)


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help_text, value=value)


def _number(name: str, help_text: str, value: float) -> Metric:
    """A gauge with a name that Prometheus has since reserved for counters."""
    return UntypedMetricFamily(name, help_text, value=value)


def _gauges(name: str, help_text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, help_text, labels=[label])
    for word, value in sorted(values.items()):
        family.add_metric([word], value)
    return family


def _counter(name: str, help_text: str, value: float) -> Metric:
    return CounterMetricFamily(name, help_text, value=value)


def _counters(name: str, help_text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily(name, help_text, labels=[label])
    for word, value in sorted(values.items()):
        family.add_metric([word], value)
    return family


def _histogram(name: str, help_text: str, histogram: Histogram) -> Metric:
    buckets, total = _buckets(histogram)
    return HistogramMetricFamily(name, help_text, buckets=buckets, sum_value=total)


def _buckets(histogram: Histogram) -> tuple[list[tuple[str, float]], float]:
    """Cumulative counts, as Prometheus has them."""
    bounds = [*(f"{bound:g}" for bound in histogram.bounds), "+Inf"]
    return [*zip(bounds, accumulate(histogram.counts), strict=True)], histogram.total
