"""Clocks of the database that are set forward or back by hours: no live worker loses
its job, no job is stuck.
"""

import random
from collections.abc import Sequence

import pytest
from sqlalchemy import func, select

from app.domain.steps import CLAIM_S
from app.planner.planner import plan_one
from app.service.monitoring.events import trim
from app.service.work.workers import list_workers
from app.store.database import Database
from app.store.sql.clock import database_now
from app.store.studies.steps import claim_step, fail_step
from app.store.tables import events, sample_values, steps
from counterpoise.wire.work import Job
from tests.reliability.clocks.database_clock import DatabaseClock
from tests.reliability.clocks.timed_lab import LEASE_S, TICK_S, TimedLab

pytestmark = pytest.mark.own_database
HOUR_S = 3600.0
BOTH_WAYS = pytest.mark.parametrize(
    "set_s", [5 * HOUR_S, -5 * HOUR_S], ids=["forward", "back"]
)


def test_database_reads_the_test_clock(lab: TimedLab) -> None:
    lab.clock.advance(5 * HOUR_S - lab.clock.ahead_s)
    with lab.database.read() as connection:
        before = connection.execute(select(database_now())).scalar_one()
        lab.clock.advance(-7 * HOUR_S)
        after = connection.execute(select(database_now())).scalar_one()
    assert before - after == pytest.approx(7 * HOUR_S, abs=600)


@BOTH_WAYS
def test_live_worker_keeps_its_job(lab: TimedLab, set_s: float) -> None:
    (job,) = lab.ask("crash")
    lab.pass_time(LEASE_S / 2, job)
    lab.clock.advance(set_s)
    lab.run_housekeeping(job)
    lab.pass_time(3 * LEASE_S, job)
    assert lab.outcomes() == [None]
    lab.tell(job, 1.0)
    assert lab.outcomes() == ["done"]


@BOTH_WAYS
def test_dead_worker_loses_its_job_within_two_lease_times(
    lab: TimedLab, set_s: float
) -> None:
    (lost,) = lab.ask("crash")
    lab.clock.advance(set_s)
    lab.pass_time(2 * LEASE_S + 2 * TICK_S)
    assert lab.outcomes() == ["expired"]
    lab.pass_time(TICK_S)  # the back-off
    assert lost.job in lab.lease_all("crash")
    lab.tell(lost, 1.0)
    assert lab.outcomes()[0] == "late"


@BOTH_WAYS
def test_backoff_ends(lab: TimedLab, set_s: float) -> None:
    (job,) = lab.ask("crash")
    lab.fail(job, "infrastructure")
    lab.clock.advance(set_s)
    lab.pass_time(TICK_S)
    assert job.job in lab.lease_all("crash")


@BOTH_WAYS
def test_step_of_a_dead_planner_is_planned(
    database: Database, clock: DatabaseClock, set_s: float
) -> None:
    lab = TimedLab(database, clock)
    assert database.write(claim_step, CLAIM_S) is not None
    assert not plan_one(database)
    clock.advance(set_s)
    assert plan_one(database)
    assert [row["state"] for row in lab.rows(steps)] == ["done"]


@BOTH_WAYS
def test_failed_step_is_retried(
    database: Database, clock: DatabaseClock, set_s: float
) -> None:
    TimedLab(database, clock)
    step = database.write(claim_step, CLAIM_S)
    assert step is not None
    database.write(fail_step, step, "a fault", 300.0)
    assert not plan_one(database)
    clock.advance(set_s)
    assert plan_one(database)


@BOTH_WAYS
def test_worker_seen_before_the_change_is_not_alive(
    lab: TimedLab, set_s: float
) -> None:
    """Whether it is alive is unknown; a live worker asks again within a minute."""

    def alive() -> list[bool]:
        return [worker.alive for _, worker in list_workers(lab.database, 0, 10)]

    lab.ask("nothing", worker="gone")
    lab.ask("nothing", worker="present")
    assert alive() == [True, True]
    lab.clock.advance(set_s)
    lab.ask("nothing", worker="present")
    assert alive() == [False, True]
    assert not any("gone" in item.detail for item in lab.view().health)


def test_duration_over_a_clock_set_back_is_unknown(lab: TimedLab) -> None:
    first, second = lab.ask("crash", most=2)
    lab.clock.advance(-5 * HOUR_S)
    lab.tell(first, 1.0)
    lab.tell(second, 1.0, duration_s=3.0)
    assert [row["duration_s"] for row in lab.rows(sample_values)] == [None, 3.0]


@BOTH_WAYS
def test_events_are_kept(lab: TimedLab, set_s: float) -> None:
    with lab.database.read() as connection:
        count = connection.execute(
            select(func.count()).select_from(events)
        ).scalar_one()
    lab.clock.advance(set_s)
    assert trim(lab.database, 1.0) == 0
    assert len(lab.rows(events)) == count > 0


def test_study_finishes_while_its_clock_is_set_all_the_time(
    database: Database, clock: DatabaseClock
) -> None:
    lab = TimedLab(database, clock, budget=5, initial_samples=4, generations=1)
    rng = random.Random(1)  # noqa: S311

    def set_clock(jobs: Sequence[Job]) -> Sequence[Job]:
        clock.advance(rng.uniform(-10 * HOUR_S, 10 * HOUR_S))
        lab.run_housekeeping()
        return jobs

    assert lab.run(order=set_clock).phase == "finished"
    assert set(lab.outcomes()) == {"done"}
    lab.check_counters()


@BOTH_WAYS
def test_dead_worker_loses_its_job_though_the_server_is_interrupted(
    lab: TimedLab, set_s: float
) -> None:
    lab.ask("crash")
    lab.interrupt(2)
    lab.clock.advance(set_s)
    assert lab.interrupt(20) <= 10
