"""Leases over time: long jobs, timeouts, and servers that did not run for a while."""

import pytest
from sqlalchemy import update

from app.service.work.expire import expire_leases
from app.service.work.heartbeat import heartbeat
from app.store.database import Database
from app.store.tables import jobs, kept_leases
from app.store.work.server_uptime import record_uptime
from tests.reliability.clocks.database_clock import DatabaseClock
from tests.reliability.clocks.timed_lab import LEASE_S, TICK_S, TimedLab, running_lab

pytestmark = pytest.mark.own_database


def test_job_may_take_much_longer_than_its_lease(lab: TimedLab) -> None:
    (job,) = lab.ask("crash")
    lab.pass_time(10 * LEASE_S, job)
    assert lab.outcomes() == [None]
    lab.tell(job)
    assert lab.outcomes() == ["done"]


def test_job_past_its_timeout_expires_and_its_value_is_accepted(
    database: Database, clock: DatabaseClock
) -> None:
    timeout_s = 3 * LEASE_S
    lab = running_lab(
        database,
        clock,
        objectives=[{"name": "mass"}, {"name": "crash", "timeout_s": timeout_s}],
    )
    (job,) = lab.ask("crash")
    lab.pass_time(timeout_s - 2 * TICK_S, job)
    clock.advance(3 * TICK_S)
    (response,) = heartbeat(database, [job.lease])
    assert (response.cancel, response.reason) == (True, "timeout")
    lab.pass_time(2 * LEASE_S)
    assert lab.outcomes() == ["expired"]
    after = lab.job(job.job)
    assert (after["errors"], after["losses"]) == (1, 0)
    lab.tell(job, 1.0)
    assert lab.outcomes() == ["late"]


def test_outage_longer_than_every_lease_starts_nothing_twice(lab: TimedLab) -> None:
    """The planner ran all the time.

    A worker that returns within a lease time goes on; another loses its job then.
    """
    returning, gone = lab.ask("crash", most=2)
    lab.pass_time(LEASE_S / 2, returning, gone)
    lab.pass_time(20 * LEASE_S, served=False)
    lab.pass_time(LEASE_S - 2 * TICK_S)
    assert lab.outcomes() == [None, None]
    lab.pass_time(3 * TICK_S, returning)
    assert lab.outcomes() == [None, "expired"]
    lab.pass_time(2 * LEASE_S, returning)
    lab.tell(returning, 1.0)
    assert lab.outcomes() == ["done", "expired"]
    assert lab.job(returning.job)["attempts"] == 1


def test_dead_worker_loses_its_job_though_the_server_never_runs_for_a_whole_lease(
    lab: TimedLab,
) -> None:
    """A quarter of each lease time counts as served, so two lease times of service take
    nine rounds.
    """
    (lost,) = lab.ask("crash")
    assert 7 <= lab.interrupt(20) <= 10
    lab.interrupt(1)  # the back-off
    assert lost.job in lab.lease_all("crash")
    assert lab.rows(kept_leases) == []


def test_long_lease_ends_though_the_server_restarts_more_often(
    database: Database, clock: DatabaseClock
) -> None:
    """For example a lease of a day and a restart every day."""
    lab = TimedLab(database, clock, lease_s=5 * LEASE_S)
    lab.plan()
    lab.ask("crash")
    for _ in range(5):
        lab.pass_time(4 * LEASE_S)
        lab.pass_time(2 * TICK_S, served=False)
    assert lab.outcomes() == ["expired"]


def test_live_worker_keeps_its_job_though_the_server_never_runs_for_a_whole_lease(
    lab: TimedLab,
) -> None:
    (job,) = lab.ask("crash")
    assert lab.interrupt(12, job) == 12
    lab.tell(job)
    assert lab.outcomes() == ["done"]
    lab.interrupt(1)
    assert lab.rows(kept_leases) == []


def test_outages_leave_a_worker_two_lease_times_of_service(lab: TimedLab) -> None:
    """Several short times of service count as much as one long one."""
    (job,) = lab.ask("crash")
    lab.pass_time(20 * LEASE_S, served=False)
    for _ in range(3):
        lab.pass_time(LEASE_S - 2 * TICK_S)
        lab.pass_time(2 * TICK_S, served=False)
    lab.run_housekeeping(job)
    assert lab.outcomes() == [None]
    assert lab.job(job.job)["attempts"] == 1


def test_outage_before_a_heartbeat_does_not_count_later(lab: TimedLab) -> None:
    """After a heartbeat the next silence of a worker begins anew, however long servers
    have run since the outage.
    """
    (job,) = lab.ask("crash")
    for _ in range(2):
        lab.pass_time(2 * LEASE_S, served=False)
        lab.run_housekeeping()
        lab.pass_time(TICK_S)
        assert len(lab.rows(kept_leases)) == 1
        lab.pass_time(3 * LEASE_S, job)
    assert lab.outcomes() == [None]


def test_planner_suspended_between_read_and_write_ends_no_lease_after_an_outage(
    lab: TimedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was overdue when it was read need not be overdue when it is written."""
    (job,) = lab.ask("crash")
    overdue = update(jobs).where(jobs.c.id == job.job).values(expires_at=1.0)

    def suspend(point: str) -> None:
        if point == "expire.found":
            lab.clock.advance(20 * LEASE_S)
            lab.database.write(record_uptime)

    lab.database.write(lambda connection: connection.execute(overdue))
    monkeypatch.setattr("app.service.work.expire.point", suspend)
    assert expire_leases(lab.database) == 0
    assert heartbeat(lab.database, [job.lease])[0].expires_at is not None


def test_short_restart_changes_no_lease(lab: TimedLab) -> None:
    """Not even a lease that ends meanwhile: its worker could reach no server."""
    (job,) = lab.ask("crash")
    lab.pass_time(LEASE_S - TICK_S)
    before = lab.job(job.job)
    lab.pass_time(2 * TICK_S, served=False)
    lab.run_housekeeping()
    assert lab.job(job.job) == before
    lab.pass_time(LEASE_S, job)
    assert lab.outcomes() == [None]
