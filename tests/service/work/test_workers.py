"""Workers: what they did is counted in the transactions that end their attempts; a
drained one gets no more jobs.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, product
from typing import Any

import pytest
from sqlalchemy import update

from app.errors import WorkerUnknown
from app.service.work.ask import serve_asks
from app.service.work.empty_ask import explain_empty_ask
from app.service.work.heartbeat import heartbeat
from app.service.work.release import release
from app.service.work.tell import tell
from app.service.work.workers import drain, forget_idle, list_workers
from app.store.database import Database
from app.store.tables import attempts, samples, workers
from counterpoise.wire.views import WorkerView
from counterpoise.wire.work import Ask, Failure, Tell
from tests.service.files.imports.import_rows import import_rows
from tests.service.lab import Lab


@pytest.fixture
def lab(database: Database) -> Lab:
    lab = Lab(database, initial_samples=8, max_attempts=5)
    lab.plan()
    return lab


def seen(lab: Lab) -> dict[str, WorkerView]:
    return {view.worker: view for _, view in list_workers(lab.database, 0, 100)}


def change(lab: Lab, statement: Any) -> None:
    lab.database.write(lambda connection: connection.execute(statement))


def test_attempts_are_counted_by_how_they_ended(lab: Lab) -> None:
    jobs = lab.ask("crash", most=7, worker="a/b c")
    lab.tell(jobs[0])
    lab.fail(jobs[1], "infeasible")
    lab.fail(jobs[2], "error")
    lab.fail(jobs[3], "infrastructure")
    assert lab.expire(jobs[4]) == 1
    release(lab.database, [jobs[5].lease])
    (found,) = seen(lab).values()
    assert (found.worker, found.done, found.jobs) == ("a/b c", 1, [jobs[6].job])
    assert found.failures.model_dump() == {
        "infeasible": 1,
        "error": 1,
        "infrastructure": 1,
        "lost": 1,
    }
    assert (found.studies, found.objectives, found.slots) == (["wing"], ["crash"], 7)
    lab.check_counters()


def test_a_repeated_tell_is_not_counted_again(lab: Lab) -> None:
    (job,) = lab.ask("crash")
    for _ in range(2):
        assert lab.tell(job).status == 200
    assert lab.tell(job, 17.0).status == 409
    assert seen(lab)["w"].done == 1


def test_a_revived_lease_is_not_counted_as_lost(lab: Lab) -> None:
    late, revived = lab.ask("crash", most=2)
    assert lab.expire() == 2
    assert seen(lab)["w"].failures.lost == 2
    assert lab.tell(late).status == 200
    assert not heartbeat(lab.database, [revived.lease])[0].cancel
    found = seen(lab)["w"]
    assert (found.done, found.failures.lost, found.jobs) == (1, 0, [revived.job])
    lab.check_counters()


def test_an_overtaking_value_counts_for_its_worker_and_against_none(
    lab: Lab,
) -> None:
    (slow,) = lab.ask("crash", worker="slow")
    assert lab.expire() == 1
    lab.end_backoffs()
    (again,) = [
        job for job in lab.ask("crash", most=8, worker="quick") if job.job == slow.job
    ]
    # In one list: the late value overtakes the other lease, which then speaks as well.
    assert [
        told.status
        for told in tell(lab.database, [lab.tell_of(slow), lab.tell_of(again)])
    ] == [200, 200]
    assert {name: (one.done, one.failures.lost) for name, one in seen(lab).items()} == {
        "slow": (1, 0),
        "quick": (1, 0),
    }
    lab.check_counters()


def test_an_import_that_overtakes_a_lease_is_counted_too(lab: Lab) -> None:
    (job,) = lab.ask("crash", worker="w")
    values = {"mass": 1.0, "crash": 2.0}
    import_rows(lab, [{"x": job.x, "values": values}])
    found = seen(lab)["w"]
    assert (found.jobs, found.done, found.failures.lost) == ([], 0, 0)
    lab.check_workers()


def test_a_list_over_several_workers_and_studies(lab: Lab, database: Database) -> None:
    other = Lab(database, name="car", initial_samples=8)
    other.plan()
    held = []
    for each, name in product((lab, other), ("z", "a")):
        held += each.ask("crash", most=2, worker=name)
    answers = tell(database, [lab.tell_of(job) for job in held])
    assert [answer.status for answer in answers] == [200] * 8
    assert {name: one.done for name, one in seen(lab).items()} == {"z": 4, "a": 4}


def test_busy_share_is_the_part_of_its_slots_time_that_held_jobs(lab: Lab) -> None:
    first, second = lab.ask("crash", most=2)
    lab.tell(first)
    change(
        lab,
        update(workers).values(
            first_seen_at=workers.c.last_seen_at - 100.0, busy_s=30.0, slots=2
        ),
    )
    change(
        lab,
        update(attempts)
        .where(attempts.c.lease == second.lease)
        .values(leased_at=attempts.c.leased_at - 50.0),
    )
    # 30 s of an ended attempt and 50 s of the one that runs, in 100 s of two slots.
    assert seen(lab)["w"].busy_share == pytest.approx(0.4, abs=0.05)
    lab.tell(second)
    assert seen(lab)["w"].busy_share == pytest.approx(0.4, abs=0.05)


def test_a_heartbeat_is_a_sign_of_life_and_an_expiry_is_none(lab: Lab) -> None:
    (job,) = lab.ask("crash")
    change(lab, update(workers).values(last_seen_at=1000.0))
    assert lab.expire() == 1
    found = seen(lab)["w"]
    assert (found.last_seen_at, found.alive) == ("1970-01-01T00:16:40.000Z", False)
    heartbeat(lab.database, [job.lease])
    assert seen(lab)["w"].last_seen_at > "2000"
    assert seen(lab)["w"].alive


def test_a_worker_that_holds_a_job_is_alive_without_asking(lab: Lab) -> None:
    lab.ask("crash")
    change(lab, update(workers).values(last_seen_at=1000.0))
    assert seen(lab)["w"].alive


def test_a_drained_worker_gets_no_more_jobs_and_a_reason(lab: Lab) -> None:
    (held,) = lab.ask("crash", worker="old")
    assert drain(lab.database, "old", True).drained
    ask = Ask(worker="old", studies=["*"], objectives=["*"])
    other = ask.model_copy(update={"worker": "new"})
    nothing, something = serve_asks(lab.database, [ask, other], 20.0)
    assert (nothing, len(something)) == ([], 1)
    answer = explain_empty_ask(lab.database, ask)
    assert (answer.reason, answer.retry_after_s) == ("drained", 60.0)
    assert lab.tell(held).status == 200  # what runs goes on
    assert not drain(lab.database, "old", False).drained
    assert len(lab.ask(worker="old")) == 1


def test_a_drained_worker_is_seen_in_health_and_evaluates_nothing(lab: Lab) -> None:
    lab.ask("crash", worker="old")
    drain(lab.database, "old", True)
    assert "workers_drained" in lab.health()
    release(lab.database, [row["lease"] for row in lab.rows(attempts)])
    change(lab, update(samples).values(created_at=samples.c.created_at - 60.0))
    change(lab, update(attempts).values(ended_at=attempts.c.ended_at - 60.0))
    assert any(
        (item.code, item.objective) == ("no_worker", "crash")
        for item in lab.view().health
    )
    drain(lab.database, "old", False)
    assert [item.objective for item in lab.view().health] == ["mass"]


def test_only_a_known_worker_can_be_drained(lab: Lab) -> None:
    lab.ask(worker="node7")
    with pytest.raises(
        WorkerUnknown, match=r"no worker 'nod7' has asked yet; did you mean 'node7'\?"
    ):
        drain(lab.database, "nod7", True)


def test_asks_tells_heartbeats_and_releases_of_the_same_workers_never_lock_each_other_out(
    database: Database,
) -> None:
    """Several workers and studies in every transaction, in different orders, from
    several threads.
    """
    labs = [
        Lab(database, name=name, initial_samples=20, budget=40, max_attempts=50)
        for name in ("wing", "car")
    ]
    for lab in labs:
        lab.plan()
    names = ["a", "b", "c", "d"]
    barrier = threading.Barrier(4)

    def work(turn: int) -> None:
        barrier.wait()
        for round_ in range(8):
            order = names[turn:] + names[:turn] if round_ % 2 else names[::-1]
            asks = [
                Ask(worker=name, studies=["*"], objectives=["*"], max_jobs=2)
                for name in order
            ]
            jobs = list(chain.from_iterable(serve_asks(database, asks, 20.0)))
            heartbeat(database, [job.lease for job in jobs[::-1]] or ["0" * 32])
            half = len(jobs) // 2
            failure = Failure(kind="infrastructure")
            tell(
                database,
                [
                    Tell(job=job.job, lease=job.lease, failure=failure)
                    for job in jobs[half:]
                ]
                or [],
            )
            release(database, [job.lease for job in jobs[:half]])

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, turn) for turn in range(4)]:
            done.result(100)
    labs[0].check_workers()


def test_workers_that_only_asked_are_forgotten(lab: Lab) -> None:
    lab.ask("crash", worker="with a job")
    for name in ("idle", "drained", "recent"):
        lab.ask("nothing", worker=name)
    drain(lab.database, "drained", drained=True)
    change(
        lab, update(workers).where(workers.c.name != "recent").values(last_seen_at=1.0)
    )
    assert forget_idle(lab.database, kept_days=1.0) == 1
    assert set(seen(lab)) == {"with a job", "drained", "recent"}
    assert seen(lab)["with a job"].jobs
