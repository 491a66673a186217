"""What holds when the studies of a deployment are finished, whichever processes were killed before."""

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import select

from app.store.database import Database
from app.store.tables import attempts, jobs, objectives, sample_values, samples, steps, studies
from app.store.upgrade import upgrade
from tests.e2e.processes import eventually
from tests.e2e.replay import proposals, recorded, replay
from tests.reliability.processes.deployment import REPORTED, Deployment, Run

SPOOL_SCAN_S = 60.0  # twice the interval in which workers look for spools of others


def check_deployment(deployment: Deployment) -> None:
    check_runs(deployment)
    check_values(deployment)
    for spec in deployment.specs:
        check_steps(deployment, spec)
        check_undisturbed(deployment.database, spec, deployment.folder)


def check_runs(deployment: Deployment) -> None:
    """Every finished simulation is an attempt with its values, and no other attempt has values."""
    try:
        eventually(lambda: not deployment.unrecorded(), "results", SPOOL_SCAN_S)
    except AssertionError:
        assert deployment.unrecorded() == [], "finished simulations are not recorded"
    runs = {run.lease: run for run in deployment.runs()}
    assert len(runs) == len(deployment.runs()), "a lease was evaluated twice"
    rows = deployment.read(select(attempts))
    reported = {row.lease: row for row in rows if row.outcome in REPORTED}
    assert reported.keys() <= runs.keys()
    check_attempts(deployment, [(attempt, runs[lease]) for lease, attempt in reported.items()])
    assert deployment.spooled_at_kill <= reported.keys()
    lost = runs.keys() - reported.keys()
    assert lost <= deployment.excused
    assert deployment.spooled() == set()
    outcomes = dict(Counter(row.outcome for row in rows))
    spooled = len(deployment.spooled_at_kill)
    print(f"{len(runs)} runs, {spooled} spooled when their worker was killed, {len(lost)} lost; {outcomes}")  # noqa: T201


def check_attempts(deployment: Deployment, pairs: list[tuple[Any, Run]]) -> None:
    """Each attempt has the values of its run, at the point of its job."""
    job_rows = {row.id: row for row in deployment.read(select(jobs))}
    names = {row.id: row.name for row in deployment.read(select(objectives))}
    points = {row.id: row.x for row in deployment.read(select(samples))}
    for attempt, run in pairs:
        job = job_rows[attempt.job_id]
        also = (attempt.details or {}).get("also", {})
        assert {run.objective: attempt.value, **also} == run.values
        assert names[job.objective_id] == run.objective
        assert [float(x) for x in points[job.sample_id]] == [float(x) for x in run.x]


def check_values(deployment: Deployment) -> None:
    """A job has the values of one attempt, the first that told any."""
    objective_ids = {(row.study_id, row.name): row.id for row in deployment.read(select(objectives))}
    job_rows = {row.id: row for row in deployment.read(select(jobs))}
    runs = {run.lease: run for run in deployment.runs()}
    expected: Counter[tuple[int, int, float]] = Counter()
    for attempt in deployment.read(select(attempts)):
        if attempt.outcome in ("done", "late"):
            job = job_rows[attempt.job_id]
            for name, value in runs[attempt.lease].values.items():
                expected[job.sample_id, objective_ids[job.study_id, name], value] += 1
    stored = [(row.sample_id, row.objective_id, row.value) for row in deployment.read(select(sample_values))]
    assert Counter(stored) == expected


def check_steps(deployment: Deployment, spec: dict[str, Any]) -> None:
    """Each step happened once, with its batch."""
    (study,) = deployment.read(select(studies).where(studies.c.name == spec["name"]))
    assert (study.planned_full, study.settled_full) == (spec["budget"], spec["budget"])
    rows = deployment.read(select(steps).where(steps.c.study_id == study.id))
    assert {row.state for row in rows} == {"done"}
    assert len({(row.kind, row.objective, row.number) for row in rows}) == len(rows)
    searches = (spec["budget"] - spec["initial_samples"]) // spec["batch_size"]
    assert sorted(row.number for row in rows if row.kind == "search") == list(range(1, searches + 1))
    full = deployment.read(select(samples.c.step_id).where(samples.c.study_id == study.id, samples.c.full))
    sizes = {"initial": spec["initial_samples"], "search": spec["batch_size"]}
    assert Counter(row.step_id for row in full) == {row.id: sizes[row.kind] for row in rows if row.kind in sizes}


def check_undisturbed(database: Database, spec: dict[str, Any], folder: Path) -> None:
    """The same order of tells leads to the same proposals where planners are never killed and never late.

    A late planner omits a generation of a stream that is not planned when search begins.
    """
    with closing(Database(f"sqlite:///{folder}/undisturbed-{spec['name']}.db")) as undisturbed:
        upgrade(undisturbed)
        replay(undisturbed, spec, recorded(database, spec["name"]))
        expected = proposals(undisturbed)
    proposed = proposals(database, spec["name"])
    assert set(proposed.values()) == {1}, "a step proposed a sample twice"
    planned_steps = {sample[:3] for sample in proposed}
    for sample in list(expected):
        is_omitted = sample[0] == "stream" and sample[:3] not in planned_steps
        if is_omitted:
            del expected[sample]
    assert proposed == expected
