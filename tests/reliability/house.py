"""A working house whose processes are killed: servers, planners, workers, and PostgreSQL itself."""

import json
import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from sqlalchemy import func, select, update

from app.errors import DatabaseUnusable
from app.store.database import Database
from app.store.tables import attempts, jobs, steps, studies
from benchmarks.service.postgresql import PostgreSQL
from tests.e2e.plate import SPEC, TAKES_S
from tests.e2e.processes import COUNTERPOISE, eventually, free_port, is_ready
from tests.reliability.phoenix import Phoenix, kill_postgresql
from tests.reliability.simulations import CLOSED

LEASE_S = 5.0
SLOTS = 3
SIMULATIONS = "tests.reliability.simulations"
TOLD = ("done", "late", "duplicate")
UNTOLD = "server, then worker"  # a worker that is killed with results that it could not tell


class Run(NamedTuple):
    """A simulation that has finished, as it noted it itself."""

    process: str
    lease: str
    objective: str
    x: list[float]
    said: dict[str, float]


class House:
    """A server, planners, workers that share a spool, and a database; all may die."""

    def __init__(
        self,
        stack: ExitStack,
        url: str,
        folder: Path,
        seed: int,
        *,
        load: int = 1,
        postgresql: PostgreSQL | None = None,
    ) -> None:
        """With a load of n there are n studies, n workers and, from two on, two planners."""
        self.database, self.folder, self.rng = Database(url), folder, random.Random(seed)  # noqa: S311
        stack.callback(self.database.close)
        self.postgresql = postgresql
        self.specs = [specification(number) for number in range(load)]
        self.workers = [f"worker{number}" for number in range(load)]
        self.planners = [f"planner{number}" for number in range(min(load, 2))]
        self.spool = folder / "spool"
        self.dead: set[str] = set()  # evaluation processes of killed workers
        self.excused: set[str] = set()  # leases of runs that may have been on their way from there to the spool
        self.saved: set[str] = set()  # leases of runs that were in it when their worker was killed
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        database = ("--database-url", url)
        self.crew = {
            "server": Phoenix("server", folder, COUNTERPOISE, "serve", "--no-planner", "--port", str(port), *database)
        }
        self.crew |= {name: Phoenix(name, folder, COUNTERPOISE, "planner", *database) for name in self.planners}
        self.crew |= {name: self._worker(name) for name in self.workers}
        for one in self.crew.values():
            stack.callback(one.end)
        eventually(lambda: is_ready(self.address), "the server")
        for spec in self.specs:
            httpx.post(f"{self.address}/studies", json=spec, timeout=60).raise_for_status()

    def _worker(self, name: str) -> Phoenix:
        gate, finished = self.folder / f"{name}.gate", self.folder / f"{name}.finished"
        gate.mkdir()
        finished.touch()
        said = [f"--objective={objective}={SIMULATIONS}:{objective}" for objective in TAKES_S]
        where = ("--url", self.address, "--spool", str(self.spool), "--name", name)
        options = ("--any-study", "--slots", str(SLOTS), *where, *said)
        variables = {"FINISHED": str(finished), "GATE": str(gate)}
        return Phoenix(name, self.folder, COUNTERPOISE, "worker", *options, **variables)

    # What is known.

    def read(self, query: Any) -> list[Any]:
        """Also while the database is away."""

        def look() -> list[Any] | None:
            try:
                with self.database.read() as connection:
                    return [list(connection.execute(query).all())]
            except DatabaseUnusable:
                return None

        found: list[Any] = eventually(look, "the database")[0]
        return found

    def sequence(self) -> int:
        return int(self.read(select(func.sum(studies.c.sequence)))[0][0])

    def is_finished(self) -> bool:
        return {row.phase for row in self.read(select(studies.c.phase))} == {"finished"}

    def runs(self, worker: str | None = None) -> list[Run]:
        files = [self.folder / f"{name}.finished" for name in self.workers if worker in (None, name)]
        return [Run(**json.loads(line)) for file in files for line in file.read_text().splitlines()]

    def spooled(self) -> set[str]:
        """Leases of results that are on disk, not yet told or refused."""
        return {file.stem.partition("-")[2] for file in self.spool.glob("*/*-*.json")}

    def unrecorded(self) -> list[Run]:
        """Runs that must be in the database, and are not."""
        told = {row.lease for row in self.read(select(attempts.c.lease).where(attempts.c.outcome.in_(TOLD)))}
        return [run for run in self.runs() if run.lease not in told | self.excused]

    def await_progress(self, by: int) -> None:
        """Until so much more is known. After a kill nothing may happen for a lease, so it is waited for patiently."""
        wanted = self.sequence() + by
        for _ in range(5):
            try:
                eventually(lambda: self.is_finished() or self.sequence() >= wanted, "progress")
            except AssertionError:
                continue
            return
        raise AssertionError("\n".join(one.log.read_text()[-2000:] for one in self.crew.values()))

    # Deaths.

    def kill(self, victim: str) -> None:
        if victim == "postgresql":
            assert self.postgresql is not None
            kill_postgresql(self.postgresql)
        elif victim == UNTOLD:
            self._kill_with_results_untold(self.rng.choice(self.workers))
        elif victim == "worker":
            self._kill_worker(self.rng.choice(self.workers))
        elif victim == "planner":
            one = self.crew[self.rng.choice(self.planners)]
            one.kill()
            one.start()
            # As if the claim's 30 s were over; another planner that lives may lose its claim by that, too.
            self.database.write(lambda connection: connection.execute(update(steps).values(claim_expires_at=0.0)))
        else:
            self.crew[victim].kill()
            self.crew[victim].start()

    def _kill_worker(self, name: str) -> None:
        """A slot begins a run when the one before is in the spool, so of each process only the last one may be lost."""
        self.crew[name].kill()
        last = {run.process: run.lease for run in self.runs(name) if run.process not in self.dead}
        assert len(last) <= SLOTS
        self.dead |= last.keys()
        self.saved |= set(last.values()) & self.spooled()
        self.excused |= set(last.values()) - self.spooled()
        self.crew[name].start()

    def _kill_with_results_untold(self, name: str) -> None:
        """One run ends only when the server is dead, so its result is in the spool when the worker is killed."""
        gate = self.folder / f"{name}.gate"
        (gate / CLOSED).touch()
        eventually(lambda: self.is_finished() or not (gate / CLOSED).exists(), "a simulation")
        time.sleep(self.rng.uniform(0.0, 0.3))  # the other slots go on
        self.crew["server"].kill()
        waiting = {file.name for file in gate.iterdir()} - {CLOSED}
        assert waiting or self.is_finished()
        for file in gate.iterdir():
            file.unlink()
        eventually(lambda: waiting <= self.spooled(), "results in the spool")
        self._kill_worker(name)
        assert waiting <= self.saved
        self.crew["server"].start()

    def work(self, victims: Sequence[str]) -> list[str]:
        """Kill these, each at some moment, and let the studies finish; answers who was killed before their end."""
        killed = []
        for victim in victims:
            self.await_progress(self.rng.randrange(1, 12))
            time.sleep(self.rng.uniform(0.0, 0.3))
            if self.is_finished():
                break
            self.kill(victim)
            killed.append(victim)
        while not self.is_finished():
            self.await_progress(1)
        # What still runs ends; what was left in the spool is told.
        eventually(lambda: not self.read(select(jobs.c.id).where(jobs.c.state == "leased")), "the last leases")
        return killed


def specification(number: int) -> dict[str, Any]:
    own = {"name": f"plate{number}", "seed": SPEC["seed"] + number}
    return {**SPEC, **own, "lease_s": LEASE_S, "max_losses": 1000}
