"""What holds when the studies of a cluster are finished: nothing is lost, and nothing
happened twice.
"""

from collections import Counter
from typing import Any

from sqlalchemy import select

from app.store.tables import attempts, jobs, objectives, sample_values, samples, workers
from counterpoise.wire.work import Job
from tests.reliability.processes.cluster import Cluster
from tests.reliability.processes.deployment import REPORTED
from tests.reliability.processes.step_checks import check_finished
from tests.reliability.processes.worker_threads import evaluate


def check_cluster(cluster: Cluster) -> None:
    assert cluster.workers.errors == []
    assert cluster.workers.spooled() == []
    finished = cluster.workers.evaluator.finished
    rows = cluster.rows(select(attempts))
    check_evaluations(finished, rows)
    reported = [row.lease for row in rows if row.outcome in REPORTED]
    assert sorted(reported) == sorted(job.lease for job, _ in finished)
    check_jobs(cluster)
    check_workers(cluster)
    for spec in cluster.specs:
        check_finished(cluster.rows, spec)


def check_evaluations(finished: list[tuple[Job, float]], rows: list[Any]) -> None:
    """Each evaluation is a reported attempt, with its value; no lease was evaluated
    twice.
    """
    attempt_of = {row.lease: row for row in rows}
    for job, value in finished:
        attempt = attempt_of[job.lease]
        assert (attempt.job_id, attempt.value) == (job.job, value), attempt
        assert attempt.outcome in REPORTED, attempt
    assert len({job.lease for job, _ in finished}) == len(finished)


def check_jobs(cluster: Cluster) -> None:
    """A job that is done has one value, of one attempt; the others are superseded
    cheap-only jobs.
    """
    first = select(attempts.c.job_id).where(attempts.c.outcome.in_(("done", "late")))
    sources = Counter(row.job_id for row in cluster.rows(first))
    values: dict[tuple[int, int], float] = {}
    for row in cluster.rows(select(sample_values)):
        values[row.sample_id, row.objective_id] = row.value
    names = {row.id: row.name for row in cluster.rows(select(objectives))}
    points = {row.id: row.x for row in cluster.rows(select(samples))}
    for job in cluster.rows(select(jobs)):
        value = values.pop((job.sample_id, job.objective_id), None)
        if job.state == "done":
            a, b = points[job.sample_id]
            assert sources[job.id] == 1
            assert value == evaluate(names[job.objective_id], {"a": a, "b": b})
        else:
            assert job.state == "superseded", job
            assert job.cheap_only, job
            assert sources[job.id] == 0
            assert value is None
    assert values == {}


def check_workers(cluster: Cluster) -> None:
    query = select(attempts.c.worker_id).where(attempts.c.outcome.in_(REPORTED))
    reported = Counter(row.worker_id for row in cluster.rows(query))
    for worker in cluster.rows(select(workers)):
        assert worker.done == reported[worker.id]
