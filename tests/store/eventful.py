"""Studies in every state: written once by the code before migration 0002, for tests/store/test_old_data.py.

How `written_by_0001.json` was made (the commit is the last one whose newest migration is 0001):

    git archive ee1d5c7 | tar -x -C OLD && cp tests/store/eventful.py OLD && cd OLD
    OPENBLAS_NUM_THREADS=1 python eventful.py written_by_0001.json
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData, select
from threadpoolctl import threadpool_info

from app.service.planning.versions import versions
from app.service.studies.lifecycle import pause, stop
from app.service.work.release import release
from app.store.database import Database
from app.store.studies.steps import claim_step
from app.store.upgrade import upgrade
from counterpoise.wire.work import Job
from tests.service.lab import Lab, value

SMALL: dict[str, Any] = {
    "budget": 8,
    "batch_size": 2,
    "generations": 3,
    "objectives": [{"name": "mass", "evaluation_time_s": 1.0}, {"name": "crash", "evaluation_time_s": 3.0}],
}
# All that a study can declare: a logarithm, whole numbers, two values of one run, a maximum.
RICH: dict[str, Any] = {
    **SMALL,
    "variables": [
        {"name": "a", "low": 0.01, "high": 1.0, "scale": "log"},
        {"name": "b", "type": "int", "low": 0, "high": 12},
    ],
    "objectives": [
        {"name": "mass", "evaluation_time_s": 1.0},
        {"name": "crash", "evaluation_time_s": 3.0, "unit": "N", "lease_s": 120, "timeout_s": 3600},
        {"name": "lift", "direction": "maximize", "same_run_as": "crash"},
    ],
}


def tell(lab: Lab, job: Job, **more: Any) -> None:
    also = {name: value(job.model_copy(update={"objective": name})) for name in job.also}
    assert lab.tell(job, also=also, **more).status == 200


def work_until(lab: Lab, enough: Callable[[], bool]) -> None:
    lab.plan()
    while not enough():
        for job in lab.ask(most=2):
            tell(lab, job, duration_s=0.5)
        lab.plan()


def finished(database: Database) -> None:
    Lab(database, name="finished", **SMALL).run()


def stopped(database: Database) -> None:
    lab = Lab(database, name="stopped", **SMALL)
    work_until(lab, lambda: lab.view().step == 1)
    lab.ask("crash", worker="held-by-stopped")
    stop(database, lab.name, cancel_running=False)


def paused(database: Database) -> None:
    lab = Lab(database, name="paused", **SMALL)
    work_until(lab, lambda: lab.view().evaluated_full == 2)
    lab.ask("crash", worker="held-by-paused")
    pause(database, lab.name)


def searching(database: Database) -> None:
    """Every way in which an attempt can end, and every state of a job."""
    lab = Lab(database, name="searching", **RICH)
    lab.plan()
    late, doubled, first, second = lab.ask("crash", most=4)
    lab.expire(late, doubled)
    tell(lab, late, metadata={"node": "n7"})
    lab.ripen()
    (again,) = lab.ask("crash", worker="another")
    tell(lab, again)
    tell(lab, doubled)
    lab.fail(first, "infeasible", "the mesh folds over")
    lab.fail(second, "error", "no convergence")
    lab.ripen()
    work_until(lab, lambda: lab.view().step == 1)
    release(database, [job.lease for job in lab.ask("mass", most=1)])
    lab.fail(lab.ask("mass")[0], "infrastructure", "no licence")  # waits before it is ready again
    lab.fail(lab.ask("mass")[0], "infeasible")
    tell(lab, lab.ask("crash")[0])
    lab.expire(*lab.ask("mass"))
    lab.ask("crash", worker="held-by-searching")
    lab.ask("mass", worker="held-by-searching")


def claimed(database: Database) -> None:
    """A planner has begun the second step, and is gone."""
    lab = Lab(database, name="claimed", **SMALL)
    work_until(lab, lambda: lab.view().step == 1)
    for job in [*lab.ask("mass", most=2), *lab.ask("crash", most=2)]:  # of two queues, full samples come first
        tell(lab, job)
    lab.ask("mass", worker="held-by-claimed")
    step = database.write(lambda connection: claim_step(connection, 30.0))
    assert step is not None


def streaming(database: Database) -> None:
    """The cheap objective is ahead of the design: a generation of its stream is due."""
    lab = Lab(database, name="streaming", **SMALL)
    lab.plan()
    for job in lab.ask("mass", most=100):
        tell(lab, job)
    lab.ask("crash", worker="held-by-streaming")


def fresh(database: Database) -> None:
    Lab(database, name="fresh", **RICH)


def blas() -> str:
    """As today's code records it: what tells whether replays are the same to the last bit."""
    found = [one for one in threadpool_info() if one["user_api"] == "blas"]
    names = [f"{one['internal_api']} {one['version']} on {one['architecture']}" for one in found]
    return ", ".join(sorted(f"{name}, threads: 1" for name in names))


def written(database: Database) -> dict[str, list[list[Any]]]:
    """Per table the names of its columns, then its rows, in an order in which they can be inserted."""
    tables, found = MetaData(), {}
    with database.read() as connection:
        tables.reflect(connection)
        for table in tables.sorted_tables:
            rows = connection.execute(select(table).order_by(*table.primary_key)).all()
            found[table.name] = [[column.name for column in table.columns], *map(list, rows)]
    del found["alembic_version"]
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder, 'x.db')}")
        upgrade(database)
        for write in (finished, stopped, paused, searching, claimed, streaming, fresh):
            write(database)
        rows = written(database)
        database.close()
    tables = [f'"{name}": [\n' + ",\n".join(map(json.dumps, table)) + "\n]" for name, table in rows.items()]
    made_with = f'"versions": {json.dumps({**versions(), "blas": blas()})}'
    Path(sys.argv[1]).write_text("{\n" + ",\n".join([made_with, *tables]) + "\n}\n")
