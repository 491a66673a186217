"""A soak: memory, file handles and connections of server, planner and worker do not grow with the jobs done."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import func, select, text

from app.store.database import Database
from app.store.tables import objectives, steps, studies
from counterpoise.client import Client
from tests.e2e.processes import COUNTERPOISE, children, eventually, planning, running, serving

# The most that one process may have of each: docs/operations.md says so.
CONNECTIONS = {"server": 11, "planner": 4}
MOST_BYTES_PER_JOB = 200
NOISE = 4 << 20  # what an allocator keeps, now more, now less
LONG_S = 600.0  # for what takes its time at 10^5 jobs
HANDLES = 12  # those of a pool that is only now filled
VARIABLES = [{"name": "span", "low": 0.0, "high": 1.0}, {"name": "skin", "low": 0.0, "high": 1.0}]


def large(jobs: int) -> dict[str, Any]:
    """All of its jobs are there from the beginning, so that a model of 10^5 points need not be fitted."""
    same = [{"name": name, "evaluation_time_s": 1.0} for name in ("mass", "drag")]
    size = {"budget": jobs // 2, "initial_samples": jobs // 2}
    return {"name": "large", "variables": VARIABLES, "objectives": same, **size}


def small(budget: int) -> dict[str, Any]:
    """Step upon step of the same size, and extended again and again: work for the planner during the whole soak."""
    own = [{"name": "lift", "evaluation_time_s": 1.0}, {"name": "crash", "evaluation_time_s": 2.0}]
    few = {"initial_samples": 6, "batch_size": 1, "generations": 1}
    return {"name": "small", "variables": VARIABLES, "objectives": own, "budget": budget, **few}


@dataclass(frozen=True, slots=True)
class Look:
    """What one process and its children have."""

    uss: int
    handles: int
    connections: int


class House:
    def __init__(self, stack: ExitStack, url: str, folder: Path, jobs: int) -> None:
        self.database, self.jobs, self.budget = Database(url), jobs, 6 + jobs // 500
        stack.callback(self.database.close)
        address, server = stack.enter_context(serving(self._named(url, "server"), "--no-planner"))
        planner, _ = stack.enter_context(planning(self._named(url, "planner")))
        self.client = stack.enter_context(Client(address))
        self.client.create_study(large(jobs))
        self.client.create_study(small(self.budget))
        eventually(lambda: self.client.study("large").planned_full == jobs // 2, "the initial design", LONG_S)
        said = {"mass": "span", "drag": "span", "lift": "span", "crash": "skin"}
        functions = [f"--objective={name}=tests.workers.simulations:{how}" for name, how in said.items()]
        options = ("--any-study", "--slots", "4", "--spool", str(folder / "spool"), "--url", address)
        worker, self.log = stack.enter_context(running(COUNTERPOISE, "worker", *options, *functions))
        self.processes = {"server": server.pid, "planner": planner.pid, "worker": worker.pid}

    def _named(self, url: str, name: str) -> str:
        """So that a connection says whose it is."""
        return url if self.database.is_sqlite else f"{url}&application_name={name}"

    def done(self) -> int:
        with self.database.read() as connection:
            study = select(studies.c.id).where(studies.c.name == "large").scalar_subquery()
            query = select(func.sum(objectives.c.done)).where(objectives.c.study_id == study)
            return int(connection.execute(query).scalar_one())

    def extend(self) -> None:
        self.budget += self.jobs // 500
        self.client.extend("small", self.budget)

    def await_done(self, wanted: int) -> None:
        while (before := self.done()) < wanted:
            eventually(lambda: self.done() > before, f"progress after {before} jobs", LONG_S)

    def look(self) -> dict[str, Look]:
        connections = self._connections()
        found = {}
        for name, pid in self.processes.items():
            family = [psutil.Process(pid), *children(pid)]
            uss = sum(one.memory_full_info().uss for one in family)
            handles = sum(one.num_fds() for one in family)
            found[name] = Look(uss, handles, connections.get(name, 0))
        return found

    def _connections(self) -> dict[str, int]:
        if self.database.is_sqlite:
            return {}  # they are file handles there
        query = "SELECT application_name, count(*) FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1"
        with self.database.read() as connection:
            return {str(name): int(count) for name, count in connection.execute(text(query))}

    def steps(self) -> int:
        with self.database.read() as connection:
            return int(connection.execute(select(func.count()).where(steps.c.state == "done")).scalar_one())


def say(done: int, house: House, looks: dict[str, Look]) -> None:
    words = [
        f"{name} {look.uss / 2**20:.1f} MB, {look.handles} handles, {look.connections} connections"
        for name, look in looks.items()
    ]
    print(f"growth: {done} jobs, {house.steps()} steps: {'; '.join(words)}", flush=True)  # noqa: T201


def soak(url: str, folder: Path, jobs: int) -> None:
    with ExitStack() as stack:
        house = House(stack, url, folder, jobs)
        looks = {}
        for percent in (10, 30, 50, 70, 90):
            house.await_done(jobs * percent // 100)
            looks[percent] = house.look()
            say(house.done(), house, looks[percent])
            house.extend()
        for name, last in looks[90].items():
            first = looks[30][name]
            assert last.uss - first.uss < NOISE + MOST_BYTES_PER_JOB * jobs * 6 // 10, name
            assert last.handles <= first.handles + HANDLES, name
            assert last.connections <= CONNECTIONS.get(name, 0), name
        eventually(lambda: house.client.study("large").phase == "finished", "the end of the study", LONG_S)
        say(house.done(), house, house.look())
        assert house.done() == jobs


@pytest.mark.timeout(900)  # on a loaded machine
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_handles_and_connections_do_not_grow(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print()  # noqa: T201
        soak(database_url, tmp_path, 2000)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_study_with_a_hundred_thousand_jobs_leaves_memory_flat(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print(f"\n{database_url.partition(':')[0]}")  # noqa: T201
        soak(database_url, tmp_path, 100_000)
