"""The dashboard's requests on a study of 50,000 samples, 500,000 attempts and 10,000
steps: they read as many rows as on a small one.
"""

# ruff: noqa: S608  (numbers of this file)
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, text

from app.service.models.model_quality import model_quality
from app.service.models.predictions import predicted_front
from app.service.monitoring.balance import balance
from app.service.monitoring.convergence import convergence
from app.service.monitoring.overview import overview
from app.service.monitoring.speeds import CONSIDERED, worker_speeds
from app.service.monitoring.timeline import TimelineRequest, timeline
from app.store.database import Database
from app.store.monitoring.attempts import (
    BEGUN_BEFORE,
    BEGUN_FROM,
    LATEST,
    RUNNING_AT,
)
from tests.executed_statements import executed_statements
from tests.store.small_study import SmallStudy
from tests.store.test_query_plans import faults

SAMPLES, ATTEMPTS_EACH, STEPS = 50_000, 10, 10_000
LAST_S = 500_000.0  # attempts begin every second
RECORD = (
    '{"hypervolume": {"value": 1.0, "reference": [1.0, 1.0], "exact": true, "front": 3},'
    ' "slow": {"objective": 1, "evaluations": 5, "seconds": 50.0},'
    ' "models": [{"size": 9, "skill": 0.9, "calibration": 0.9}, null],'
    ' "ratios": [9.0, 1.0], "full_sources": ["selected"], "cheap_sources": [[], []],'
    ' "sbp": [[0.1, 0.2], [0.3, 0.4]], "full_samples": [], "promoted": []}'
)


@pytest.fixture
def study(database: Database) -> SmallStudy:
    study = SmallStudy(database, budget=100_000)
    database.write(fill, study)
    return study


def fill(connection: Connection, study: SmallStudy) -> None:
    def numbers(count: int) -> str:
        if connection.dialect.name == "postgresql":
            return f"(SELECT generate_series(1, {count}) AS n)"
        return (
            f"(WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < {count})"
            " SELECT n FROM t)"
        )

    given = {
        "study": study.id,
        "mass": study.queues["mass"],
        "worker": study.worker,
        "record": RECORD,
    }
    is_postgresql = connection.dialect.name == "postgresql"
    record = "CAST(:record AS jsonb)" if is_postgresql else ":record"
    inputs = "CAST('{}' AS jsonb)" if is_postgresql else "'{}'"
    x = "CAST('[0.5, 1.0]' AS jsonb)" if is_postgresql else "'[0.5, 1.0]'"
    lease = "lpad(a.n::text, 32, '0')" if is_postgresql else "printf('%032d', a.n)"
    statements = [
        "INSERT INTO steps (study_id, kind, number, state, due_seq, due_at, done_at, inputs, record)"
        f" SELECT :study, 'search', n, 'done', n, n, n, {inputs}, {record} FROM {numbers(STEPS)} s",
        'INSERT INTO samples (id, study_id, "full", x, open, created_at)'
        f" SELECT n, :study, true, {x}, 0, 0 FROM {numbers(SAMPLES)} s",
        "INSERT INTO jobs (id, study_id, objective_id, sample_id, cheap_only, state, attempts)"
        f" SELECT n, :study, :mass, n, false, 'done', 1 FROM {numbers(SAMPLES)} j",
        "INSERT INTO attempts (job_id, number, lease, worker_id, leased_at, ended_at, outcome, objective_id)"
        f" SELECT 1 + a.n % {SAMPLES}, 1 + a.n / {SAMPLES}, {lease}, :worker, a.n, a.n + 0.5, 'done', :mass"
        f" FROM {numbers(SAMPLES * ATTEMPTS_EACH)} a",
        f"UPDATE studies SET step = {STEPS}, created_at = 0 WHERE id = :study",
        "ANALYZE",
    ]
    for statement in statements:
        parameters = {name: given[name] for name in given if f":{name}" in statement}
        connection.execute(text(statement), parameters)


@pytest.mark.slow
def test_requests_on_a_large_study_read_a_bounded_number_of_rows(
    study: SmallStudy,
) -> None:
    database = study.database
    with database.read() as connection:
        assert faults(connection, BEGUN_FROM.params(**PARAMETERS)) == []
        assert faults(connection, RUNNING_AT.params(**PARAMETERS)) == []
        assert faults(connection, LATEST.params(**PARAMETERS)) == []
        assert faults(connection, BEGUN_BEFORE.params(**PARAMETERS)) == []

    request = TimelineRequest(resolution_s=0.0, limit=2000)
    first = timeline(database, "wing", request)
    assert len(first.items) == 2000
    second = timeline(
        database,
        "wing",
        TimelineRequest(resolution_s=0.0, limit=2000, cursor=first.next),
    )
    assert second.items[0].start > first.items[-1].start
    assert {item.slot for item in second.items} == {0}

    band = timeline(database, "wing", TimelineRequest(limit=20_000)).items
    assert [item.count for item in band] == [20_000]

    middle = TimelineRequest(start=250_000.25, end=250_100.0, resolution_s=0.0)
    assert len(timeline(database, "wing", middle).items) == 100

    last = timeline(database, "wing", TimelineRequest(latest=100, resolution_s=0.0))
    assert sum(item.count for item in last.items) == 100
    assert worker_speeds(database, "wing").items[0].done == CONSIDERED

    assert len(convergence(database, "wing", 50).points) == 50
    assert len(model_quality(database, "wing", 50).outputs[0].steps) == 50
    assert len(balance(database, "wing", 50).items) == 100
    ((_, item),) = overview(database, 0, 1)
    assert len(item.hypervolume) <= 24


PARAMETERS = {
    "objective": 1,
    "start": 1.0,
    "after": 0,
    "end": 2.0,
    "most": 10,
    "time": 1.0,
}
CALLS: dict[str, Callable[[Database], Any]] = {
    "timeline": lambda database: timeline(database, "wing", TimelineRequest()),
    "convergence": lambda database: convergence(database, "wing", 50),
    "models": lambda database: model_quality(database, "wing", 50),
    "balance": lambda database: balance(database, "wing", 50),
    "overview": lambda database: overview(database, 0, 10),
    "speeds": lambda database: worker_speeds(database, "wing"),
    "predictions": lambda database: predicted_front(database, "wing"),
}


def test_the_number_of_statements_does_not_grow(database: Database) -> None:
    study = SmallStudy(database)
    empty = {}
    for name, call in CALLS.items():
        with executed_statements() as executed:
            call(database)
        empty[name] = len(executed)
    study.add_full(200)
    study.take(200)
    for name, call in CALLS.items():
        with executed_statements() as executed:
            call(database)
        # Names of workers, samples of jobs and medians are read where there are some.
        assert len(executed) <= empty[name] + 3, name
