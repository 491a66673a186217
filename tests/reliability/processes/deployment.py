"""A server, planners and workers in processes of their own, with a database; each can
be killed.
"""

import json
import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from sqlalchemy import func, select

from app.errors import DatabaseUnusable
from app.store.database import Database
from app.store.tables import attempts, jobs, studies
from benchmarks.service.postgresql import PostgreSQL
from tests.e2e.plate_study import SPEC, TAKES_S
from tests.e2e.processes import COUNTERPOISE, eventually, free_port, is_ready
from tests.reliability.faults.lab_states import end_claims
from tests.reliability.processes.restartable_process import (
    RestartableProcess,
    restart_postgresql,
)
from tests.reliability.processes.simulations import CLOSED

LEASE_S = 5.0
SLOTS = 3
SIMULATIONS = "tests.reliability.processes.simulations"
REPORTED = ("done", "late", "duplicate")  # outcomes of attempts with a value
# The worker is killed with results that it could not tell
SERVER_THEN_WORKER = "server, then worker"


class Run(NamedTuple):
    """A finished simulation, as it recorded itself."""

    process: str
    lease: str
    objective: str
    x: list[float]
    values: dict[str, float]


class Deployment:
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
        """A load of n means n studies, n workers and up to two planners."""
        self.database = Database(url)
        stack.callback(self.database.close)
        self.folder = folder
        self.rng = random.Random(seed)  # noqa: S311
        self.postgresql = postgresql
        self.spool = folder / "spool"
        self.specs = [specification(number) for number in range(load)]
        self.workers = [f"worker{number}" for number in range(load)]
        self.planners = [f"planner{number}" for number in range(min(load, 2))]
        self.killed_slots: set[str] = set()  # evaluation processes of killed workers
        # Leases whose result may have been on its way to the spool
        self.excused: set[str] = set()
        # Leases whose result was in the spool when its worker was killed
        self.spooled_at_kill: set[str] = set()
        self.processes: dict[str, RestartableProcess] = {}
        self._start(url, free_port())
        for process in self.processes.values():
            stack.callback(process.end)
        eventually(lambda: is_ready(self.address), "the server")
        for spec in self.specs:
            httpx.post(
                f"{self.address}/studies", json=spec, timeout=60
            ).raise_for_status()

    def _start(self, url: str, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        serve = ("serve", "--no-planner", "--port", str(port), "--database-url", url)
        self.processes["server"] = RestartableProcess(
            "server", self.folder, COUNTERPOISE, *serve
        )
        for name in self.planners:
            plan = ("planner", "--database-url", url)
            self.processes[name] = RestartableProcess(
                name, self.folder, COUNTERPOISE, *plan
            )
        for name in self.workers:
            self.processes[name] = self._worker(name)

    def _worker(self, name: str) -> RestartableProcess:
        self.gate_of(name).mkdir()
        self.finished_file(name).touch()
        objectives = [
            f"--objective={objective}={SIMULATIONS}:{objective}"
            for objective in TAKES_S
        ]
        place = ("--url", self.address, "--spool", str(self.spool), "--name", name)
        options = ("--any-study", "--slots", str(SLOTS), *place, *objectives)
        variables = {
            "FINISHED": str(self.finished_file(name)),
            "GATE": str(self.gate_of(name)),
        }
        return RestartableProcess(
            name, self.folder, COUNTERPOISE, "worker", *options, **variables
        )

    def gate_of(self, worker: str) -> Path:
        return self.folder / f"{worker}.gate"

    def finished_file(self, worker: str) -> Path:
        return self.folder / f"{worker}.finished"

    # State.

    def read(self, query: Any) -> list[Any]:
        """Waits while the database is not available."""

        def try_to_read() -> list[list[Any]]:
            try:
                with self.database.read() as connection:
                    return [list(connection.execute(query))]
            except DatabaseUnusable:
                return []

        (rows,) = eventually(try_to_read, "the database")
        return rows

    def sequence(self) -> int:
        ((total,),) = self.read(select(func.sum(studies.c.sequence)))
        return int(total)

    def is_finished(self) -> bool:
        return {row.phase for row in self.read(select(studies.c.phase))} == {"finished"}

    def runs(self, *workers: str) -> list[Run]:
        """Finished runs of these workers, or of all."""
        lines: list[str] = []
        for worker in workers or self.workers:
            lines += self.finished_file(worker).read_text().splitlines()
        return [Run(**json.loads(line)) for line in lines]

    def runs_by_lease(self) -> dict[str, Run]:
        return {run.lease: run for run in self.runs()}

    def spooled(self) -> set[str]:
        """Leases of results that are on disk, not yet told or refused."""
        return {file.stem.partition("-")[2] for file in self.spool.glob("*/*-*.json")}

    def unrecorded(self) -> list[Run]:
        """Runs that must be in the database, and are not."""
        reported = select(attempts.c.lease).where(attempts.c.outcome.in_(REPORTED))
        known = {row.lease for row in self.read(reported)} | self.excused
        return [run for run in self.runs() if run.lease not in known]

    def has_leases(self) -> bool:
        leased = select(jobs.c.id).where(jobs.c.state == "leased")
        return bool(self.read(leased))

    def await_progress(self, entries: int) -> None:
        """Wait for so many more entries of the sequence; after a kill nothing happens
        for a lease time.
        """
        wanted = self.sequence() + entries
        for _ in range(5):
            try:
                eventually(
                    lambda: self.is_finished() or self.sequence() >= wanted, "progress"
                )
            except AssertionError:
                continue
            return
        logs = [process.log.read_text()[-2000:] for process in self.processes.values()]
        raise AssertionError("\n".join(logs))

    # Kills.

    def run(self, victims: Sequence[str]) -> list[str]:
        """Kill these, each at a random moment, until the studies are finished; return
        which were killed.
        """
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
        eventually(lambda: not self.has_leases(), "the last leases")
        return killed

    def kill(self, victim: str) -> None:
        if victim == "postgresql":
            assert self.postgresql is not None
            restart_postgresql(self.postgresql)
        elif victim == SERVER_THEN_WORKER:
            self._kill_server_then_worker(self.rng.choice(self.workers))
        elif victim == "worker":
            self._kill_worker(self.rng.choice(self.workers))
        elif victim == "planner":
            self.processes[self.rng.choice(self.planners)].restart()
            end_claims(self.database)  # of other planners, too; a claim lasts for 30 s
        else:
            self.processes[victim].restart()

    def _kill_worker(self, name: str) -> None:
        """A slot starts a run when the result of the last one is spooled, so each
        process loses one at most.
        """
        self.processes[name].kill()
        runs = [run for run in self.runs(name) if run.process not in self.killed_slots]
        last_runs = {run.process: run.lease for run in runs}
        assert len(last_runs) <= SLOTS
        leases = set(last_runs.values())
        self.killed_slots |= last_runs.keys()
        self.spooled_at_kill |= leases & self.spooled()
        self.excused |= leases - self.spooled()
        self.processes[name].start()

    def _kill_server_then_worker(self, name: str) -> None:
        """One run ends after the server was killed, so its result is in the spool when
        the worker is killed.
        """
        gate = self.gate_of(name)
        (gate / CLOSED).touch()
        eventually(
            lambda: self.is_finished() or not (gate / CLOSED).exists(), "a simulation"
        )
        time.sleep(self.rng.uniform(0.0, 0.3))  # the other slots go on
        self.processes["server"].kill()
        waiting = {file.name for file in gate.iterdir()} - {CLOSED}
        assert waiting or self.is_finished()
        for file in gate.iterdir():
            file.unlink()
        eventually(lambda: waiting <= self.spooled(), "results in the spool")
        self._kill_worker(name)
        assert waiting <= self.spooled_at_kill
        self.processes["server"].start()


def specification(number: int) -> dict[str, Any]:
    identity = {"name": f"plate{number}", "seed": SPEC["seed"] + number}
    faster = {"models": "paper"}
    return {**SPEC, **identity, **faster, "lease_s": LEASE_S, "max_losses": 1000}
