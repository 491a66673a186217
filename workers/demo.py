"""The demo: a Latin-hypercube design of a wing, planned, asked for and told through the service on SQLite."""

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from app.service.ask import serve
from app.service.lists import list_samples
from app.service.plan import commit, prepare
from app.service.studies import create
from app.service.tell import tell
from app.store.database import Database
from app.store.steps import claim
from app.store.upgrade import upgrade
from counterpoise.wire.specification import parse_specification
from counterpoise.wire.views import SampleView
from counterpoise.wire.work import Ask, Job, Tell
from workers.wing.deflection import deflection
from workers.wing.drag import drag
from workers.wing.mass import mass

OBJECTIVES: dict[str, Callable[[Mapping[str, float]], float]] = {"mass": mass, "drag": drag, "deflection": deflection}
UNITS = {
    "span": "m",
    "taper": "",
    "thickness_ratio": "",
    "skin_thickness": "m",
    "mass": "kg",
    "drag": "N",
    "deflection": "m",
}
STUDY = Path(__file__).with_name("wing") / "study.yaml"


def run(count: int, as_json: bool) -> None:
    """Plan, evaluate and print; the database is thrown away at the end."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder, 'demo.db')}")
        try:
            upgrade(database)
            plan(database, count)
            evaluate(database, count * len(OBJECTIVES), quiet=as_json)
            samples = [sample for _, sample in list_samples(database, "demo", 0, count, full=True)]
        finally:
            database.close()
    if as_json:
        Console().print_json(json.dumps([{"sample": s.sample, **s.x, **s.values} for s in samples]))
    else:
        Console().print(as_table(samples))


def plan(database: Database, count: int) -> None:
    """A study whose budget is its initial design, planned as a planner does."""
    spec = {**yaml.safe_load(STUDY.read_text()), "name": "demo", "budget": count, "initial_samples": count}
    create(database, parse_specification(spec), lease_s=60.0)
    step = database.write(lambda connection: claim(connection, for_s=60.0))
    assert step is not None  # noqa: S101  (a new study's design is due)
    commit(database, step, prepare(database, step))


def evaluate(database: Database, total: int, *, quiet: bool) -> None:
    """Ask, evaluate and tell, a few jobs at a time, as a worker does."""
    ask = Ask(worker="demo", studies=["demo"], objectives=list(OBJECTIVES), max_jobs=16)
    with Progress(disable=quiet, transient=True) as bar:
        task = bar.add_task("evaluating", total=total)
        while jobs := serve(database, [ask], heartbeat_s=20.0)[0]:
            tell(database, [Tell(job=job.job, lease=job.lease, value=value_of(job)) for job in jobs])
            bar.advance(task, len(jobs))


def value_of(job: Job) -> float:
    return OBJECTIVES[job.objective](job.x)


def as_table(samples: list[SampleView]) -> Table:
    table = Table(title=f"Wing: {len(samples)} samples, evaluated on {len(OBJECTIVES)} objectives")
    table.add_column("sample", justify="right")
    for name, unit in UNITS.items():
        table.add_column(f"{name}\n{unit}", justify="right")
    for sample in samples:
        row = {**sample.x, **sample.values}
        table.add_row(str(sample.sample), *(f"{row[name]:.4g}" for name in UNITS))
    return table
