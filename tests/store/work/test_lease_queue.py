"""Leasing: order, exclusivity, limits."""

import threading

from sqlalchemy import Connection, select, update

from app.domain.jobs import Lease, LeaseRequest
from app.store.database import Database
from app.store.sql.clock import database_now
from app.store.tables import attempts, jobs, studies
from app.store.work.lease_queue import any_ready, lease_jobs
from tests.store.small_study import SmallStudy
from tests.store.table_rows import rows_of


def test_a_leased_job_is_not_leased_again(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(1)
    first = study.take(1, "mass")
    assert len(first) == 1
    assert study.take(1, "mass") == []
    assert [one.objective for one in study.take(5)] == [study.queues["drag"]]


def test_a_lease_has_a_token_a_deadline_in_database_time_and_an_attempt(
    database: Database,
) -> None:
    study = SmallStudy(database, lease_s=90)
    study.add_full(1)
    one = study.take(2)
    with database.read() as connection:
        now = connection.execute(select(database_now())).scalar_one()
    assert all(len(each.lease) == 32 for each in one)
    assert one[0].lease != one[1].lease
    assert all(80 < each.expires_at - now <= 90 for each in one)
    assert [
        (row["job_id"], row["number"], row["lease"], row["worker_id"], row["outcome"])
        for row in rows_of(database, attempts)
    ] == [(each.job, 1, each.lease, study.worker, None) for each in one]


def test_full_samples_come_before_cheap_only_ones_then_the_oldest(
    database: Database,
) -> None:
    study = SmallStudy(database)
    cheap = study.add_cheap_only(2)
    full = study.add_full(2)
    assert [study.take(1, "mass")[0].sample for _ in range(4)] == [*full, *cheap]


def test_a_limit_over_several_queues_is_the_limit(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(5)
    assert [one.objective for one in study.take(7)].count(study.queues["mass"]) == 5
    assert len(study.take(7)) == 3


def test_any_number_of_queues(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(2)
    wanted = [*range(10_000, 11_000), *study.queues.values()]
    assert (
        len(
            database.write(
                lambda connection: lease_jobs(connection, [LeaseRequest(wanted, 9)])
            )
        )
        == 4
    )
    assert database.write(lambda connection: lease_jobs(connection, [])) == []


def test_a_paused_study_hands_out_nothing(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(1)
    database.write(
        lambda connection: connection.execute(update(studies).values(state="paused"))
    )
    assert study.take(5) == []


def test_a_job_that_backs_off_is_not_at_the_head(database: Database) -> None:
    study = SmallStudy(database)
    first, second = study.add_full(2)
    database.write(
        lambda connection: connection.execute(
            update(jobs)
            .where(jobs.c.sample_id == first)
            .values(ready_at=database_now() + 60)
        )
    )
    assert [one.sample for one in study.take(5, "mass")] == [second]


def test_concurrent_asks_never_share_a_job(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(50)
    taken: list[Lease] = []

    def worker() -> None:
        while got := study.take(3):
            taken.extend(got)

    threads = [threading.Thread(target=worker) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 100
    assert len({one.job for one in taken}) == 100


def test_a_look_sees_whether_there_is_anything_and_takes_nothing(
    database: Database,
) -> None:
    study = SmallStudy(database)
    study.add_full(1)
    with database.read() as connection:
        assert any_ready(connection, list(study.queues.values()))
        assert not any_ready(connection, [10_000])
        assert not any_ready(connection, [])
    assert len(study.take(5)) == 2
    with database.read() as connection:
        assert not any_ready(connection, list(study.queues.values()))


def test_a_head_that_somebody_is_taking_is_passed_over_not_waited_for(
    database: Database,
) -> None:
    if database.is_sqlite:
        return  # one writer at a time
    study = SmallStudy(database)
    first, second = study.add_full(2)
    wanted = [study.queues["mass"]]

    def while_the_first_is_held(connection: Connection) -> list[int]:
        assert [
            one.sample for one in lease_jobs(connection, [LeaseRequest(wanted, 1)])
        ] == [first]
        return [one.sample for one in study.take(1, "mass")]

    assert database.write(while_the_first_is_held) == [second]
