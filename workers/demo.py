"""The demo: a Latin-hypercube design of a wing, evaluated job by job through the store on SQLite."""

import json
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.optimizer.design import initial_design
from app.optimizer.problem import Objective, Problem, Variable
from app.optimizer.space import decode
from app.store.database import Database
from app.store.samples import NewSample, add_samples, values_in_order
from app.store.studies import NewObjective, create_study, queues
from app.store.transitions import Told, lease, settle
from app.store.upgrade import upgrade
from app.store.workers import see_worker
from workers.wing import BOUNDS, OBJECTIVES, UNITS

SEED = 1
Rows = list[dict[str, float | None]]


def run(count: int, as_json: bool) -> None:
    """Plan, evaluate and print; the database is thrown away at the end."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder, 'demo.db')}")
        try:
            upgrade(database)
            study = plan(database, count)
            evaluate(database, study, quiet=as_json)
            result = read(database, study)
        finally:
            database.close()
    if as_json:
        Console().print_json(json.dumps(result))
    else:
        Console().print(as_table(result))


def plan(database: Database, count: int) -> int:
    """A study whose full samples are a Latin hypercube of the variables' box."""
    variables = tuple(Variable(name, low, high) for name, (low, high) in BOUNDS.items())
    problem = Problem(variables, tuple(Objective(name) for name in OBJECTIVES), ratios=(1.0,) * len(OBJECTIVES))
    points = decode(variables, initial_design(problem, count, np.random.default_rng(SEED)))  # (n, d)
    wanted = [NewObjective(name, lease_s=60.0) for name in OBJECTIVES]
    study = database.write(lambda connection: create_study(connection, "demo", {}, count, SEED, wanted))
    with database.read() as connection:
        ids = tuple(queues(connection, study).values())
    design = [NewSample(point, ids, full=True, open=len(ids)) for point in points.tolist()]
    database.write(lambda connection: add_samples(connection, study, design))
    return study


def evaluate(database: Database, study: int, *, quiet: bool) -> None:
    """Lease, evaluate and settle, a few jobs at a time, as a worker does."""
    worker = database.write(lambda connection: see_worker(connection, "demo"))
    with database.read() as connection:
        names = {queue: name for name, queue in queues(connection, study).items()}
    while jobs := database.write(lambda connection: lease(connection, list(names), worker, limit=16)):
        told = [
            Told(job.job, job.lease, value=OBJECTIVES[names[job.objective]](dict(zip(BOUNDS, job.x, strict=True))))
            for job in track(jobs, "evaluating", disable=quiet, transient=True)
        ]
        database.write(lambda connection, told=told: settle(connection, told))  # type: ignore[misc]


def read(database: Database, study: int) -> Rows:
    """One row a sample: its number, its point, its values."""
    rows: dict[int, dict[str, float | None]] = {}
    with database.read() as connection:
        for one in values_in_order(connection, study):
            row = rows.setdefault(one.sample, {"sample": one.sample, **dict(zip(BOUNDS, one.x, strict=True))})
            row[one.objective] = one.value
    return [rows[sample] for sample in sorted(rows)]


def as_table(rows: Rows) -> Table:
    table = Table(title=f"Wing: {len(rows)} samples, evaluated on {len(OBJECTIVES)} objectives")
    table.add_column("sample", justify="right")
    for name, unit in UNITS.items():
        table.add_column(f"{name} [{unit}]".replace("[", r"\["), justify="right")
    for row in rows:
        table.add_row(str(row["sample"]), *(f"{row[name]:.4g}" for name in UNITS))
    return table
