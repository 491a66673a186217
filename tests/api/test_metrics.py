"""Metrics: what Prometheus reads is what happened."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import Engine, event

from app.errors import DatabaseUnusable
from app.service.work.expire import expire_leases
from app.store.database import Database
from app.store.tables import jobs, server_uptime
from tests.api.wing import SPEC, Wing

LABELS = ("study", "objective", "method", "route", "kind", "phase", "part", "state", "status", "le")
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.api.metrics.POLL_S", 0.0)


def scrape(client: TestClient) -> dict[tuple[Any, ...], float]:
    """By name and the values of the labels, in this order."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *(sample.labels[label] for label in LABELS if label in sample.labels)): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def lose_leases(database: Database) -> None:
    def work(connection: Any) -> None:
        connection.execute(server_uptime.update().values(resumed_at=0.0))
        connection.execute(jobs.update().where(jobs.c.state == "leased").values(expires_at=1.0))

    database.write(work)
    assert expire_leases(database) > 0


def test_jobs_are_shown_by_study_objective_and_state(wing: Wing) -> None:
    done, failed = wing.job("mass"), wing.job("mass")
    wing.job("drag")
    wing.tell(done, value=1.0)
    wing.tell(failed, failure={"kind": "infeasible", "message": ""})
    seen = scrape(wing.client)
    states = ("ready", "leased", "done", "failed", "superseded")
    assert [seen["counterpoise_jobs", "wing", "mass", state] for state in states] == [2, 0, 1, 1, 0]
    assert [seen["counterpoise_jobs", "wing", "drag", state] for state in states] == [3, 1, 0, 0, 0]
    assert ("counterpoise_jobs", "wing", "lift", "ready") not in seen  # it has no jobs of its own
    assert seen["counterpoise_studies", "initial", "active"] == 1
    assert seen["counterpoise_workers_alive",] == 1
    assert seen["counterpoise_database_up",] == 1
    assert seen["counterpoise_steps_due",] == 1  # the next generation of the stream of `mass`


def test_expiries_late_and_duplicate_tells_are_counted_for_all_servers(wing: Wing, database: Database) -> None:
    first = wing.job("mass")
    lose_leases(database)
    database.write(lambda connection: connection.execute(jobs.update().values(ready_at=None)))
    second = next(job for job in wing.ask("mass", max_jobs=4)["jobs"] if job["job"] == first["job"])
    wing.tell(first, value=1.0)  # late: it had expired
    wing.tell(second, value=2.0)  # a duplicate: the value is there
    wing.tell(second, value=2.0)  # the same words again are not another
    seen = scrape(wing.client)
    assert seen["counterpoise_lease_expiries_total", "wing", "mass"] == 1
    assert seen["counterpoise_late_tells_total", "wing", "mass"] == 1
    assert seen["counterpoise_duplicate_tells_total", "wing", "mass"] == 1
    assert seen["counterpoise_lease_expiries_total", "wing", "drag"] == 0


def test_who_holds_a_job_is_alive_though_it_does_not_ask(wing: Wing, database: Database) -> None:
    from app.store.tables import workers

    job = wing.job("mass")
    wing.ask("nothing", worker="idle")
    long_ago = workers.update().values(last_seen_at=1.0)
    database.write(lambda connection: connection.execute(long_ago))
    assert scrape(wing.client)["counterpoise_workers_alive",] == 1
    wing.tell(job, value=1.0)
    database.write(lambda connection: connection.execute(long_ago))
    assert scrape(wing.client)["counterpoise_workers_alive",] == 0


def test_steps_are_measured_once_by_part(wing: Wing) -> None:
    scrape(wing.client)  # what was before is not this server's to tell
    wing.finish()
    for _ in range(2):
        seen = scrape(wing.client)
        assert ("counterpoise_planner_lag_seconds_count", "initial") not in seen
        assert seen["counterpoise_planner_lag_seconds_count", "search"] == 1
        for part in ("read", "fit", "search", "select"):
            assert seen["counterpoise_step_duration_seconds_count", "search", part] == 1
    step = next(each for each in wing.get("/steps")["items"] if each["kind"] == "search")
    taken = seen["counterpoise_step_duration_seconds_sum", "search", "fit"]
    assert taken == pytest.approx(step["record"]["timings_s"]["fit"])


def test_a_step_that_waits_for_a_planner_is_seen(wing: Wing, database: Database) -> None:
    from app.store.tables import steps

    wing.client.post("/studies", json={**SPEC, "name": "car"})
    late = {"due_at": steps.c.due_at - 100.0, "fault": "it did not work"}
    database.write(lambda c: c.execute(steps.update().where(steps.c.state == "due").values(**late)))
    seen = scrape(wing.client)
    assert (seen["counterpoise_steps_due",], seen["counterpoise_steps_faulty",]) == (1, 1)
    assert seen["counterpoise_oldest_due_step_seconds",] >= 100.0
    wing.client.post("/studies/car/pause")  # then nobody is to blame
    assert scrape(wing.client)["counterpoise_steps_due",] == 0


def test_requests_are_measured_by_route_never_by_path(wing: Wing) -> None:
    for path in ("/studies/nothing", "/studies/nothing2", "/nowhere", "/nowhere/else"):
        wing.client.get(path)
    wing.client.request("BREW", "/studies")
    wing.client.get("/studies/wing/events?follow=false")
    seen = scrape(wing.client)
    name = "counterpoise_http_request_duration_seconds_count"
    assert seen[name, "GET", "/studies/{name}", "4xx"] == 2
    assert seen[name, "GET", "none", "4xx"] == 2
    assert seen[name, "other", "/studies", "4xx"] == 1
    assert seen[name, "POST", "/studies", "2xx"] == 1
    assert not any("nothing" in str(key) or "nowhere" in str(key) or "/events" in str(key) for key in seen)


def test_many_studies_are_not_all_shown(wing: Wing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.service.monitoring.metrics_poller.MOST_STUDIES", 2)
    monkeypatch.setattr("app.api.metrics.MOST_STUDIES", 2)
    for number in range(3):
        wing.client.post("/studies", json={**SPEC, "name": f"car{number}"})
    wing.client.post("/studies/car2/stop")
    seen = scrape(wing.client)
    assert {key[1] for key in seen if key[0] == "counterpoise_jobs"} == {"car0", "car1"}  # the newest unfinished
    assert seen["counterpoise_studies_not_shown",] == 1
    assert seen["counterpoise_studies", "finished", "active"] == 1


def test_a_scrape_costs_the_same_at_any_number_of_studies(wing: Wing) -> None:
    statements: list[str] = []

    def note(*about: Any) -> None:
        statements.append(about[2])

    def cost() -> int:
        statements.clear()
        event.listen(Engine, "before_cursor_execute", note)
        try:
            scrape(wing.client)
        finally:
            event.remove(Engine, "before_cursor_execute", note)
        return len([one for one in statements if "objectives" in one or "workers" in one or "steps" in one])

    scrape(wing.client)
    before = cost()
    for number in range(5):
        wing.client.post("/studies", json={**SPEC, "name": f"car{number}"})
    assert cost() == before


def test_scrapes_at_the_same_moment_ask_the_database_once(wing: Wing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.api.metrics.POLL_S", 3600.0)
    scrape(wing.client)
    wing.client.post("/studies/wing/pause")
    assert scrape(wing.client)["counterpoise_studies", "initial", "active"] == 1


def test_without_the_database_the_rest_is_still_there(wing: Wing, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise DatabaseUnusable("it is away")

    monkeypatch.setattr("app.service.monitoring.metrics_poller.queue_counts", away)
    seen = scrape(wing.client)
    assert seen["counterpoise_database_up",] == 0
    assert ("counterpoise_workers_alive",) not in seen
    assert seen["counterpoise_http_request_duration_seconds_count", "POST", "/studies", "2xx"] == 1


def test_the_dashboard_and_the_alerts_ask_for_what_exists(wing: Wing) -> None:
    exposed = {str(key[0]) for key in scrape(wing.client)}
    wing.finish()
    exposed |= {str(key[0]) for key in scrape(wing.client)}
    dashboard = json.loads((DOCS / "grafana.json").read_text())
    asked = list(expressions(dashboard))
    assert len(asked) >= 10
    page = (DOCS / "operations.md").read_text()
    for source in (" ".join(asked), page):
        named = set(re.findall(r"\bcounterpoise_[a-z_]+", source))
        assert named
        assert named <= exposed | {"counterpoise_http_request_duration_seconds"}
    measured = {
        name for name in exposed if name.startswith("counterpoise_") and not name.endswith(("_sum", "_created"))
    }
    unwatched = {
        name for name in measured if name.removesuffix("_count").removesuffix("_bucket") not in " ".join(asked)
    }
    assert unwatched == set()


def expressions(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if "expr" in part:
            yield part["expr"]
        for each in part.values():
            yield from expressions(each)
    elif isinstance(part, list):
        for each in part:
            yield from expressions(each)
