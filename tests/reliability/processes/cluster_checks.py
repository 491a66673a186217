"""What holds when the studies of a cluster are finished: nothing is lost, and nothing happened twice."""

from collections import Counter
from typing import Any

from sqlalchemy import select

from app.store.tables import attempts, events, jobs, objectives, sample_values, samples, steps, studies, workers
from counterpoise.wire.work import Job
from tests.reliability.processes.cluster import Cluster
from tests.reliability.processes.deployment import REPORTED
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
    ids = {row.name: row.id for row in cluster.rows(select(studies))}
    assert ids.keys() == {spec["name"] for spec in cluster.specs}
    for spec in cluster.specs:
        check_study(cluster, ids[spec["name"]], spec)
        check_steps(cluster, ids[spec["name"]], spec)


def check_evaluations(finished: list[tuple[Job, float]], rows: list[Any]) -> None:
    """Each evaluation is a reported attempt, with its value; no lease was evaluated twice."""
    attempt_of = {row.lease: row for row in rows}
    for job, value in finished:
        attempt = attempt_of[job.lease]
        assert (attempt.job_id, attempt.value) == (job.job, value), attempt
        assert attempt.outcome in REPORTED, attempt
    assert len({job.lease for job, _ in finished}) == len(finished)


def check_jobs(cluster: Cluster) -> None:
    """A job that is done has one value, of one attempt; the others are superseded cheap-only jobs."""
    sources = Counter(row.job_id for row in cluster.rows(select(attempts)) if row.outcome in ("done", "late"))
    values = {(row.sample_id, row.objective_id): row.value for row in cluster.rows(select(sample_values))}
    names = {row.id: row.name for row in cluster.rows(select(objectives))}
    points = {row.id: dict(zip("ab", row.x, strict=True)) for row in cluster.rows(select(samples))}
    for job in cluster.rows(select(jobs)):
        value = values.pop((job.sample_id, job.objective_id), None)
        if job.state == "done":
            assert sources[job.id] == 1
            assert value == evaluate(names[job.objective_id], points[job.sample_id])
        else:
            assert job.state == "superseded", job
            assert job.cheap_only, job
            assert sources[job.id] == 0
            assert value is None
    assert values == {}


def check_workers(cluster: Cluster) -> None:
    reported = Counter(row.worker_id for row in cluster.rows(select(attempts)) if row.outcome in REPORTED)
    assert {row.id: row.done for row in cluster.rows(select(workers)) if row.done} == reported


def check_study(cluster: Cluster, study_id: int, spec: dict[str, Any]) -> None:
    (study,) = cluster.rows(select(studies).where(studies.c.id == study_id))
    budget = spec["budget"]
    assert (study.phase, study.planned_full, study.settled_full) == ("finished", budget, budget)
    query = select(events.c.seq).where(events.c.study_id == study_id).order_by(events.c.seq)
    assert [row.seq for row in cluster.rows(query)] == list(range(1, study.sequence + 1))


def check_steps(cluster: Cluster, study_id: int, spec: dict[str, Any]) -> None:
    """Each step happened once, with its batch."""
    rows = cluster.rows(select(steps).where(steps.c.study_id == study_id))
    assert {row.state for row in rows} == {"done"}
    searches = (spec["budget"] - spec["initial_samples"]) // spec["batch_size"]
    assert sorted(row.number for row in rows if row.kind == "search") == list(range(1, searches + 1))
    full = cluster.rows(select(samples.c.step_id).where(samples.c.study_id == study_id, samples.c.full))
    sizes = {"initial": spec["initial_samples"], "search": spec["batch_size"]}
    assert Counter(row.step_id for row in full) == {row.id: sizes[row.kind] for row in rows if row.kind in sizes}
