"""Promises 1 and 3: a finished simulation is never thrown away; tell is idempotent per
lease.
"""

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy import Connection

from app.service.work.tell import tell
from app.store.database import Database
from app.store.tables import attempts, sample_values
from app.store.work.row_locks import lock_jobs_of_leases
from counterpoise.wire.work import Tell, Told
from tests.service.lab import Lab


@pytest.fixture
def lab(database: Database) -> Lab:
    lab = Lab(database)
    lab.plan()
    return lab


def outcomes(lab: Lab) -> list[tuple[str | None, float | None]]:
    return [(row["outcome"], row["value"]) for row in lab.rows(attempts)]


def test_a_value_settles_its_job(lab: Lab) -> None:
    (job,) = lab.ask("mass")
    assert lab.tell(job, 2.0, duration_s=0.5).state == "done"
    assert lab.values() == [(2.0, None)]
    lab.check_counters()


def test_a_repeated_tell_is_idempotent(lab: Lab) -> None:
    (job,) = lab.ask("mass")
    assert lab.tell(job, 2.0) == lab.tell(job, 2.0) == lab.tell(job, 2.0)
    assert lab.values() == [(2.0, None)]
    lab.check_counters()


def test_another_value_on_the_same_lease_is_refused_and_changes_nothing(
    lab: Lab,
) -> None:
    (job,) = lab.ask("mass")
    lab.tell(job, 2.0)
    answer = lab.tell(job, 3.0)
    assert (answer.status, answer.state) == (409, "done")
    assert "already told value 2.0" in answer.detail
    assert lab.fail(job, "infeasible").status == 409
    assert outcomes(lab) == [("done", 2.0)]
    assert lab.values() == [(2.0, None)]


def test_a_late_value_is_accepted_while_the_value_is_missing(lab: Lab) -> None:
    (job,) = lab.ask("mass")
    assert lab.expire() == 1
    assert lab.job(job.job)["state"] == "ready"
    assert lab.tell(job, 2.0).state == "done"
    assert outcomes(lab) == [("late", 2.0)]
    assert lab.values() == [(2.0, None)]
    lab.check_counters()


def test_the_first_value_stands_and_the_other_is_kept_as_an_attempt(lab: Lab) -> None:
    (slow,) = lab.ask("mass", worker="slow")
    lab.expire()
    lab.end_backoffs()
    (fast,) = lab.ask("mass", worker="fast")
    assert fast.job == slow.job
    assert fast.attempt == 2
    assert lab.tell(fast, 1.0).status == 200
    answer = lab.tell(slow, 9.0)
    assert (answer.status, answer.state) == (200, "done")
    assert "another lease was faster" in answer.detail
    assert outcomes(lab) == [("duplicate", 9.0), ("done", 1.0)]
    assert lab.values() == [(1.0, None)]
    assert lab.tell(slow, 9.0) == answer
    assert lab.tell(slow, 8.0).status == 409
    lab.check_counters()


def test_a_late_value_wins_while_another_worker_still_computes(lab: Lab) -> None:
    (slow,) = lab.ask("mass")
    lab.expire()
    lab.end_backoffs()
    (second,) = lab.ask("mass")
    assert lab.tell(slow, 1.0).state == "done"
    assert lab.job(slow.job)["lease"] is None
    assert outcomes(lab) == [("late", 1.0), ("overtaken", None)]
    lab.check_counters()
    assert lab.tell(second, 2.0).status == 200
    assert outcomes(lab) == [("late", 1.0), ("duplicate", 2.0)]
    assert lab.values() == [(1.0, None)]


def test_infeasible_is_final(lab: Lab) -> None:
    (job,) = lab.ask("crash")
    lab.fail(job, "infeasible", "it folded")
    assert lab.tell(job, 1.0).status == 409  # this lease has spoken
    assert lab.values() == [(None, "infeasible")]
    lab.check_counters()


def test_a_failed_job_takes_the_value_of_an_older_lease(lab: Lab) -> None:
    (old,) = lab.ask("crash")
    lab.expire()
    lab.end_backoffs()
    (new,) = lab.ask("crash")
    lab.fail(new, "infeasible")
    assert lab.job(new.job)["state"] == "infeasible"
    assert lab.tell(old, 5.0).state == "done"
    assert lab.values() == [(None, "infeasible"), (5.0, None)]
    lab.check_counters()


def test_errors_are_retried_up_to_max_attempts(lab: Lab) -> None:
    for attempt in (1, 2, 3):
        (job,) = lab.ask("crash")
        assert job.attempt == attempt
        assert lab.fail(job, "error", "segfault").state == (
            "failed" if attempt == 3 else "ready"
        )
        lab.check_counters()
    assert lab.values() == [(None, "error")]
    assert [row["message"] for row in lab.rows(attempts)] == ["segfault"] * 3


def test_infrastructure_failures_back_off_and_count_apart_from_errors(
    database: Database,
) -> None:
    lab = Lab(database, max_losses=2, max_attempts=1)
    lab.plan()
    (job,) = lab.ask("crash")
    assert lab.fail(job, "infrastructure", "no licence").state == "ready"
    assert lab.job(job.job)["ready_at"] is not None
    assert all(other.job != job.job for other in lab.ask("crash", most=10))
    lab.end_backoffs()
    (again,) = lab.ask("crash")
    assert again.job == job.job
    assert lab.fail(again, "infrastructure").state == "failed"
    assert lab.values() == [(None, "infrastructure")]
    lab.check_counters()


def test_a_late_error_is_noted_and_does_not_touch_the_job(lab: Lab) -> None:
    (job,) = lab.ask("crash")
    lab.expire()
    before = lab.job(job.job)
    assert lab.fail(job, "error", "late").status == 200
    assert lab.job(job.job) == before
    assert outcomes(lab) == [("failed", None)]


@pytest.mark.parametrize("wrong", ["job", "lease"])
def test_an_unknown_job_or_lease_is_refused(lab: Lab, wrong: str) -> None:
    first, second = lab.ask("mass", most=2)
    said = Tell(
        job=second.job if wrong == "job" else first.job, lease=first.lease, value=1.0
    )
    if wrong == "lease":
        said = said.model_copy(update={"lease": "0" * 32})
    (answer,) = tell(lab.database, [said])
    assert answer.status == 404
    assert "has no lease" in answer.detail
    assert lab.values() == []


def test_a_list_returns_a_result_for_each_item(lab: Lab) -> None:
    a, b, c = lab.ask("mass", most=3)
    items = [
        lab.tell_of(a, 1.0),
        Tell(job=a.job, lease="0" * 32, value=9.0),
        lab.tell_of(a, 2.0),
        lab.tell_of(b, 1.0, also={"lift": 1.0}),
        lab.tell_of(c, 3.0),
        lab.tell_of(a, 1.0),
        lab.tell_of(c, 3.0),
    ]
    answers = tell(lab.database, items)
    assert [answer.status for answer in answers] == [200, 404, 409, 422, 200, 200, 200]
    assert [answer.job for answer in answers] == [item.job for item in items]
    assert lab.values() == [(1.0, None), (3.0, None)]
    assert lab.tell(b, 1.0).status == 200
    lab.check_counters()


def test_values_of_the_same_run_come_with_it(database: Database) -> None:
    lab = Lab(
        database,
        objectives=[
            {"name": "drag"},
            {"name": "lift", "direction": "maximize", "same_run_as": "drag"},
            {"name": "mass"},
        ],
    )
    lab.plan()
    first, second, third = lab.ask("drag", most=3)
    assert first.also == ["lift"]
    assert lab.tell(first, 1.0, also={"lift": 0.3}).status == 200
    assert lab.tell(second, 2.0).status == 200  # a missing one has failed
    assert lab.fail(third, "infeasible").status == 200
    assert lab.values() == [
        (1.0, None),
        (0.3, None),
        (2.0, None),
        (None, "error"),
        (None, "infeasible"),
        (None, "infeasible"),
    ]
    wrong = lab.tell(lab.ask("drag")[0], 1.0, also={"lft": 1.0})
    assert wrong.status == 422
    assert "did you mean 'lift'?" in wrong.detail
    counted = {o.name: (o.done, o.infeasible, o.failed) for o in lab.view().objectives}
    assert counted == {"drag": (2, 1, 0), "lift": (1, 1, 1), "mass": (0, 0, 0)}
    lab.check_counters()


def test_concurrent_tells_of_one_lease_record_one_value(lab: Lab) -> None:
    (job,) = lab.ask("mass")
    answers: list[Told] = []
    barrier = threading.Barrier(6)

    def worker(value: float) -> None:
        barrier.wait()
        answers.append(lab.tell(job, value))

    threads = [threading.Thread(target=worker, args=(float(i % 2),)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status for answer in answers) == [200] * 3 + [409] * 3
    assert len(lab.values()) == 1
    lab.check_counters()


def test_metadata_is_kept_and_bounded(lab: Lab) -> None:
    first, second = lab.ask("mass", most=2)
    lab.tell(first, 1.0, metadata={"node": "n7"})
    assert lab.rows(attempts)[0]["details"] == {"metadata": {"node": "n7"}}
    assert lab.tell(second, 1.0, metadata={"log": "x" * 20_001}).status == 422


def test_the_duration_is_the_workers_or_else_from_lease_to_tell(lab: Lab) -> None:
    first, second = lab.ask("mass", most=2)
    lab.tell(first, 1.0, duration_s=12.5)
    lab.tell(second, 1.0)
    one, two = (row["duration_s"] for row in lab.rows(sample_values))
    assert one == 12.5
    assert 0.0 <= two < 60.0


@pytest.mark.parametrize(
    "value", [1e101, -1e101, float("nan"), float("inf"), "1.5", True]
)
def test_what_is_no_usable_number_is_refused_on_the_wire(value: object) -> None:
    with pytest.raises(ValidationError):
        Tell(job=1, lease="0" * 32, value=value)


def test_all_that_a_list_is_about_is_locked_at_once(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is locked later may be locked in another order than others lock it; invented
    leases are no reason.
    """
    looks: list[list[str]] = []

    def look(connection: Connection, leases: Sequence[str]) -> Any:
        looks.append(list(leases))
        return lock_jobs_of_leases(connection, leases)

    monkeypatch.setattr("app.service.work.tell.lock_jobs_of_leases", look)
    one, two = lab.ask("mass", most=2)
    invented = [
        Tell(job=one.job, lease=f"{number:032x}", value=1.0) for number in range(100)
    ]
    words = [*invented, lab.tell_of(two, 2.0), lab.tell_of(one, 1.0)]
    assert [answer.status for answer in tell(lab.database, words)] == [404] * 100 + [
        200,
        200,
    ]
    assert looks[0] == [item.lease for item in words]
    assert len(looks) <= 3, "no further looks but for what is settled one by one"
    lab.check_counters()
