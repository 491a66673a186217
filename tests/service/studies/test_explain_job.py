"""Explain: for each thing that can happen to a job, the words that say so."""

import pytest
from sqlalchemy import update

from app.domain.times import iso
from app.errors import JobUnknown
from app.service.studies import explain_job as explain
from app.service.studies.explain_job import explain_job
from app.service.studies.lifecycle import pause, stop
from app.service.work.release import release
from app.service.work.workers import drain
from app.store.database import Database
from app.store.tables import attempts, jobs, objectives, sample_values, workers
from counterpoise.wire.views import JobStory
from counterpoise.wire.work import Job
from tests.service.lab import Lab


@pytest.fixture
def lab(database: Database) -> Lab:
    lab = Lab(database, max_attempts=2, max_losses=2)
    lab.plan()
    return lab


def story(lab: Lab, job: Job | int) -> JobStory:
    return explain_job(lab.database, job if isinstance(job, int) else job.job)


def queue(lab: Lab, objective: str) -> list[int]:
    number = next(row["id"] for row in lab.rows(objectives) if row["name"] == objective)
    return [row["id"] for row in lab.rows(jobs) if row["objective_id"] == number]


def test_a_job_that_nobody_can_take(lab: Lab) -> None:
    third = queue(lab, "crash")[2]
    found = story(lab, third)
    assert (found.study, found.objective, found.state, found.step) == (
        "wing",
        "crash",
        "ready",
        "initial",
    )
    assert set(found.x) == {"a", "b"}
    assert (found.ahead, found.attempts, found.value) == (2, [], None)
    assert found.why == [
        "2 jobs are before it in the queue of crash",
        "no live worker takes crash; start one, or see `counterpoise workers`",
    ]


def test_a_job_that_waits_for_a_slot(lab: Lab) -> None:
    lab.ask("crash", most=2, worker="w")
    third = queue(lab, "crash")[2]
    assert story(lab, third).why == [
        "it is the next in the queue of crash",
        "all 2 slots of 1 live worker for crash are busy",
    ]
    (free,) = lab.ask("mass", "crash", worker="other")
    release(lab.database, [free.lease])
    assert (
        story(lab, third)
        .why[-1]
        .startswith("2 live workers for crash with 1 free of 3 slots")
    )


def test_a_worker_that_holds_a_job_is_alive_without_heartbeats(lab: Lab) -> None:
    lab.ask("crash", most=2, worker="w")
    lab.database.write(
        lambda connection: connection.execute(update(workers).values(last_seen_at=1.0))
    )
    assert (
        story(lab, queue(lab, "crash")[2]).why[-1]
        == "all 2 slots of 1 live worker for crash are busy"
    )


def test_a_job_of_a_paused_study_with_a_drained_worker(lab: Lab) -> None:
    lab.ask("mass", worker="old")
    lab.database.write(lambda c: c.execute(update(workers).values(objectives=["*"])))
    drain(lab.database, "old", True)
    pause(lab.database, "wing")
    assert story(lab, queue(lab, "crash")[0]).why == [
        "the study is paused; `counterpoise study resume wing` lets it go on",
        "it is the next in the queue of crash",
        "drained, so that they do not ask for it: old",
        "no live worker takes crash; start one, or see `counterpoise workers`",
    ]


def test_a_job_that_backs_off(lab: Lab) -> None:
    (job,) = lab.ask("crash", worker="node7")
    lab.fail(job, "infrastructure", "no licence")
    found = story(lab, job)
    (row,) = [row for row in lab.rows(jobs) if row["id"] == job.job]
    assert found.ahead is None
    assert found.why[:3] == [
        "attempt 1, with worker node7, ended: infrastructure",
        "worker node7 reported of attempt 1: no licence",
        f"it backs off until {iso(row['ready_at'])}, because it was lost once",
    ]
    (tried,) = found.attempts
    assert (tried.worker, tried.outcome, tried.failure, tried.message) == (
        "node7",
        "failed",
        "infrastructure",
        "no licence",
    )


def test_a_job_that_is_held(lab: Lab) -> None:
    lab.database.write(lambda c: c.execute(update(objectives).values(timeout_s=100.0)))
    (job,) = lab.ask("crash", worker="node7")
    (row,) = [row for row in lab.rows(jobs) if row["id"] == job.job]
    began = story(lab, job).attempts[0].leased_at
    why = story(lab, job).why
    assert why[0] == f"worker node7 has had it since {began}, as attempt 1"
    assert (
        why[1]
        == f"its lease runs until {iso(row['expires_at'])}, and longer with every heartbeat"
    )
    assert why[2].startswith("heartbeats extend it until ")
    lab.database.write(
        lambda c: c.execute(
            update(jobs).where(jobs.c.id == job.job).values(expires_at=1000.0)
        )
    )
    assert (
        story(lab, job)
        .why[1]
        .startswith(
            "its lease expired at 1970-01-01T00:16:40.000Z; without a heartbeat"
        )
    )


def test_a_job_that_is_done_in_time_late_or_without_a_worker(lab: Lab) -> None:
    in_time, late = lab.ask("crash", most=2, worker="node7")
    lab.expire(late)
    lab.tell(in_time, 0.5, duration_s=3.0)
    lab.tell(late)
    found = story(lab, in_time)
    assert (found.value, found.attempts[0].duration_s) == (0.5, 3.0)
    at = next(row["at"] for row in lab.rows(sample_values) if row["value"] == 0.5)
    assert found.why == [f"worker node7 told its value at {iso(at)}, in attempt 1"]
    assert story(lab, late).why[0].endswith("in attempt 1, after its lease had expired")
    lab.database.write(lambda c: c.execute(attempts.delete()))
    assert story(lab, in_time).why == [
        f"its value was not told by a worker, but imported at {iso(at)}"
    ]


def test_jobs_that_failed_for_good(lab: Lab) -> None:
    again = "`counterpoise study retry wing` runs it again"
    first, second, third = lab.ask("crash", most=3)
    lab.fail(first, "infeasible")
    (why,) = story(lab, first).why
    assert "`counterpoise study retry wing --infeasible`" in why
    lab.fail(second, "error", "x" * 15_000 + "the end")
    (second,) = lab.ask("crash")
    lab.fail(second, "error", "Traceback\nno mesh\n--- printed ---\nreading")
    found = story(lab, second)
    assert found.why == [
        f"the simulation failed 2 times, as often as max_attempts allows; {again}",
        "worker w reported of attempt 2: no mesh",
    ]
    message = found.attempts[0].message or ""
    assert (len(message), message[-7:]) == (10_000, "the end")
    lab.expire(third)
    lab.end_backoffs()
    (third,) = [job for job in lab.ask("crash", most=8) if job.job == third.job]
    lab.expire(third)
    assert story(lab, third).why == [
        f"it was lost 2 times, as often as max_losses allows; {again}"
    ]
    assert [one.outcome for one in story(lab, third).attempts] == ["expired", "expired"]


def test_superseded_jobs(lab: Lab) -> None:
    lab.run_until(1)
    cheap = [
        row["id"] for row in lab.rows(jobs) if row["cheap_only"] and row["step"] == 1
    ]
    while jobs_left := lab.ask("crash", most=8):
        for job in jobs_left:
            lab.tell(job)
    for job in lab.ask("mass", most=5):  # the full ones come first
        lab.tell(job)
    lab.plan()
    gone = next(each for each in cheap if lab.job(each)["state"] == "superseded")
    assert story(lab, gone).why == [
        "the search went on to step 2 before a worker took it; a value would still be used"
    ]
    stop(lab.database, "wing", cancel_running=False)
    full = next(
        row["id"]
        for row in lab.rows(jobs)
        if row["state"] == "superseded" and not row["cheap_only"]
    )
    assert story(lab, full).why == [
        "the study was stopped before a worker took it; a value would still be used"
    ]


def test_a_long_queue_is_not_counted_to_its_end(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain, "MOST_AHEAD", 3)
    second, last = queue(lab, "crash")[1], queue(lab, "crash")[3]
    assert story(lab, second).why[0] == "1 job is before it in the queue of crash"
    assert (
        story(lab, last).why[0] == "3 or more jobs are before it in the queue of crash"
    )


def test_an_unknown_job(lab: Lab) -> None:
    with pytest.raises(JobUnknown, match="there is no job 4711"):
        story(lab, 4711)
