"""Races for jobs: one process is held between its read and its write while another one
acts.
"""

import pytest

from app.errors import StudyBusy
from app.service.studies.lifecycle import delete, stop
from app.service.work.ask import serve_asks
from app.service.work.expire import expire_leases
from app.service.work.heartbeat import heartbeat
from app.service.work.tell import tell
from app.store.database import Database
from tests.reliability.faults.fault_processes import FaultPoints
from tests.reliability.faults.lab_states import (
    asks,
    attempt_outcomes,
    expire_all,
    jobs_in,
    make_overdue,
    planned_lab,
    told_values,
)
from tests.service.lab import Lab

HEARTBEAT_S = 20.0


@pytest.fixture
def lab(database: Database) -> Lab:
    return planned_lab(database)


def test_two_asks_share_no_job(lab: Lab, faults: FaultPoints) -> None:
    with faults.held(
        "ask.written", serve_asks, lab.database, asks(2), HEARTBEAT_S
    ) as other:
        (first,), second, waited = other.run_beside(lambda: lab.ask("crash", most=4))
    assert lab.database.is_sqlite or not waited, (
        "an ask waits for locked jobs instead of skipping them"
    )
    assert len(first) == 2
    leased = [job.job for job in first + second]
    assert len(leased) == len(set(leased)) == 4
    lab.check_counters()


# Expiry: a planner has read the overdue leases, and something happens before it writes.


def test_expiry_that_read_before_an_ask_keeps_the_new_lease(
    lab: Lab, faults: FaultPoints
) -> None:
    (job,) = lab.ask("crash")
    make_overdue(lab)
    with faults.held("expire.found", expire_leases, lab.database) as expiry:
        assert expire_all(lab) == 1  # by another planner
        (again,) = lab.ask("crash")
        assert again.job == job.job
        expiry.resume()
        assert expiry.result() == 0
    assert lab.job(job.job)["lease"] == again.lease
    assert attempt_outcomes(lab) == ["expired", None]
    lab.check_counters()


def test_expiry_that_read_before_a_heartbeat_keeps_the_lease(
    lab: Lab, faults: FaultPoints
) -> None:
    (job,) = lab.ask("crash")
    make_overdue(lab)
    with faults.held("expire.found", expire_leases, lab.database) as expiry:
        assert heartbeat(lab.database, [job.lease])[0].expires_at is not None
        expiry.resume()
        assert expiry.result() == 0
    assert lab.job(job.job)["lease"] == job.lease


def test_expiry_that_read_before_a_tell_keeps_the_value(
    lab: Lab, faults: FaultPoints
) -> None:
    (job,) = lab.ask("crash")
    make_overdue(lab)
    with faults.held("expire.found", expire_leases, lab.database) as expiry:
        assert lab.tell(job, 1.0).status == 200
        expiry.resume()
        assert expiry.result() == 0
    assert lab.job(job.job)["state"] == "done"
    assert attempt_outcomes(lab) == ["done"]
    lab.check_counters()


def test_two_expiries_count_one_loss(lab: Lab, faults: FaultPoints) -> None:
    (job,) = lab.ask("crash")
    make_overdue(lab)
    with faults.held("expire.written", expire_leases, lab.database) as expiry:
        results = expiry.run_beside(lambda: expire_leases(lab.database))
    assert (results.held, results.other) == (1, 0)
    assert lab.job(job.job)["losses"] == 1
    lab.check_counters()


def test_expiry_waits_for_a_tell_that_is_being_written(
    lab: Lab, faults: FaultPoints
) -> None:
    (job,) = lab.ask("crash")
    make_overdue(lab)
    with faults.held(
        "tell.written", tell, lab.database, [lab.tell_of(job, 1.0)]
    ) as telling:
        results = telling.run_beside(lambda: expire_leases(lab.database))
    assert results.held[0].status == 200
    assert results.other == 0
    assert lab.job(job.job)["state"] == "done"
    assert lab.values() == [(1.0, None)]
    lab.check_counters()


# Tells.


def test_tell_whose_lease_expires_meanwhile_is_recorded(
    lab: Lab, faults: FaultPoints
) -> None:
    (job,) = lab.ask("crash")
    make_overdue(lab)
    if lab.database.is_sqlite:
        pytest.skip("on SQLite a tell that has begun is the only writer")
    with faults.held(
        "tell.begun", tell, lab.database, [lab.tell_of(job, 1.0)]
    ) as telling:
        assert expire_all(lab) == 1
        (other,) = lab.ask("crash")
        assert other.job == job.job
        telling.resume()
        assert telling.result()[0].status == 200
    assert attempt_outcomes(lab) == ["late", "overtaken"]
    assert lab.tell(other, 2.0).status == 200
    assert attempt_outcomes(lab) == ["late", "duplicate"]
    assert lab.values() == [(1.0, None)]
    lab.check_counters()


@pytest.mark.parametrize("point", ["tell.begun", "tell.written"])
def test_one_of_two_tells_on_one_lease_is_refused(
    lab: Lab, faults: FaultPoints, point: str
) -> None:
    (job,) = lab.ask("crash")
    with faults.held(point, tell, lab.database, [lab.tell_of(job, 1.0)]) as telling:
        results = telling.run_beside(lambda: lab.tell(job, 2.0))
    statuses = {1.0: results.held[0].status, 2.0: results.other.status}
    assert sorted(statuses.values()) == [200, 409]
    (value,) = [value for value, status in statuses.items() if status == 200]
    assert lab.values() == [(value, None)]
    assert told_values(lab) == [("done", value)]
    lab.check_counters()


@pytest.mark.parametrize("point", ["tell.begun", "tell.written"])
def test_first_value_stands_when_two_leases_tell_at_once(
    lab: Lab, faults: FaultPoints, point: str
) -> None:
    (old,) = lab.ask("crash")
    expire_all(lab)
    (new,) = lab.ask("crash")
    with faults.held(point, tell, lab.database, [lab.tell_of(old, 1.0)]) as telling:
        results = telling.run_beside(lambda: lab.tell(new, 2.0))
    assert (results.held[0].status, results.other.status) == (200, 200)
    told = told_values(lab)
    old_was_first = [("late", 1.0), ("duplicate", 2.0)]
    new_was_first = [("duplicate", 1.0), ("done", 2.0)]
    assert told in (old_was_first, new_was_first)
    (first_value,) = [value for outcome, value in told if outcome != "duplicate"]
    assert lab.values() == [(first_value, None)]
    lab.check_counters()


# Leases that are revived, and jobs that are taken while their study ends.


def test_ask_beside_a_revival_skips_the_revived_job(
    lab: Lab, faults: FaultPoints
) -> None:
    (job,) = lab.ask("crash")
    expire_all(lab)
    with faults.held("revive.written", heartbeat, lab.database, [job.lease]) as revival:
        results = revival.run_beside(lambda: lab.ask("crash", most=4))
    assert results.held[0].expires_at is not None
    assert len(results.other) == 3
    assert lab.job(job.job)["lease"] == job.lease
    lab.check_counters()


def test_revival_beside_an_ask_leaves_the_job_to_the_new_lease(
    lab: Lab, faults: FaultPoints
) -> None:
    (job,) = lab.ask("crash")
    expire_all(lab)
    with faults.held(
        "ask.written", serve_asks, lab.database, asks(4), HEARTBEAT_S
    ) as other:
        results = other.run_beside(lambda: heartbeat(lab.database, [job.lease]))
    assert results.other[0].expires_at is None
    (leased,) = results.held
    assert lab.job(job.job)["lease"] in {new.lease for new in leased}
    lab.check_counters()


def test_stop_beside_an_ask_keeps_the_new_lease(lab: Lab, faults: FaultPoints) -> None:
    with faults.held(
        "ask.written", serve_asks, lab.database, asks(1), HEARTBEAT_S
    ) as other:
        results = other.run_beside(
            lambda: stop(lab.database, "wing", cancel_running=False)
        )
    ((taken,),) = results.held
    assert jobs_in(lab, "leased") == [taken.job]
    assert jobs_in(lab, "ready") == []
    assert lab.tell(taken, 1.0).status == 200
    assert attempt_outcomes(lab) == ["done"]
    lab.check_counters()


def test_delete_beside_an_ask_is_refused(lab: Lab, faults: FaultPoints) -> None:
    """An ask locks no study, so a delete that only counted the leases that it sees
    would miss the new ones.
    """

    def refused() -> None:
        with pytest.raises(StudyBusy, match="2 jobs are with workers"):
            delete(lab.database, "wing", force=False)

    with faults.held(
        "ask.written", serve_asks, lab.database, asks(2), HEARTBEAT_S
    ) as other:
        (leased,), _, waited = other.run_beside(refused)
    assert waited
    assert [lab.tell(job, 1.0).status for job in leased] == [200, 200]
    lab.check_counters()
