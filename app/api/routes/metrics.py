"""Metrics for Prometheus. What concerns all servers comes from the database, and is the same whichever is asked."""

import threading
import time
from collections.abc import Iterator

import structlog
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.types import Scope

from app.api.access import READ, Allow
from app.errors import CounterpoiseError
from app.service.monitoring.metrics_poller import MOST_STUDIES, Figures, MetricsPoller
from app.store.database import Database
from counterpoise.wire.codes import JobState

log = structlog.stdlib.get_logger("counterpoise.metrics")
router = APIRouter(tags=["health"], dependencies=[Depends(Allow(READ))])
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
FRESH_S = 1.0
METHODS = ("GET", "POST", "DELETE", "HEAD", "PUT", "PATCH", "OPTIONS")
REQUEST_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
STEP_S = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
MISHAPS = (
    ("expired", "lease_expiries", "Leases that ended without a sign of life"),
    ("late", "late_tells", "Values that came after their lease had expired, and counted"),
    ("duplicate", "duplicate_tells", "Values that another lease had told before; kept as further attempts"),
)


class Metrics:
    """One application's; `look` brings it up to date before it is written out."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Histogram(
            "counterpoise_http_request_duration_seconds",
            "Time to answer, at this server; `ask` includes its wait, event streams are left out",
            ["method", "route", "status"],
            buckets=REQUEST_S,
            registry=self.registry,
        )
        self._parts = Histogram(
            "counterpoise_step_duration_seconds",
            "Time that a step took, by part",
            ["kind", "part"],
            buckets=STEP_S,
            registry=self.registry,
        )
        self._lag = Histogram(
            "counterpoise_planner_lag_seconds",
            "Time from a step's being due to its being done",
            ["kind"],
            buckets=STEP_S,
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)
        self.registry.register(self)
        self._lock = threading.Lock()
        self._overlook = MetricsPoller()
        self._overview: Figures | None = None
        self._looked_at = float("-inf")
        self._here = {"event_listeners": 0, "asks_waiting": 0}

    def observe(self, scope: Scope, status: int, took_s: float) -> None:
        """A request; by its route, never its path: a path can be anything."""
        route = getattr(scope.get("route"), "path", "none")
        if not route.endswith("/events"):
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._requests.labels(method, route, f"{status // 100}xx").observe(took_s)

    def look(self, database: Database, *, listeners: int, waiting: int) -> None:
        with self._lock:
            self._here = {"event_listeners": listeners, "asks_waiting": waiting}
            if time.monotonic() - self._looked_at < FRESH_S:
                return
            try:
                self._overview = self._overlook.poll(database)
            except CounterpoiseError as error:
                self._overview = None
                log.warning("metrics without the database", reason=str(error).splitlines()[0])
            else:
                self._count_steps(self._overview)
            self._looked_at = time.monotonic()

    def _count_steps(self, overview: Figures) -> None:
        for step in overview.new_steps:
            self._lag.labels(step.kind).observe(max(step.done_at - step.due_at, 0.0))
            for part, took in (step.timings or {}).items():
                self._parts.labels(step.kind, part).observe(took)

    def collect(self) -> Iterator[Metric]:
        overview = self._overview
        yield gauge("database_up", "1 if the database answers", float(overview is not None))
        yield gauge("event_listeners", "Listeners to events, at this server", self._here["event_listeners"])
        yield gauge("asks_waiting", "Asks that wait for a job, at this server", self._here["asks_waiting"])
        if overview is not None:
            yield gauge("workers_alive", "Workers that asked in the last two minutes or hold a job", overview.workers)
            yield gauge("steps_due", "Steps of active studies that are due", overview.due.due)
            yield gauge("steps_faulty", "Steps that are due, and have failed before", overview.due.faulty)
            yield gauge("oldest_due_step_seconds", "For how long the oldest is due", overview.due.oldest_s)
            yield from of_studies(overview)
            yield from of_queues(overview)


def gauge(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(f"counterpoise_{name}", words, value=value)


def of_studies(overview: Figures) -> Iterator[Metric]:
    studies = GaugeMetricFamily("counterpoise_studies", "Studies", labels=["phase", "state"])
    for labels, count in overview.studies.items():
        studies.add_metric(labels, count)
    yield studies
    unfinished = sum(count for (phase, _), count in overview.studies.items() if phase != "finished")
    hidden = max(unfinished - MOST_STUDIES, 0)
    yield gauge(
        "studies_not_shown", f"Unfinished studies beyond the newest {MOST_STUDIES}, without labels here", hidden
    )


def of_queues(overview: Figures) -> Iterator[Metric]:
    jobs = GaugeMetricFamily("counterpoise_jobs", "Jobs of unfinished studies", labels=["study", "objective", "state"])
    for row in overview.queues:
        for state in JobState:
            jobs.add_metric([row.study, row.objective, state], getattr(row, state))
    yield jobs
    for column, name, words in MISHAPS:
        counter = CounterMetricFamily(f"counterpoise_{name}", words, labels=["study", "objective"])
        for row in overview.queues:
            counter.add_metric([row.study, row.objective], getattr(row, column))
        yield counter


@router.get("/metrics", summary="Metrics for Prometheus", response_class=PlainTextResponse)
def get_metrics(request: Request) -> Response:
    """In Prometheus' text format: jobs, workers, steps, leases that were lost, and how long requests took here."""
    state = request.app.state
    metrics: Metrics = state.metrics
    metrics.look(state.database, listeners=state.event_desk.listeners, waiting=len(state.desk.waiters))
    return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE)
