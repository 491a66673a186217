"""Row locks: what is locked is returned as records, in one order, and waits for no ask."""

import threading

from sqlalchemy import Connection, text, update

from app.store.database import Database
from app.store.tables import jobs
from app.store.work.row_locks import (
    lock_free_jobs,
    lock_jobs,
    lock_jobs_of_leases,
    lock_settled_jobs,
    lock_studies_of_leases,
    lock_study,
)
from counterpoise.wire.codes import JobState
from tests.store.small_study import SmallStudy


def test_a_job_comes_with_what_its_change_does_to_its_sample(
    database: Database,
) -> None:
    study = SmallStudy(database)
    (full,) = study.add_full(1)
    (cheap,) = study.add_cheap_only(1)
    leases = study.take(3)
    found = database.write(
        lambda connection: lock_jobs(connection, [lease.job for lease in leases])
    )
    assert {
        (job.sample, job.sample_open, job.sample_planned) for job in found.values()
    } == {
        (full, 2, True),
        (cheap, 1, False),
    }
    database.write(
        lambda connection: connection.execute(
            text("UPDATE samples SET given_up = true")
        )
    )
    again = database.write(
        lambda connection: lock_jobs(connection, [lease.job for lease in leases])
    )
    assert not any(job.sample_planned for job in again.values())


def test_studies_and_jobs_of_leases_are_locked_by_id_and_unknown_leases_left_out(
    database: Database,
) -> None:
    first, second = SmallStudy(database, "wing"), SmallStudy(database, "car")
    for study in (first, second):
        study.add_full(2)
    leases = [lease.lease for lease in [*second.take(2), *first.take(2)]]

    def work(connection: Connection) -> tuple[list[int], list[int]]:
        studies = lock_studies_of_leases(connection, [*leases, "0" * 32])
        locked = lock_jobs_of_leases(connection, [*leases, "0" * 32])
        assert set(locked) == set(leases)
        assert all(
            attempt.lease == lease == job.lease
            for lease, (job, attempt) in locked.items()
        )
        return [study.id for study in studies], [job.id for job, _ in locked.values()]

    studies, numbers = database.write(work)
    assert studies == [first.id, second.id]
    assert numbers == sorted(numbers)


def test_ready_jobs_include_those_that_back_off_and_only_this_study_s(
    database: Database,
) -> None:
    study, other = SmallStudy(database), SmallStudy(database, "car")
    study.add_full(2)
    study.add_cheap_only(3)
    other.add_cheap_only(1)
    study.take(1, "drag")
    backing_off = (
        update(jobs)
        .where(jobs.c.cheap_only, jobs.c.study_id == study.id)
        .values(ready_at=1.0)
    )
    database.write(
        lambda connection: connection.execute(backing_off.where(jobs.c.id % 2 == 0))
    )
    ready = database.write(
        lambda connection: lock_free_jobs(connection, study.id, only_cheap=False)
    )
    cheap = database.write(
        lambda connection: lock_free_jobs(connection, study.id, only_cheap=True)
    )
    assert len(ready) == 2 * 2 + 3 - 1
    assert len(cheap) == 3
    assert {job.state for job in ready} == {JobState.READY}
    assert {job.study for job in ready} == {study.id}


def test_failed_jobs_of_some_objectives(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(2)
    database.write(
        lambda connection: connection.execute(update(jobs).values(state="failed"))
    )
    mass = study.queues["mass"]
    found = database.write(
        lambda connection: lock_settled_jobs(
            connection, study.id, [mass], JobState.FAILED
        )
    )
    assert [job.objective for job in found] == [mass, mass]


def test_a_second_transaction_waits_for_the_study_and_a_deleted_one_is_none(
    database: Database,
) -> None:
    study = SmallStudy(database)
    is_locked, may_end = threading.Event(), threading.Event()
    order: list[str] = []

    def hold(connection: Connection) -> None:
        assert lock_study(connection, study.id) is not None
        is_locked.set()
        may_end.wait(10)
        connection.execute(text("DELETE FROM studies"))
        order.append("deleted")

    def follow(connection: Connection) -> None:
        assert lock_study(connection, study.id) is None
        order.append("locked")

    threads = [threading.Thread(target=database.write, args=(hold,))]
    threads[0].start()
    assert is_locked.wait(10)
    threads.append(threading.Thread(target=database.write, args=(follow,)))
    threads[1].start()
    may_end.set()
    for thread in threads:
        thread.join(20)
    assert order == ["deleted", "locked"]
