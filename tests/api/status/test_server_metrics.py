"""Metrics: what Prometheus reads is what happened."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import Connection

from app.errors import DatabaseUnusable
from app.service.work.expire import expire_leases
from app.store.database import Database
from app.store.tables import jobs, server_uptime, steps, workers
from counterpoise.wire.codes import JobState
from tests.api.wing import SPEC, Wing
from tests.executed_statements import executed_statements

LABELS = (
    "study",
    "objective",
    "method",
    "route",
    "kind",
    "phase",
    "part",
    "state",
    "status",
    "le",
)
STATES = tuple(JobState)
REQUESTS = "counterpoise_http_request_duration_seconds_count"
DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(autouse=True)
def polled_by_every_scrape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.api.status.server_metrics.POLL_S", 0.0)


def scrape(client: TestClient) -> dict[tuple[Any, ...], float]:
    """By name and the values of the labels, in the order of LABELS."""
    response = client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    metrics = {}
    for family in text_string_to_metric_families(response.text):
        for sample in family.samples:
            labels = [
                sample.labels[label] for label in LABELS if label in sample.labels
            ]
            metrics[sample.name, *labels] = sample.value
    return metrics


def names_of(metrics: dict[tuple[Any, ...], float]) -> set[str]:
    return {str(key[0]) for key in metrics}


def let_leases_expire(database: Database) -> None:
    def change_times(connection: Connection) -> None:
        connection.execute(server_uptime.update().values(resumed_at=0.0))
        connection.execute(
            jobs.update().where(jobs.c.state == "leased").values(expires_at=1.0)
        )

    database.write(change_times)
    assert expire_leases(database) > 0


def end_backoffs(connection: Connection) -> None:
    connection.execute(jobs.update().values(ready_at=None))


def make_workers_silent(connection: Connection) -> None:
    connection.execute(workers.update().values(last_seen_at=1.0))


def test_jobs_are_counted_by_study_objective_and_state(wing: Wing) -> None:
    done, failed = wing.job("mass"), wing.job("mass")
    wing.job("drag")
    wing.tell(done, value=1.0)
    wing.tell(failed, failure={"kind": "infeasible", "message": ""})
    metrics = scrape(wing.client)
    assert [
        metrics["counterpoise_jobs", "wing", "mass", state] for state in STATES
    ] == [0, 2, 0, 1, 1, 0, 0]
    assert [
        metrics["counterpoise_jobs", "wing", "drag", state] for state in STATES
    ] == [0, 2, 1, 0, 0, 0, 1]  # one is withdrawn
    assert (
        "counterpoise_jobs",
        "wing",
        "lift",
        "ready",
    ) not in metrics  # it has no jobs of its own
    assert metrics["counterpoise_studies", "initial", "active"] == 1
    assert metrics["counterpoise_workers_alive",] == 1
    assert metrics["counterpoise_database_up",] == 1
    assert metrics["counterpoise_steps_due",] == 0


def test_expiries_late_and_duplicate_tells_are_counted(
    wing: Wing, database: Database
) -> None:
    first = wing.job("mass")
    let_leases_expire(database)
    database.write(end_backoffs)
    leased_again = wing.ask("mass", max_jobs=4)["jobs"]
    second = next(job for job in leased_again if job["job"] == first["job"])
    wing.tell(first, value=1.0)  # late: the lease has expired
    wing.tell(second, value=2.0)  # a duplicate: there is a value
    wing.tell(second, value=2.0)  # a repetition is not counted
    metrics = scrape(wing.client)
    assert metrics["counterpoise_lease_expiries_total", "wing", "mass"] == 1
    assert metrics["counterpoise_late_tells_total", "wing", "mass"] == 1
    assert metrics["counterpoise_duplicate_tells_total", "wing", "mass"] == 1
    assert metrics["counterpoise_lease_expiries_total", "wing", "drag"] == 0


def test_a_worker_that_holds_a_job_is_alive_without_asking(
    wing: Wing, database: Database
) -> None:
    job = wing.job("mass")
    wing.ask("nothing", worker="idle")
    database.write(make_workers_silent)
    assert scrape(wing.client)["counterpoise_workers_alive",] == 1
    wing.tell(job, value=1.0)
    database.write(make_workers_silent)
    assert scrape(wing.client)["counterpoise_workers_alive",] == 0


def test_workers_are_counted_by_the_jobs_that_they_take(wing: Wing) -> None:
    wing.ask("mass", worker="one")
    wing.ask("*", worker="two")
    other = {"worker": "three", "studies": ["other"], "objectives": ["mass"]}
    assert wing.client.post("/ask", json=other).status_code == 200
    drain = wing.client.post("/workers/drain", json={"worker": "two"})
    assert drain.status_code == 200
    metrics = scrape(wing.client)
    assert metrics["counterpoise_workers_alive",] == 3
    assert metrics["counterpoise_queue_workers", "wing", "mass"] == 1
    assert metrics["counterpoise_queue_workers", "wing", "drag"] == 0
    wing.client.post("/studies/wing/pause")
    paused = scrape(wing.client)
    assert ("counterpoise_queue_workers", "wing", "mass") not in paused
    assert paused["counterpoise_jobs", "wing", "mass", "ready"] > 0


def test_steps_are_measured_once_by_part(wing: Wing) -> None:
    scrape(wing.client)  # steps before the first scrape are not measured
    wing.finish()
    for _ in range(2):
        metrics = scrape(wing.client)
        assert ("counterpoise_planner_lag_seconds_count", "initial") not in metrics
        assert metrics["counterpoise_planner_lag_seconds_count", "search"] == 1
        for part in ("read", "fit", "search", "select"):
            assert (
                metrics["counterpoise_step_duration_seconds_count", "search", part] == 1
            )
    search = next(
        step for step in wing.get("/steps")["items"] if step["kind"] == "search"
    )
    fit_s = metrics["counterpoise_step_duration_seconds_sum", "search", "fit"]
    assert fit_s == pytest.approx(search["record"]["timings_s"]["fit"])


def test_due_and_faulty_steps_are_counted(wing: Wing, database: Database) -> None:
    wing.client.post("/studies", json={**SPEC, "name": "car"})
    late = (
        steps.update()
        .where(steps.c.state == "due")
        .values(due_at=steps.c.due_at - 100.0, fault="it failed")
    )
    database.write(lambda connection: connection.execute(late))
    metrics = scrape(wing.client)
    assert (
        metrics["counterpoise_steps_due",],
        metrics["counterpoise_steps_faulty",],
    ) == (1, 1)
    assert metrics["counterpoise_oldest_due_step_seconds",] >= 100.0
    wing.client.post("/studies/car/pause")
    assert scrape(wing.client)["counterpoise_steps_due",] == 0


def test_requests_are_measured_by_route_not_by_path(wing: Wing) -> None:
    for path in ("/studies/nothing", "/studies/nothing2", "/nowhere", "/nowhere/else"):
        wing.client.get(path)
    wing.client.request("BREW", "/studies")
    wing.client.get("/studies/wing/events?follow=false")
    metrics = scrape(wing.client)
    assert metrics[REQUESTS, "GET", "/studies/{name}", "4xx"] == 2
    assert metrics[REQUESTS, "GET", "none", "4xx"] == 2
    assert metrics[REQUESTS, "other", "/studies", "4xx"] == 1
    assert metrics[REQUESTS, "POST", "/studies", "2xx"] == 1
    labels = str(metrics.keys())
    assert not any(path in labels for path in ("nothing", "nowhere", "/events"))


def test_only_the_newest_studies_have_metrics_of_their_own(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.service.monitoring.metrics_poller.MOST_STUDIES", 2)
    monkeypatch.setattr("app.api.status.server_metrics.MOST_STUDIES", 2)
    for number in range(3):
        wing.client.post("/studies", json={**SPEC, "name": f"car{number}"})
    wing.client.post("/studies/car2/stop")
    metrics = scrape(wing.client)
    shown = {key[1] for key in metrics if key[0] == "counterpoise_jobs"}
    assert shown == {"car0", "car1"}  # the newest unfinished ones
    assert metrics["counterpoise_studies_not_shown",] == 1
    assert metrics["counterpoise_studies", "finished", "active"] == 1


def test_the_number_of_queries_does_not_depend_on_the_number_of_studies(
    wing: Wing,
) -> None:
    def count_queries() -> int:
        with executed_statements() as executed:
            scrape(wing.client)
        return sum(
            bool(re.search("objectives|workers|steps", statement))
            for statement in executed
        )

    scrape(wing.client)
    before = count_queries()
    for number in range(5):
        wing.client.post("/studies", json={**SPEC, "name": f"car{number}"})
    assert count_queries() == before


def test_scrapes_within_a_second_share_their_queries(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.api.status.server_metrics.POLL_S", 3600.0)
    scrape(wing.client)
    wing.client.post("/studies/wing/pause")
    assert scrape(wing.client)["counterpoise_studies", "initial", "active"] == 1


def test_without_the_database_the_servers_own_metrics_remain(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unusable(*_: Any) -> None:
        raise DatabaseUnusable("the database was unplugged")

    monkeypatch.setattr("app.service.monitoring.metrics_poller.queue_counts", unusable)
    metrics = scrape(wing.client)
    assert metrics["counterpoise_database_up",] == 0
    assert ("counterpoise_workers_alive",) not in metrics
    assert metrics[REQUESTS, "POST", "/studies", "2xx"] == 1


def test_documented_metrics_exist_and_the_dashboard_shows_all(wing: Wing) -> None:
    exposed = names_of(scrape(wing.client))
    wing.finish()
    exposed |= names_of(scrape(wing.client))
    queries = list(expressions(json.loads((DOCS / "grafana.json").read_text())))
    assert len(queries) >= 10
    shown = " ".join(queries)
    for text in (shown, (DOCS / "operations.md").read_text()):
        named = set(re.findall(r"\bcounterpoise_[a-z_]+", text))
        assert named
        assert named <= exposed | {"counterpoise_http_request_duration_seconds"}
    own = {
        name
        for name in exposed
        if name.startswith("counterpoise_") and not name.endswith(("_sum", "_created"))
    }
    families = {name.removesuffix("_count").removesuffix("_bucket") for name in own}
    assert {name for name in families if name not in shown} == set()


def expressions(part: Any) -> Iterator[str]:
    """The queries of a Grafana dashboard."""
    if isinstance(part, dict):
        if "expr" in part:
            yield part["expr"]
        part = list(part.values())
    if isinstance(part, list):
        for item in part:
            yield from expressions(item)
