"""Ask + tell over HTTP with eight client processes, beside Optuna's ask + tell on the
same PostgreSQL.

What is measured takes turns, round by round, so that a noisy machine disturbs all of it
alike: rates are medians of the rounds, latencies are those of all rounds. A trial of
Optuna is one ask + tell of a whole sample.
"""

import math
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import text

from app.domain.samples import NewSample
from app.domain.studies import NewObjective
from app.store.database import Database
from app.store.studies.new_samples import add_samples
from app.store.studies.studies import create_study, objectives_of
from app.store.upgrade import upgrade
from benchmarks.server_processes import serving
from benchmarks.service import clients, optuna_peer
from benchmarks.service.busy_study import busy_planner
from benchmarks.service.clients import Client, Load
from benchmarks.service.postgresql import running_postgresql
from benchmarks.service.worker_processes import Crew, Share, duration
from counterpoise.wire.specification import parse_specification

CLIENTS, BATCH, CHUNK = 8, 16, 5_000
STUDIES = tuple(f"study{number}" for number in range(4))
OBJECTIVES = ("f0", "f1", "f2")
# of each client while a planner's influence is measured: far from the server's limits
PACE_S = 0.2
Report = Callable[[str], None]
Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: `cycles` of each client, `trials` of each process of
    Optuna, in each of the rounds.
    """

    jobs: int = 1_000
    cycles: int = 60
    trials: int = 15
    rounds: int = 3
    initial: int = 150  # full samples of the study that keeps the planner busy
    planning: bool = True

    @property
    def consumed(self) -> int:
        """Jobs that all of this settles: singly and in batches, then twice at a slow
        pace.
        """
        of_each_objective = (
            CLIENTS
            * self.rounds
            * math.ceil(self.cycles / len(OBJECTIVES))
            * (1 + BATCH + 2)
        )
        return of_each_objective * len(OBJECTIVES)


@dataclass(slots=True)
class Series:
    """One thing that is measured round by round."""

    rates: list[float] = field(default_factory=list)
    samples: list[float] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, shares: list[Share]) -> None:
        self.rates.append(sum(share.done for share in shares) / duration(shares))
        for share in shares:
            for what, seconds in share.seconds.items():
                self.seconds.setdefault(what, []).extend(seconds)

    def ms(self, what: str, percent: int) -> float:
        cuts = statistics.quantiles(self.seconds[what], n=100, method="inclusive")
        return round(1e3 * cuts[percent - 1], 2)


def run(plan: Plan, report: Report = lambda _: None) -> list[Row]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running_postgresql())
        urls = {
            "sqlite": f"sqlite:///{folder / 'bench.db'}",
            "postgresql": server.create(),
        }
        for kind, url in urls.items():
            report(
                f"{kind}: making {plan.jobs:,} jobs, and {plan.consumed:,} more for the measurements"
            )
            prefill(url, plan.jobs + plan.consumed)
        durable = durability(urls["postgresql"])
        ports = {kind: stack.enter_context(serving(url)) for kind, url in urls.items()}
        peer = server.create()
        optuna_peer.make(peer)
        crew = stack.enter_context(Crew(CLIENTS))
        series = measure_throughput(crew, plan, ports, peer, report)
        rows = throughput_rows(plan, series, durable)
        for kind, url in urls.items() if plan.planning else ():
            rows.append(measure_planning(crew, plan, kind, url, ports[kind], report))
        return rows


def prefill(url: str, size: int) -> None:
    with _database(url) as database:
        upgrade(database)
        samples = size // (len(STUDIES) * len(OBJECTIVES)) + 1
        wanted = [NewObjective(name, lease_s=3600.0) for name in OBJECTIVES]
        for name in STUDIES:
            # As large a budget again, so that no step becomes due in these.
            spec = specification(name, budget=samples * 2)
            study = database.write(create_study, parse_specification(spec), 1, wanted)
            assert study is not None
            with database.read() as connection:
                ids = tuple(
                    objective.id for objective in objectives_of(connection, study.id)
                )
            for start in range(0, samples, CHUNK):
                points = [
                    NewSample([0.5] * 10, ids, full=True)
                    for _ in range(min(CHUNK, samples - start))
                ]
                database.write(add_samples, study.id, points, {})
        database.write(lambda c: c.execute(text("ANALYZE")))


def specification(name: str, budget: int) -> dict[str, object]:
    spec = {
        "name": name,
        "variables": [{"name": f"x{k}", "low": 0.0, "high": 1.0} for k in range(10)],
        "objectives": [{"name": each, "evaluation_time_s": 1.0} for each in OBJECTIVES],
        "budget": max(budget, 200),
    }
    return parse_specification(spec).model_dump(mode="json")


@contextmanager
def _database(url: str) -> Iterator[Database]:
    database = Database(url)
    try:
        yield database
    finally:
        database.close()


def durability(url: str) -> str:
    """PostgreSQL's own word on whether a commit survives a power cut."""
    with _database(url) as database, database.read() as connection:
        names = ("fsync", "synchronous_commit", "full_page_writes")
        return ", ".join(
            f"{name} {connection.execute(text(f'SHOW {name}')).scalar_one()}"
            for name in names
        )


def measure_throughput(
    crew: Crew, plan: Plan, ports: dict[str, int], peer: str, report: Report
) -> dict[str, Series]:
    series: dict[str, Series] = {}
    for number in range(plan.rounds):
        for kind, port in ports.items():
            for way, batch in (("singly", 1), (f"by {BATCH}", BATCH)):
                report(f"round {number + 1} of {plan.rounds}: {kind}, {way}")
                load = Load(port, STUDIES, OBJECTIVES, plan.cycles, batch)
                one = series.setdefault(f"{kind} {way}", Series())
                before = whole_samples(port)
                shares = crew.run(clients.work, load)
                one.add(shares)
                one.samples.append((whole_samples(port) - before) / duration(shares))
        report(f"round {number + 1} of {plan.rounds}: Optuna")
        series.setdefault("optuna", Series()).add(
            crew.run(optuna_peer.work, optuna_peer.Trials(peer, plan.trials))
        )
    return series


def whole_samples(port: int) -> int:
    client = Client(port)
    page = client.get("/studies")
    client.close()
    return sum(study["evaluated_full"] for study in page["items"])


def throughput_rows(plan: Plan, series: dict[str, Series], durable: str) -> list[Row]:
    trials = statistics.median(series["optuna"].rates)
    rows: list[Row] = []
    for name, one in series.items():
        kind, _, way = name.partition(" ")
        jobs = statistics.median(one.rates)
        ours = kind != "optuna"
        rows.append(
            {
                "measure": "throughput",
                "subject": kind,
                "way": way or "singly",
                "ready_jobs": plan.jobs if ours else 0,
                "jobs_per_s": round(jobs, 1) if ours else None,
                "samples_per_s": round(statistics.median(one.samples), 1)
                if ours
                else round(trials, 1),
                "ask_p50_ms": one.ms("ask", 50),
                "ask_p99_ms": one.ms("ask", 99),
                "tell_p50_ms": one.ms("tell", 50),
                "tell_p99_ms": one.ms("tell", 99),
                "jobs_to_trials": round(jobs / trials, 1) if ours else None,
                "target": (50.0 if way == f"by {BATCH}" else 10.0) if ours else None,
                "durability": "synchronous full, WAL" if kind == "sqlite" else durable,
            }
        )
    return rows


def measure_planning(
    crew: Crew, plan: Plan, kind: str, url: str, port: int, report: Report
) -> Row:
    idle, planning, steps = Series(), Series(), 0
    report(f"{kind}: a planner reaches its first search step")
    with busy_planner(url, port, plan.initial) as study:
        load = Load(port, STUDIES, OBJECTIVES, plan.cycles, every_s=PACE_S)
        for number in range(plan.rounds):
            report(
                f"{kind}: planner at rest, then busy; round {number + 1} of {plan.rounds}"
            )
            study.rest()
            idle.add(crew.run(clients.work, load))
            before = study.steps()
            study.may_tell.set()
            planning.add(crew.run(clients.work, load))
            steps += study.steps() - before
            study.check()
    return {
        "measure": "planning",
        "subject": kind,
        "ready_jobs": plan.jobs,
        "asks_per_s": round(CLIENTS / PACE_S, 1),
        "idle_ask_p50_ms": idle.ms("ask", 50),
        "idle_ask_p99_ms": idle.ms("ask", 99),
        "planning_ask_p50_ms": planning.ms("ask", 50),
        "planning_ask_p99_ms": planning.ms("ask", 99),
        # Without a step nothing was planned meanwhile, and there is nothing to compare.
        "p99_ratio": round(planning.ms("ask", 99) / idle.ms("ask", 99), 2)
        if steps
        else None,
        "target": 2.0,
        "steps": steps,
        "full_samples": plan.initial,
    }
