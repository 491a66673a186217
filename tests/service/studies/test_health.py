"""Health: what needs attention, and nothing else."""

import pytest
from sqlalchemy import Connection, update

from app.planner.planner import plan_one
from app.service.studies.lifecycle import pause, retry, stop
from app.service.work.automatic_timeouts import follow_durations
from app.store.database import Database
from app.store.sql.clock import database_now
from app.store.studies.jobs import head_ages
from app.store.studies.steps import LONGEST_CLAIM_AHEAD_S, claim_step, fail_step
from app.store.tables import attempts, samples, steps, workers
from app.store.tables import objectives as objectives_table
from tests.service.lab import Lab


def age(database: Database, seconds: float) -> None:
    """As if what is due had been so for longer."""

    def work(connection: Connection) -> None:
        again = steps.c.retry_at - seconds
        connection.execute(
            update(steps).values(due_at=steps.c.due_at - seconds, retry_at=again)
        )
        connection.execute(
            update(samples).values(created_at=samples.c.created_at - seconds)
        )

    database.write(work)


LATE = "planner_missing"


@pytest.mark.parametrize(
    "for_s", [-1.0, 3 * LONGEST_CLAIM_AHEAD_S]
)  # the second: a clock was set back
def test_a_planner_that_died_during_a_step_is_reported_as_missing(
    database: Database, for_s: float
) -> None:
    lab = Lab(database)
    age(database, 3600.0)
    assert lab.health() == [LATE]
    assert (
        database.write(lambda connection: claim_step(connection, for_s=30.0))
        is not None
    )
    assert lab.health() == []  # a worker serves it
    dead = update(steps).values(claim_expires_at=database_now() + for_s)
    database.write(lambda connection: connection.execute(dead))
    assert lab.health() == [LATE]
    assert plan_one(database)
    assert lab.health() == []


def test_a_failed_step_that_is_not_tried_again_reports_a_missing_planner(
    database: Database,
) -> None:
    lab = Lab(database)
    taken = database.write(lambda connection: claim_step(connection, for_s=30.0))
    assert taken is not None
    database.write(fail_step, taken, "sad", backoff_s=300.0)
    (item,) = lab.view().health
    assert (item.code, item.step) == ("step_failed", "initial")
    assert "sad" in item.detail
    age(database, 290.0)  # it may wait so long
    assert lab.health() == ["step_failed"]
    age(database, 3310.0)
    assert lab.health()[1:] == [LATE]


def test_a_finished_study_is_reported_as_paused_only_if_jobs_wait(
    database: Database,
) -> None:
    lab = Lab(database)
    lab.plan()
    failed, _ = lab.ask("mass", most=2)
    lab.fail(failed, "infeasible")
    pause(database, "wing")
    assert lab.health()[0] == "paused"
    stop(database, "wing", cancel_running=False)
    assert "paused" not in lab.health()
    retry(database, "wing", None, infeasible=True)
    assert lab.health()[0] == "paused"


def test_a_missing_worker_is_reported_in_singular_and_plural(
    database: Database,
) -> None:
    lab = Lab(database, initial_samples=2)
    lab.plan()
    for job in lab.ask("mass"):
        lab.tell(job)
    age(database, 180.0)
    database.write(
        lambda connection: connection.execute(update(workers).values(last_seen_at=0.0))
    )
    health = [item.detail for item in lab.view().health]
    assert any(
        line.startswith("objective mass: 1 job has waited 3 min and no")
        for line in health
    )
    assert any(
        line.startswith("objective crash: 2 jobs have waited 3 min and no")
        for line in health
    )


def test_a_job_waits_from_when_it_became_ready(database: Database) -> None:
    """Not from when its sample was made: it was tried, or waited for the cheap run."""
    lab = Lab(database, initial_samples=2, cheap_first=True)
    lab.plan()
    (first, second) = lab.ask("mass", most=2)
    age(database, 3600.0)
    lab.tell(first)
    lab.fail(second, "error")
    for row in lab.view().outputs:
        assert row.ready == 1
    assert lab.health() == []
    with database.read() as connection:
        ages = head_ages(connection, [1, 2], after_cheap=[2])
    assert all(age_s < 60.0 for age_s in ages.values())


def test_failed_jobs_are_counted_among_all_evaluated_ones(database: Database) -> None:
    lab = Lab(database, max_attempts=1)
    lab.plan()
    failing, infeasible, done = lab.ask("crash", most=3)
    lab.fail(failing, "error")
    lab.fail(infeasible, "infeasible")
    lab.tell(done)
    (item,) = [item for item in lab.view().health if item.code == "jobs_failed"]
    assert "1 of 3 evaluated jobs failed" in item.detail


def test_a_run_that_hangs_is_named(database: Database) -> None:
    """Ten runs of a second; one has run for two minutes."""
    lab = Lab(database, initial_samples=12, budget=20)
    lab.plan()
    for job in lab.ask("crash", most=10):
        lab.tell(job, duration_s=1.0)
    (held,) = lab.ask("crash", worker="slow")
    assert "run_hangs" not in lab.health()
    since = attempts.c.leased_at - 120.0
    lab.database.write(
        lambda connection: connection.execute(
            attempts.update()
            .where(attempts.c.lease == held.lease)
            .values(leased_at=since)
        )
    )
    (item,) = [item for item in lab.view().health if item.code == "run_hangs"]
    assert (item.job, item.worker) == (held.job, "slow")
    assert f"counterpoise job cancel {held.job}" in item.detail


def test_slots_that_idle_at_the_end_are_not_reported(database: Database) -> None:
    """The whole budget is planned: nothing could keep them busy."""
    lab = Lab(database, overlap=0, budget=5)
    lab.plan()
    lab.run_until(1)
    lab.ask("mass", most=50)
    held = lab.ask("crash", most=8, worker="slow")
    assert lab.view().planned_full == 5
    assert 0 < len(held) < 8
    assert "slots_idle" not in lab.health()


def test_slots_that_idle_with_a_small_overlap_are_reported(database: Database) -> None:
    lab = Lab(database, overlap=1)
    lab.plan()
    lab.run_until(1)
    lab.ask("mass", most=50)
    assert len(lab.ask("crash", most=8, worker="slow")) == 3
    assert "slots_idle" in lab.health()


def test_slots_that_idle_at_the_barrier_are_reported(database: Database) -> None:
    lab = Lab(database, overlap=0)
    lab.plan()
    lab.run_until(1)
    lab.ask("mass", most=50)
    held = lab.ask("crash", most=8, worker="slow")
    assert "slots_idle" in lab.health()
    assert len(held) == 3
    automatic = Lab(database, name="car")
    assert "slots_idle" not in automatic.health()


def test_an_automatic_time_limit_follows_the_durations(database: Database) -> None:
    objectives = [
        {"name": "mass", "evaluation_time_s": 1.0},
        {"name": "crash", "evaluation_time_s": 100.0, "timeout_s": "auto"},
    ]
    lab = Lab(database, initial_samples=12, budget=20, objectives=objectives)
    lab.plan()
    assert follow_durations(database) == 0
    for job in lab.ask("crash", most=10):
        lab.tell(job, duration_s=100.0)
    assert follow_durations(database) == 1
    assert follow_durations(database) == 0
    assert lab.rows(objectives_table)[1]["timeout_s"] == 1000.0
