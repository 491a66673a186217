"""Leasing and settling: order, exclusivity, counters, sequence."""

import threading
from typing import Any

import pytest
from sqlalchemy import Connection, Table, select, text, update
from sqlalchemy.exc import IntegrityError

from app.store.clock import database_now
from app.store.database import Database
from app.store.tables import attempts, events, jobs, objectives, sample_values, samples, studies
from app.store.transitions import Lease, Told, lease, settle
from tests.store.small_study import SmallStudy


def rows(database: Database, table: Table) -> list[dict[str, Any]]:
    with database.read() as connection:
        return [dict(row) for row in connection.execute(select(table).order_by(*table.primary_key)).mappings()]


def take(study: SmallStudy, limit: int = 1, *names: str) -> list[Lease]:
    wanted = [study.queues[name] for name in names or study.queues]
    return study.database.write(lambda connection: lease(connection, wanted, study.worker, limit))


def tell(study: SmallStudy, *told: Told) -> set[str]:
    return study.database.write(lambda connection: settle(connection, told))


def test_a_leased_job_is_not_leased_again(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(1)
    first = take(study, 1, "mass")
    assert len(first) == 1
    assert take(study, 1, "mass") == []
    assert [one.objective for one in take(study, 5)] == [study.queues["drag"]]


def test_a_lease_has_a_token_a_deadline_in_database_time_and_an_attempt(database: Database) -> None:
    study = SmallStudy(database, lease_s=90)
    study.add_full(1)
    one = take(study, 2)
    with database.read() as connection:
        now = connection.execute(select(database_now())).scalar_one()
    assert all(len(each.lease) == 32 for each in one)
    assert one[0].lease != one[1].lease
    assert all(80 < each.expires_at - now <= 90 for each in one)
    assert [
        (row["job_id"], row["number"], row["lease"], row["worker_id"], row["outcome"])
        for row in rows(database, attempts)
    ] == [(each.job, 1, each.lease, study.worker, None) for each in one]


def test_full_samples_come_before_cheap_only_ones_then_the_oldest(database: Database) -> None:
    study = SmallStudy(database)
    cheap = study.add_cheap_only(2)
    full = study.add_full(2)
    assert [take(study, 1, "mass")[0].sample for _ in range(4)] == [*full, *cheap]


def test_a_limit_over_several_queues_is_the_limit(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(5)
    assert [one.objective for one in take(study, 7)].count(study.queues["mass"]) == 5
    assert len(take(study, 7)) == 3


def test_any_number_of_queues(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(2)
    wanted = [*range(10_000, 11_000), *study.queues.values()]
    assert len(database.write(lambda connection: lease(connection, wanted, study.worker, 9))) == 4
    assert database.write(lambda connection: lease(connection, [], study.worker, 9)) == []


def test_a_paused_study_hands_out_nothing(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(1)
    database.write(lambda connection: connection.execute(update(studies).values(state="paused")))
    assert take(study, 5) == []


def test_a_job_that_backs_off_is_not_at_the_head(database: Database) -> None:
    study = SmallStudy(database)
    first, second = study.add_full(2)
    database.write(
        lambda connection: connection.execute(
            update(jobs).where(jobs.c.sample_id == first).values(ready_at=database_now() + 60)
        )
    )
    assert [one.sample for one in take(study, 5, "mass")] == [second]


def test_concurrent_asks_never_share_a_job(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(50)
    taken: list[Lease] = []

    def worker() -> None:
        while got := take(study, 3):
            taken.extend(got)

    threads = [threading.Thread(target=worker) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 100
    assert len({one.job for one in taken}) == 100


def test_settling_records_the_value_once_in_sequence_and_counts_it(database: Database) -> None:
    study = SmallStudy(database)
    (sample,) = study.add_full(1)
    mass, drag = take(study, 2)
    assert tell(study, Told(mass.job, mass.lease, value=2.5, duration_s=0.1)) == {mass.lease}
    assert rows(database, studies)[0]["settled_full"] == 0
    assert tell(study, Told(drag.job, drag.lease, failure="infeasible", message="stalled")) == {drag.lease}

    values = [(row["seq"], row["sample_id"], row["value"], row["failure"]) for row in rows(database, sample_values)]
    assert values == [(1, sample, 2.5, None), (2, sample, None, "infeasible")]
    assert [(row["seq"], row["kind"], row["body"]) for row in rows(database, events)] == [
        (1, "done", {"job": mass.job}),
        (2, "failed", {"job": drag.job}),
    ]
    assert [(row["state"], row["lease"], row["expires_at"]) for row in rows(database, jobs)] == [
        ("done", None, None),
        ("failed", None, None),
    ]
    counters = ("created", "done", "failed", "superseded", "open_full")
    assert [tuple(row[name] for name in counters) for row in rows(database, objectives)] == [
        (1, 1, 0, 0, 0),
        (1, 0, 1, 0, 0),
    ]
    study_row = rows(database, studies)[0]
    assert (study_row["sequence"], study_row["planned_full"], study_row["settled_full"]) == (2, 1, 1)
    assert rows(database, samples)[0]["open"] == 0
    ended = [
        (row["outcome"], row["value"], row["failure"], row["message"], row["duration_s"])
        for row in rows(database, attempts)
    ]
    assert ended == [("done", 2.5, None, None, 0.1), ("failed", None, "infeasible", "stalled", None)]


def test_a_lease_that_is_not_current_settles_nothing(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(1)
    (mass,) = take(study, 1, "mass")
    assert tell(study, Told(mass.job, "0" * 32, value=1.0), Told(999, mass.lease, value=1.0)) == set()
    assert tell(study, Told(mass.job, mass.lease, value=1.0)) == {mass.lease}
    assert tell(study, Told(mass.job, mass.lease, value=9.0)) == set()
    assert [row["value"] for row in rows(database, sample_values)] == [1.0]
    assert rows(database, studies)[0]["sequence"] == 1


def test_a_list_of_tells_over_two_studies_settles_in_one_transaction(database: Database) -> None:
    one, two = SmallStudy(database), SmallStudy(database, name="car")
    one.add_full(2)
    two.add_full(3)
    leases = [*take(one, 10), *take(two, 10)]
    told = [Told(each.job, each.lease, value=float(i)) for i, each in enumerate(leases)]
    assert tell(one, *reversed(told)) == {each.lease for each in leases}
    assert [(row["sequence"], row["settled_full"]) for row in rows(database, studies)] == [(4, 2), (6, 3)]
    for study in (one, two):
        numbers = [row["seq"] for row in rows(database, sample_values) if row["study_id"] == study.id]
        assert numbers == list(range(1, len(numbers) + 1))


def test_concurrent_tells_leave_no_gap_in_the_sequence(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(40)
    leases = take(study, 80)

    def worker(mine: list[Lease]) -> None:
        for one in mine:
            tell(study, Told(one.job, one.lease, value=1.0))

    threads = [threading.Thread(target=worker, args=(leases[i::8],)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row["seq"] for row in rows(database, sample_values)] == list(range(1, 81))
    assert [(row["sequence"], row["settled_full"]) for row in rows(database, studies)] == [(80, 40)]
    assert [(row["done"], row["open_full"]) for row in rows(database, objectives)] == [(40, 0), (40, 0)]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO sample_values SELECT study_id, seq + 9, sample_id, objective_id, 7.5, NULL, at FROM sample_values",
        "INSERT INTO jobs (study_id, objective_id, sample_id, cheap_only)"
        " SELECT study_id, objective_id, sample_id, cheap_only FROM jobs",
        "UPDATE jobs SET state = 'leased', lease = NULL, expires_at = NULL",
        "UPDATE jobs SET state = 'ready', lease = 'x', expires_at = 1",
        "UPDATE jobs SET state = 'lost'",
        "UPDATE studies SET planned_full = budget + 1",
        "UPDATE studies SET settled_full = planned_full + 1",
        "UPDATE objectives SET done = created + 1",
        "INSERT INTO steps (study_id, kind, number, due_seq, due_at) SELECT study_id, kind, number, 9, 9 FROM steps",
        "INSERT INTO attempts (job_id, number, lease, worker_id, leased_at)"
        " SELECT job_id, number + 1, lease, worker_id, 1 FROM attempts",
        "INSERT INTO attempts (job_id, number, lease, worker_id, leased_at)"
        " SELECT job_id, number, 'another', worker_id, 1 FROM attempts",
        "INSERT INTO events SELECT * FROM events",
        "INSERT INTO objectives (study_id, position, name, lease_s) SELECT study_id, 7, name, 1 FROM objectives",
        "INSERT INTO objectives (study_id, position, name, lease_s) SELECT study_id, position, 'x', 1 FROM objectives",
        "INSERT INTO workers (name, first_seen_at, last_seen_at) SELECT name, 1, 1 FROM workers",
        "INSERT INTO studies (name, spec, budget, seed, created_at) SELECT name, spec, 1, 1, 1 FROM studies",
        "INSERT INTO jobs (study_id, objective_id, sample_id, cheap_only) VALUES (77, 77, 77, true)",
    ],
)
def test_the_database_itself_refuses_what_must_never_be(database: Database, statement: str) -> None:
    study = SmallStudy(database)
    study.add_full(1)
    (mass,) = take(study, 1, "mass")
    tell(study, Told(mass.job, mass.lease, value=1.0))

    def prepare(connection: Connection) -> None:
        connection.execute(
            text("INSERT INTO steps (study_id, kind, number, due_seq, due_at) VALUES (:study, 'search', 1, 1, 1)"),
            {"study": study.id},
        )

    database.write(prepare)
    with pytest.raises(IntegrityError):
        database.write(lambda connection: connection.execute(text(statement)))


def test_the_plan_cannot_exceed_the_budget(database: Database) -> None:
    study = SmallStudy(database, budget=3)
    study.add_full(3)
    with pytest.raises(IntegrityError):
        study.add_full(1)
    assert len(rows(database, samples)) == 3
