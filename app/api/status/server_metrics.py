"""The metrics of a server, as a Prometheus collector.

Those of studies come from the database: all servers agree.
"""

import time
from collections.abc import Iterator
from functools import partial

import structlog
from prometheus_client import (
    CollectorRegistry,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.types import Scope

from app.api.status.bounded_poll import BoundedPoll
from app.errors import CounterpoiseError
from app.logs import first_line
from app.service.monitoring.metrics_poller import MOST_STUDIES, Figures, MetricsPoller
from app.store.database import Database
from counterpoise.wire.codes import JobState, Phase, StudyState

log = structlog.stdlib.get_logger("counterpoise.metrics")
POLL_S = 1.0  # scrapes that are closer together share their queries
METHODS = ("GET", "POST", "DELETE", "HEAD", "PUT", "PATCH", "OPTIONS")
REQUEST_BUCKETS_S = (
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
)
STEP_BUCKETS_S = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
# Column, name, help.
ANOMALIES = (
    ("expired", "lease_expiries", "Leases that expired without a heartbeat"),
    ("late", "late_tells", "Values recorded after their lease had expired"),
    (
        "duplicate",
        "duplicate_tells",
        "Values told after another lease's value; kept as further attempts",
    ),
)


class ServerMetrics:
    """The metrics of one application; `render` updates them and returns Prometheus'
    text format.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._request_s = self._histogram(
            "http_request_duration_seconds",
            "Time to respond, at this server; `ask` includes its wait, event streams are left out",
            ["method", "route", "status"],
            REQUEST_BUCKETS_S,
        )
        self._step_s = self._histogram(
            "step_duration_seconds",
            "Time that a step took, by part",
            ["kind", "part"],
            STEP_BUCKETS_S,
        )
        self._planner_lag_s = self._histogram(
            "planner_lag_seconds",
            "Time from a step being due to its end",
            ["kind"],
            STEP_BUCKETS_S,
        )
        ProcessCollector(registry=self._registry)
        self._registry.register(self)
        self._poller = MetricsPoller()
        self._polls: BoundedPoll[Figures] = BoundedPoll()
        self._polled_at = float("-inf")
        self._figures: Figures | None = None
        self._event_listeners = 0
        self._asks_waiting = 0

    def _histogram(
        self, name: str, text: str, labels: list[str], buckets: tuple[float, ...]
    ) -> Histogram:
        return Histogram(
            f"counterpoise_{name}",
            text,
            labels,
            buckets=buckets,
            registry=self._registry,
        )

    def observe_request(self, scope: Scope, status: int, took_s: float) -> None:
        """Count a request by its route.

        Not by its path: there is no limit to the number of paths.
        """
        route = getattr(scope.get("route"), "path", "none")
        if not route.endswith("/events"):
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._request_s.labels(method, route, f"{status // 100}xx").observe(took_s)

    async def render(
        self, database: Database, *, event_listeners: int, asks_waiting: int
    ) -> bytes:
        """Responds in time, also while the database does not respond."""
        self._event_listeners = event_listeners
        self._asks_waiting = asks_waiting
        if time.monotonic() - self._polled_at >= POLL_S:
            self._polled_at = time.monotonic()
            try:
                self._figures = await self._polls.result_of(
                    partial(self._poll, database)
                )
            except CounterpoiseError as error:
                self._figures = None
                log.warning(
                    "metrics of studies were not read and are left out",
                    reason=first_line(error),
                )
        return generate_latest(self._registry)

    def _poll(self, database: Database) -> Figures:
        figures = self._poller.poll(database)
        for step in figures.new_steps:
            lag_s = step.done_at - step.due_at
            self._planner_lag_s.labels(step.kind).observe(max(lag_s, 0.0))
            for part, took_s in (step.timings or {}).items():
                self._step_s.labels(step.kind, part).observe(took_s)
        return figures

    def collect(self) -> Iterator[Metric]:
        """What the registry collects besides the histograms."""
        figures = self._figures
        yield gauge(
            "database_up", "1 if the database can be read", float(figures is not None)
        )
        yield gauge(
            "event_listeners",
            "Listeners to events, at this server",
            self._event_listeners,
        )
        yield gauge(
            "asks_waiting",
            "Asks that wait for a job, at this server",
            self._asks_waiting,
        )
        if figures is not None:
            due = figures.due
            yield gauge(
                "workers_alive",
                "Workers that asked in the last two minutes or hold a job",
                figures.workers_alive,
            )
            yield gauge("steps_due", "Steps of active studies that are due", due.due)
            yield gauge(
                "steps_faulty", "Steps that are due and have failed before", due.faulty
            )
            yield gauge(
                "oldest_due_step_seconds",
                "Time since the oldest due step became due",
                due.oldest_s,
            )
            yield from study_metrics(figures)
            yield jobs_by_state(figures)
            yield workers_by_queue(figures)
            yield from anomaly_counters(figures)


def gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"counterpoise_{name}", text, value=value)


def study_metrics(figures: Figures) -> Iterator[Metric]:
    studies = GaugeMetricFamily(
        "counterpoise_studies", "Studies", labels=["phase", "state"]
    )
    unfinished = 0
    for (phase, state), count in figures.studies.items():
        studies.add_metric([phase, state], count)
        if phase != Phase.FINISHED:
            unfinished += count
    yield studies
    text = f"Unfinished studies beyond the newest {MOST_STUDIES}, which have no metrics of their own"
    yield gauge("studies_not_shown", text, max(unfinished - MOST_STUDIES, 0))


def jobs_by_state(figures: Figures) -> Metric:
    metric = GaugeMetricFamily(
        "counterpoise_jobs",
        "Jobs of unfinished studies",
        labels=["study", "objective", "state"],
    )
    for queue in figures.queues:
        for state in JobState:
            metric.add_metric(
                [queue.study, queue.objective, state], getattr(queue, state)
            )
    return metric


def workers_by_queue(figures: Figures) -> Metric:
    """Excludes paused studies: no worker gets their jobs."""
    metric = GaugeMetricFamily(
        "counterpoise_queue_workers",
        "Live workers that take these jobs, of active unfinished studies",
        labels=["study", "objective"],
    )
    for queue in figures.queues:
        if queue.state == StudyState.ACTIVE:
            metric.add_metric([queue.study, queue.objective], figures.workers_of(queue))
    return metric


def anomaly_counters(figures: Figures) -> Iterator[Metric]:
    for column, name, text in ANOMALIES:
        counter = CounterMetricFamily(
            f"counterpoise_{name}", text, labels=["study", "objective"]
        )
        for queue in figures.queues:
            counter.add_metric([queue.study, queue.objective], getattr(queue, column))
        yield counter
