"""Lease + settle at growing numbers of jobs: the cost must not grow with them.

The peer is a bare durable commit (one row changed) on the same database in the same
run. The sizes take turns, so that a noisy machine disturbs all of them alike.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table
from sqlalchemy import Connection, text

from app.domain.jobs import Lease, LeaseRequest
from app.domain.samples import NewSample
from app.domain.studies import NewObjective
from app.domain.workers import WorkerSeen
from app.service.work.tell import tell
from app.store.database import Database
from app.store.studies.new_samples import add_samples
from app.store.studies.studies import create_study, objectives_of
from app.store.upgrade import upgrade
from app.store.work.lease_queue import lease_jobs, open_attempts
from app.store.work.workers import register_workers
from benchmarks.service.postgresql import PostgreSQL, running_postgresql
from counterpoise.wire.specification import Specification, parse_specification
from counterpoise.wire.work import Tell

SIZES = (1_000, 100_000, 1_000_000)
STUDIES, OBJECTIVES, CHUNK = 4, 5, 5_000
Report = Callable[[str], None]


@dataclass(slots=True)
class Subject:
    """One database of one size, and the seconds measured on it."""

    database: Database
    kind: str
    jobs: int
    queues: list[int]
    worker: int
    leasing: list[float] = field(default_factory=list)
    settling: list[float] = field(default_factory=list)
    committing: list[float] = field(default_factory=list)


def run(
    sizes: Sequence[int] = SIZES, cycles: int = 300, report: Report = lambda _: None
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for kind in ("sqlite", "postgresql"):
        with subjects(kind, sizes, report) as all_sizes:
            report(f"{kind}: {cycles} cycles at each size")
            for _ in range(cycles):
                for subject in all_sizes:
                    cycle(subject)
            rows += [row(subject, all_sizes[0]) for subject in all_sizes]
    return rows


@contextmanager
def subjects(
    kind: str, sizes: Sequence[int], report: Report
) -> Iterator[list[Subject]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = (
            stack.enter_context(running_postgresql()) if kind == "postgresql" else None
        )
        made = []
        for size in sizes:
            report(
                f"{kind}: making {size:,} jobs in {STUDIES} studies of {OBJECTIVES} objectives"
            )
            made.append(make(kind, size, url(server, folder, size)))
            stack.callback(made[-1].database.close)
        yield made


def url(server: PostgreSQL | None, folder: Path, size: int) -> str:
    return server.create() if server else f"sqlite:///{folder / f'{size}.db'}"


def make(kind: str, size: int, url: str) -> Subject:
    database = Database(url)
    upgrade(database)
    samples = size // (STUDIES * OBJECTIVES)
    wanted = [NewObjective(f"f{i}", lease_s=3600.0) for i in range(OBJECTIVES)]
    heads: list[int] = []
    for number in range(STUDIES):
        # As large a budget again, so that no step becomes due: the planner is another
        # benchmark's matter.
        spec = example(f"study{number}", budget=samples * 2)
        study = database.write(create_study, spec, 1, wanted)
        assert study is not None
        with database.read() as connection:
            ids = tuple(
                objective.id for objective in objectives_of(connection, study.id)
            )
        heads += ids
        for start in range(0, samples, CHUNK):
            points = [
                NewSample([0.5] * 10, ids, full=True)
                for _ in range(min(CHUNK, samples - start))
            ]
            database.write(add_samples, study.id, points, {})
    database.write(lambda c: c.execute(text("ANALYZE")))
    worker = database.write(register_workers, [WorkerSeen("bench")])["bench"].id
    return Subject(database, kind, size, heads, worker)


def example(name: str, budget: int) -> Specification:
    spec = {
        "name": name,
        "variables": [{"name": f"x{i}", "low": 0.0, "high": 1.0} for i in range(10)],
        "objectives": [
            {"name": f"f{i}", "evaluation_time_s": 1.0} for i in range(OBJECTIVES)
        ],
        "budget": max(budget, 200),
    }
    return parse_specification(spec)


def cycle(subject: Subject) -> None:
    """One job: leased from the head of any queue, then told; each in a durable
    transaction of its own.
    """
    at = len(subject.leasing) % len(subject.queues)
    # Begins at another queue each time, as asks do
    order = subject.queues[at:] + subject.queues[:at]

    def take(connection: Connection) -> Lease:
        (one,) = lease_jobs(connection, [LeaseRequest(order, 1)])
        open_attempts(connection, [(one, subject.worker, None)])
        return one

    began = time.perf_counter()
    job = subject.database.write(take)
    leased = time.perf_counter()
    (told,) = tell(subject.database, [Tell(job=job.job, lease=job.lease, value=1.0)])
    settled = time.perf_counter()
    assert told.status == 200
    subject.database.write(register_workers, [WorkerSeen("bench")])
    subject.committing.append(time.perf_counter() - settled)
    subject.leasing.append(leased - began)
    subject.settling.append(settled - leased)


def row(subject: Subject, smallest: Subject) -> dict[str, object]:
    whole = cost(subject)
    return {
        "database": subject.kind,
        "jobs": subject.jobs,
        "lease_ms": round(1e3 * statistics.median(subject.leasing), 3),
        "settle_ms": round(1e3 * statistics.median(subject.settling), 3),
        "to_smallest": round(whole / cost(smallest), 2),
        "to_bare_commit": round(whole / statistics.median(subject.committing), 1),
    }


def cost(subject: Subject) -> float:
    return statistics.median(
        map(sum, zip(subject.leasing, subject.settling, strict=True))
    )


def table(rows: Sequence[dict[str, object]]) -> Table:
    made = Table(title="Lease + settle of one job, medians")
    for name in (
        "database",
        "jobs",
        "lease ms",
        "settle ms",
        "to the smallest",
        "to a bare commit",
    ):
        made.add_column(name, justify="left" if name == "database" else "right")
    for one in rows:
        database, jobs, leasing, settling, growth, peer = one.values()
        made.add_row(
            str(database),
            f"{jobs:,}",
            f"{leasing}",
            f"{settling}",
            f"{growth}x",
            f"{peer}x",
        )
    return made
