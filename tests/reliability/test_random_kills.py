"""SIGKILL at random moments of a working house: servers, planners, workers, and PostgreSQL itself."""

import json
import os
import random
import signal
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from sqlalchemy import select, update

from app.errors import DatabaseUnusable
from app.store.database import Database
from app.store.tables import attempts, jobs, objectives, sample_values, samples, steps, studies
from app.store.upgrade import upgrade
from benchmarks.postgresql import PostgreSQL, running_postgresql
from tests.e2e.plate import SPEC, TAKES_S, evaluate
from tests.e2e.processes import COUNTERPOISE, PATIENCE_S, children, environment, eventually, is_ready
from tests.e2e.replay import proposals, recorded, replay

LEASE_S = 5.0
SIMULATIONS = "tests.reliability.simulations"


class Phoenix:
    """A process that is started again whenever it was killed."""

    def __init__(self, folder: Path, *command: str | Path, **variables: str) -> None:
        self.folder, self.command, self.variables = folder, command, variables
        self.log = folder / f"{Path(command[1]).name}.log"
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as stream:
            given = {**environment(), **self.variables}
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, env=given, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
            )

    def kill(self) -> None:
        family = children(self.process.pid)
        self.process.kill()
        self.process.wait()
        assert psutil.wait_procs(family, PATIENCE_S)[1] == [], "a killed process left others behind"
        self.start()

    def end(self) -> None:
        family = children(self.process.pid)
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for left in psutil.wait_procs(family, 15)[1]:
            left.kill()


class House:
    """A server, a planner, a worker and a database; all may die."""

    def __init__(self, stack: ExitStack, url: str, folder: Path, seed: int) -> None:
        self.database, self.folder, self.rng = Database(url), folder, random.Random(seed)  # noqa: S311
        stack.callback(self.database.close)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        self.finished = folder / "finished"
        self.finished.touch()
        said = [f"--objective={name}={SIMULATIONS}:{name}" for name in TAKES_S]
        options = ("--study", "plate", "--slots", "3", "--spool", str(folder / "spool"), "--name", "w", *said)
        database = ("--database-url", url)
        self.crew = {
            "server": Phoenix(folder, COUNTERPOISE, "serve", "--no-planner", "--port", str(port), *database),
            "planner": Phoenix(folder, COUNTERPOISE, "planner", *database),
            "worker": Phoenix(
                folder, COUNTERPOISE, "worker", "--url", self.address, *options, FINISHED=str(self.finished)
            ),
        }
        for one in self.crew.values():
            stack.callback(one.end)
        eventually(lambda: is_ready(self.address), "the server")
        httpx.post(f"{self.address}/studies", json=SPEC | {"lease_s": LEASE_S}).raise_for_status()

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
        return int(self.read(select(studies.c.sequence))[0][0])

    def is_finished(self) -> bool:
        return bool(self.read(select(studies.c.phase))[0][0] == "finished")

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

    def kill(self, victim: str) -> None:
        self.crew[victim].kill()
        if victim == "planner":  # as if the claim's 30 s were over
            self.database.write(lambda connection: connection.execute(update(steps).values(claim_expires_at=0.0)))

    def work(self, victims: list[str]) -> list[str]:
        """Kill these, each at some moment, and let the study finish; answers who was killed before its end."""
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
        return killed

    def check(self) -> None:
        (study,) = self.read(select(studies))
        assert (study.planned_full, study.settled_full) == (SPEC["budget"], SPEC["budget"])
        identities = self.read(select(steps.c.kind, steps.c.objective, steps.c.number, steps.c.state))
        assert {step.state for step in identities} == {"done"}
        assert sorted(step.number for step in identities if step.kind == "search") == [1, 2, 3]
        names = {row.id: row.name for row in self.read(select(objectives))}
        x = {row.id: row.x for row in self.read(select(samples))}
        known = {(names[row.objective_id], row.sample_id): row.value for row in self.read(select(sample_values))}
        variables = [variable["name"] for variable in SPEC["variables"]]
        for (objective, sample), value in known.items():
            if objective in TAKES_S:
                right, also = evaluate(objective, dict(zip(variables, x[sample], strict=True)))
                assert value == right
                assert all(known[guest, sample] == said for guest, said in also.items())
        self._check_finished(names, x, known)

    def _check_finished(self, names: dict[int, str], x: dict[int, list[float]], known: dict[Any, Any]) -> None:
        """Every simulation that finished is recorded; but of a job that was then overtaken it may not be."""
        # By objective, too: one point may be two samples, wanted on one cheap objective each.
        found = {(names[row.objective_id], *map(float, x[row.sample_id])): row for row in self.read(select(jobs))}
        lines = [json.loads(line) for line in self.finished.read_text().splitlines()]
        for objective, point in lines:
            job = found[objective, *map(float, point)]
            assert (objective, job.sample_id) in known or job.state in ("superseded", "leased", "ready"), job
        wasted = len(lines) - len({json.dumps(line) for line in lines})
        print(f"{len(lines)} simulations finished, {wasted} of them again")  # noqa: T201
        ended = [row.outcome for row in self.read(select(attempts))]
        print({outcome: ended.count(outcome) for outcome in set(ended)})  # noqa: T201


def check_undisturbed(house: House) -> None:
    """The same order of tells proposes the same, where planners never die and are always in time.

    Those here may be late: a generation of a stream that nobody has planned when search begins is planned no more.
    """
    again = Database(f"sqlite:///{house.folder}/undisturbed.db")
    try:
        upgrade(again)
        replay(again, SPEC, recorded(house.database))
        here, there = proposals(house.database), proposals(again)
        generations = {sample[:3] for sample in here}
        assert here == {sample for sample in there if sample[0] != "stream" or sample[:3] in generations}
    finally:
        again.close()


def kill_at_random(url: str, folder: Path, victims: list[str], seed: int) -> None:
    with ExitStack() as stack:
        house = House(stack, url, folder, seed)
        killed = house.work(victims)
        print("killed:", ", ".join(killed))  # noqa: T201
        assert killed
        house.check()
        check_undisturbed(house)


@pytest.mark.timeout(900)  # on a loaded machine
@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_study_survives_the_death_of_its_worker_server_and_planner(database_url: str, tmp_path: Path) -> None:
    kill_at_random(database_url, tmp_path, ["worker", "server", "planner"], seed=1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(5))
def test_a_study_survives_many_deaths(database_url: str, tmp_path: Path, seed: int) -> None:
    victims = random.Random(seed).choices(["worker", "server", "planner"], k=12)  # noqa: S311
    print("seed", seed)  # noqa: T201
    kill_at_random(database_url, tmp_path, victims, seed)


class Mortal(House):
    """On a PostgreSQL that may be killed, too."""

    server: PostgreSQL

    def kill(self, victim: str) -> None:
        if victim != "postgresql":
            super().kill(victim)
            return
        postmaster = psutil.Process(self.server.server.get_pid())
        family = [postmaster, *postmaster.children()]
        os.kill(postmaster.pid, signal.SIGKILL)
        psutil.wait_procs(family, PATIENCE_S)
        self.server.server.ensure_postgres_running()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_study_survives_the_death_of_its_database(tmp_path: Path) -> None:
    """Server, planner and worker come back by themselves."""
    with ExitStack() as stack:
        server = stack.enter_context(running_postgresql())
        url = server.create()
        database = Database(url)
        upgrade(database)
        database.close()
        house = Mortal(stack, url, tmp_path, seed=3)
        house.server = server
        before = {name: one.process.pid for name, one in house.crew.items()}
        killed = house.work(["postgresql"] * 4)
        assert killed
        assert {name: one.process.pid for name, one in house.crew.items()} == before
        assert all(one.process.poll() is None for one in house.crew.values())
        house.check()
        check_undisturbed(house)
