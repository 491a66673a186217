"""Promises that can be checked without the model."""

from collections import Counter
from typing import Any

import pytest

from app.service.studies.progress import study_view
from app.store.database import Database
from counterpoise.wire.codes import JobState
from tests.reliability.machine.tables import StudyTables

STATES = tuple(JobState)


def check_invariants(tables: StudyTables) -> None:
    check_points_are_new(tables)
    check_leases(tables)
    check_study(tables)
    check_workers(tables)


def check_points_are_new(tables: StudyTables) -> None:
    """No point is proposed twice, or after its value was imported."""
    samples = {row.id: row for row in tables.samples}
    proposed_points = [
        tuple(row.x) for row in tables.samples if row.step_id is not None
    ]
    assert len(set(proposed_points)) == len(proposed_points), "two samples at one point"
    imported_by: dict[Any, int] = {}
    for value in tables.values:
        sample = samples[value.sample_id]
        if sample.imported_seq is not None:
            imported_by[value.objective_id, tuple(sample.x)] = sample.id
    proposed = set()
    for job in tables.jobs:
        sample = samples[job.sample_id]
        if sample.step_id is None:
            continue
        wanted = (job.objective_id, tuple(sample.x))
        assert wanted not in proposed, "a point was proposed twice"
        proposed.add(wanted)
        assert sample.id <= imported_by.get(wanted, sample.id), (
            "a point was proposed whose value had been imported"
        )


def check_leases(tables: StudyTables) -> None:
    running = {row.lease: row.job_id for row in tables.attempts if row.outcome is None}
    leased = {row.lease: row.id for row in tables.jobs if row.state == "leased"}
    assert running == leased, "not one live lease per leased job"


def check_study(tables: StudyTables) -> None:
    study = tables.study
    values = [row for row in tables.values if row.value is not None]
    evaluated = Counter((row.sample_id, row.objective_id) for row in values)
    assert set(evaluated.values()) <= {1}, "two values of one objective"
    numbers = [row.seq for row in tables.events]
    assert numbers == list(range(1, study.sequence + 1)), "the sequence has a gap"
    assert study.settled_full <= study.planned_full <= study.budget, (
        "more was planned than the budget allows"
    )
    assert [row.fault for row in tables.steps if row.faults] == []


def check_workers(tables: StudyTables) -> None:
    """The counters of each worker equal what its ended attempts add up to."""
    ended = [row for row in tables.attempts if row.outcome is not None]
    for worker in tables.workers:
        attempts = [row for row in ended if row.worker_id == worker.id]
        outcomes = Counter(row.outcome for row in attempts)
        assert (
            worker.done == outcomes["done"] + outcomes["late"] + outcomes["duplicate"]
        )
        assert worker.lost == outcomes["expired"]
        failures = Counter(row.failure for row in attempts if row.outcome == "failed")
        assert worker.infeasible == failures["infeasible"]
        assert worker.error == failures["error"]
        assert worker.infrastructure == failures["infrastructure"]
        busy_s = sum(row.ended_at - row.leased_at for row in attempts)
        assert worker.busy_s == pytest.approx(busy_s, abs=1e-3)


def check_view(database: Database, tables: StudyTables) -> None:
    """The study's public view counts the jobs that there are."""
    counts = {row.name: Counter[str]() for row in tables.objectives}
    names = {row.id: row.name for row in tables.objectives}
    for job in tables.jobs:
        counts[names[job.objective_id]][job.state] += 1
    for objective in study_view(database, tables.study.name).objectives:
        if objective.same_run_as is None:
            for state in STATES:
                assert getattr(objective, state) == counts[objective.name][state], (
                    objective.name,
                    state,
                )
