"""What holds when the studies of a deployment are finished, whichever processes were
killed before.
"""

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import select

from app.store.database import Database
from app.store.tables import attempts, jobs, objectives, sample_values, samples
from app.store.upgrade import upgrade
from tests.e2e.processes import eventually
from tests.e2e.replay import proposals, recording, replay
from tests.reliability.processes.deployment import REPORTED, Deployment, Run
from tests.reliability.processes.step_checks import check_finished

SPOOL_SCAN_S = 60.0  # twice the interval in which workers look for spools of others


def check_deployment(deployment: Deployment) -> None:
    check_runs(deployment)
    check_values(deployment)
    for spec in deployment.specs:
        check_finished(deployment.read, spec)
        check_undisturbed(deployment.database, spec, deployment.folder)


def check_runs(deployment: Deployment) -> None:
    """Every finished simulation is an attempt with its values, and no other attempt has
    values.
    """
    try:
        eventually(lambda: not deployment.unrecorded(), "results", SPOOL_SCAN_S)
    except AssertionError:
        assert deployment.unrecorded() == [], "finished simulations are not recorded"
    runs = deployment.runs_by_lease()
    assert len(runs) == len(deployment.runs()), "a lease was evaluated twice"
    rows = deployment.read(select(attempts))
    reported = {row.lease: row for row in rows if row.outcome in REPORTED}
    assert reported.keys() <= runs.keys()
    check_attempts(deployment, list(reported.values()), runs)
    assert deployment.spooled_at_kill <= reported.keys()
    lost = runs.keys() - reported.keys()
    assert lost <= deployment.excused
    assert deployment.spooled() == set()
    outcomes = Counter(row.outcome for row in rows)
    spooled = len(deployment.spooled_at_kill)
    print(  # noqa: T201
        f"{len(runs)} runs, {spooled} spooled when their worker was killed, {len(lost)} lost; {outcomes}"
    )


def check_attempts(
    deployment: Deployment, rows: list[Any], runs: dict[str, Run]
) -> None:
    """Each attempt has the values of its run, at the point of its job."""
    job_rows = {row.id: row for row in deployment.read(select(jobs))}
    names = {row.id: row.name for row in deployment.read(select(objectives))}
    points = {row.id: row.x for row in deployment.read(select(samples))}
    for attempt in rows:
        run = runs[attempt.lease]
        job = job_rows[attempt.job_id]
        details = attempt.details or {}
        values = {run.objective: attempt.value, **details.get("also", {})}
        assert values == run.values
        assert names[job.objective_id] == run.objective
        assert np.array_equal(points[job.sample_id], run.x)


def check_values(deployment: Deployment) -> None:
    """A job has the values of one attempt, the first that told any."""
    names = {row.id: row.name for row in deployment.read(select(objectives))}
    job_rows = {row.id: row for row in deployment.read(select(jobs))}
    runs = deployment.runs_by_lease()
    expected: Counter[tuple[int, str, float]] = Counter()
    first = select(attempts).where(attempts.c.outcome.in_(("done", "late")))
    for attempt in deployment.read(first):
        sample = job_rows[attempt.job_id].sample_id
        for name, value in runs[attempt.lease].values.items():
            expected[sample, name, value] += 1
    stored: Counter[tuple[int, str, float]] = Counter()
    for row in deployment.read(select(sample_values)):
        stored[row.sample_id, names[row.objective_id], row.value] += 1
    assert stored == expected


def check_undisturbed(database: Database, spec: dict[str, Any], folder: Path) -> None:
    """The same order of tells leads to the same proposals where planners are never
    killed.
    """
    with closing(
        Database(f"sqlite:///{folder}/undisturbed-{spec['name']}.db")
    ) as undisturbed:
        upgrade(undisturbed)
        replay(undisturbed, spec, recording(database, spec["name"]))
        expected = proposals(undisturbed)
    proposed = proposals(database, spec["name"])
    assert set(proposed.values()) == {1}, "a step proposed a sample twice"
    assert proposed == expected
