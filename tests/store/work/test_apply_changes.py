"""Change sets: jobs, results, attempts, events and counters change together, or not at
all.
"""

from operator import itemgetter

import pytest
from sqlalchemy import Connection, insert, text
from sqlalchemy.exc import IntegrityError

from app.domain.jobs import Lease
from app.domain.work.changes import AttemptEnd, ChangeSet, JobChange, Result
from app.errors import StateChanged
from app.store.database import Database
from app.store.tables import (
    attempts,
    events,
    jobs,
    objectives,
    sample_values,
    samples,
    steps,
    studies,
)
from app.store.work.apply_changes import apply
from app.store.work.row_locks import lock_jobs, lock_study
from counterpoise.wire.codes import FailureKind, JobState, Outcome
from tests.store.small_study import SmallStudy
from tests.store.table_rows import rows_of


def settle(
    study: SmallStudy,
    lease: Lease,
    value: float | None,
    failure: FailureKind | None = None,
) -> None:
    """The changes that a tell of a current lease makes."""

    def work(connection: Connection) -> None:
        locked = lock_study(connection, study.id)
        assert locked is not None
        job = lock_jobs(connection, [lease.job])[lease.job]
        state = JobState.FAILED if failure else JobState.DONE
        outcome = Outcome.FAILED if failure else Outcome.DONE
        changes = ChangeSet(
            jobs=[JobChange(job, state)],
            results=[Result(job.sample, job.objective, value, failure)],
            attempts=[
                AttemptEnd(
                    lease.lease,
                    outcome,
                    value,
                    failure,
                    message="words",
                    duration_s=0.1,
                )
            ],
        )
        apply(connection, locked, changes, study.co_objectives)

    study.database.write(work)


def test_a_change_set_is_written_in_sequence_and_counted(database: Database) -> None:
    study = SmallStudy(database)
    (sample,) = study.add_full(1)
    mass, drag = study.take(2)
    settle(study, mass, 2.5)
    assert rows_of(database, studies)[0]["settled_full"] == 0
    settle(study, drag, None, FailureKind.INFEASIBLE)

    values = [
        (row["seq"], row["sample_id"], row["value"], row["failure"])
        for row in rows_of(database, sample_values)
    ]
    assert values == [(1, sample, 2.5, None), (2, sample, None, "infeasible")]
    assert [(row["seq"], row["kind"]) for row in rows_of(database, events)] == [
        (1, "done"),
        (2, "infeasible"),
    ]
    ended = [
        (row["state"], row["lease"], row["expires_at"])
        for row in rows_of(database, jobs)
    ]
    assert ended == [("done", None, None), ("failed", None, None)]
    counters = ("created", "done", "failed", "superseded", "open_full")
    counted = [itemgetter(*counters)(row) for row in rows_of(database, objectives)]
    assert counted == [(1, 1, 0, 0, 0), (1, 0, 1, 0, 0)]
    row = rows_of(database, studies)[0]
    assert (row["sequence"], row["planned_full"], row["settled_full"]) == (2, 1, 1)
    assert rows_of(database, samples)[0]["open"] == 0
    outcomes = [
        (row["outcome"], row["value"], row["failure"], row["message"])
        for row in rows_of(database, attempts)
    ]
    assert outcomes == [
        ("done", 2.5, None, "words"),
        ("failed", None, "infeasible", "words"),
    ]


def test_a_job_that_changed_undoes_the_whole_change_set(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(1)
    (mass,) = study.take(1, "mass")

    def work(connection: Connection) -> None:
        locked = lock_study(connection, study.id)
        assert locked is not None
        job = lock_jobs(connection, [mass.job])[mass.job]
        connection.execute(
            text(
                "UPDATE jobs SET state = 'superseded', lease = NULL, expires_at = NULL"
            )
        )
        changes = ChangeSet(
            [JobChange(job, JobState.DONE)], [Result(job.sample, job.objective, 1.0)]
        )
        apply(connection, locked, changes, study.co_objectives)

    with pytest.raises(StateChanged):
        database.write(work)
    assert rows_of(database, sample_values) == []
    assert rows_of(database, jobs)[0]["state"] == "leased"


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO sample_values SELECT study_id, seq + 9, sample_id, objective_id, 7, NULL, 1, 1 FROM sample_values",
        "UPDATE sample_values SET value = NULL",
        "UPDATE sample_values SET failure = 'error'",
        "UPDATE jobs SET state = 'leased', lease = 'x', expires_at = NULL",
        "UPDATE attempts SET outcome = NULL",
        "UPDATE steps SET objective = 1",
        "INSERT INTO jobs (study_id, objective_id, sample_id, cheap_only)"
        " SELECT study_id, objective_id, sample_id, cheap_only FROM jobs",
        "UPDATE jobs SET state = 'leased', lease = NULL, expires_at = NULL",
        "UPDATE jobs SET state = 'ready', lease = 'x', expires_at = 1",
        "UPDATE jobs SET state = 'lost'",
        "UPDATE studies SET planned_full = budget + 1",
        "UPDATE studies SET settled_full = planned_full + 1",
        "UPDATE objectives SET done = created + 1",
        "INSERT INTO steps (study_id, kind, number, due_seq, due_at, inputs)"
        " SELECT study_id, kind, number, 9, 9, inputs FROM steps",
        "INSERT INTO attempts (job_id, number, lease, worker_id, leased_at)"
        " SELECT job_id, number + 1, lease, worker_id, 1 FROM attempts",
        "INSERT INTO attempts (job_id, number, lease, worker_id, leased_at)"
        " SELECT job_id, number, 'another', worker_id, 1 FROM attempts",
        "INSERT INTO events SELECT * FROM events",
        "INSERT INTO objectives (study_id, position, name, lease_s) SELECT study_id, 7, name, 1 FROM objectives",
        "INSERT INTO objectives (study_id, position, name, lease_s) SELECT study_id, position, 'x', 1 FROM objectives",
        "INSERT INTO workers (name, first_seen_at, last_seen_at, studies, objectives)"
        " SELECT name, 1, 1, studies, objectives FROM workers",
        "INSERT INTO server_uptime (id, seen_at, resumed_at) VALUES (2, 1, 1)",
        "INSERT INTO studies (name, spec, budget, seed, created_at) SELECT name, spec, 1, 1, 1 FROM studies",
        "INSERT INTO jobs (study_id, objective_id, sample_id, cheap_only) VALUES (77, 77, 77, true)",
    ],
)
def test_the_database_itself_refuses_what_must_never_be(
    database: Database, statement: str
) -> None:
    study = SmallStudy(database)
    study.add_full(1)
    (mass,) = study.take(1, "mass")
    settle(study, mass, 1.0)

    row = {
        "study_id": study.id,
        "kind": "search",
        "number": 1,
        "due_seq": 1,
        "due_at": 1.0,
        "inputs": {},
    }
    database.write(lambda connection: connection.execute(insert(steps).values(row)))
    with pytest.raises(IntegrityError):
        database.write(lambda connection: connection.execute(text(statement)))


def test_the_plan_cannot_exceed_the_budget(database: Database) -> None:
    study = SmallStudy(database, budget=3)
    study.add_full(3)
    with pytest.raises(IntegrityError):
        study.add_full(1)
    assert len(rows_of(database, samples)) == 3
