"""A soak: memory, file handles and connections of server, planner and worker do not grow with the jobs done."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

import psutil
import pytest
from sqlalchemy import func, select, text

from app.store.database import Database
from app.store.tables import objectives, steps, studies
from counterpoise.client import Client
from counterpoise.wire.work import Ask, Tell
from tests.e2e.processes import COUNTERPOISE, children, eventually, planning, running, serving

# The most that one process may have of each: docs/operations.md says so.
CONNECTIONS = {"server": 11, "planner": 4}
NOISE = 2 << 20  # what an allocator takes once, for a table of its own that became too small, say
LONG_S = 600.0  # for what takes its time at 10^5 jobs
VARIABLES = [{"name": "span", "low": 0.0, "high": 1.0}, {"name": "skin", "low": 0.0, "high": 1.0}]
SLOW, QUICK = "drag", ("mass", "cost", "noise")
MOST_TOLD = 256


def large(jobs: int) -> dict[str, Any]:
    """All of its jobs are there from the beginning, so that a model of 10^5 points need not be fitted.

    One objective is for a real worker; the others are told in long lists, by the test.
    """
    same = [{"name": name, "evaluation_time_s": 1.0} for name in (SLOW, *QUICK)]
    size = {"budget": jobs // len(same), "initial_samples": jobs // len(same)}
    return {"name": "large", "variables": VARIABLES, "objectives": same, **size}


def small(number: int) -> dict[str, Any]:
    """One after the other, all alike: steps of the same size for the planner during the whole soak."""
    own = [{"name": "lift", "evaluation_time_s": 1.0}, {"name": "crash", "evaluation_time_s": 2.0}]
    few = {"initial_samples": 6, "batch_size": 1, "generations": 1, "budget": 12}
    return {"name": f"small-{number}", "variables": VARIABLES, "objectives": own, **few}


@dataclass(frozen=True, slots=True)
class Look:
    """What one process and its children have; after how many jobs, its own if it is the worker."""

    jobs: int
    memory: int
    handles: int
    connections: int


def own_memory(pid: int) -> int:
    """Bytes of its own making. What is read from files would depend on who else on the machine has read them, too."""
    status = Path(f"/proc/{pid}/status").read_text()
    return sum(int(size) << 10 for size in re.findall(r"^(?:RssAnon|VmSwap):\s+(\d+) kB", status, re.MULTILINE))


class House:
    def __init__(self, stack: ExitStack, url: str, folder: Path, jobs: int) -> None:
        self.database, self.jobs = Database(url), jobs
        stack.callback(self.database.close)
        address, server = stack.enter_context(serving(self._named(url, "server"), "--no-planner"))
        planner, _ = stack.enter_context(planning(self._named(url, "planner")))
        self.client = stack.enter_context(Client(address))
        self.client.create_study(large(jobs))
        eventually(lambda: self.client.study("large").planned_full * 4 == jobs, "the initial design", LONG_S)
        functions = [f"--objective={name}=tests.worker.simulations:span" for name in (SLOW, "lift")]
        crash = "--objective=crash=tests.worker.simulations:skin"
        options = ("--any-study", "--slots", "8", "--spool", str(folder / "spool"), "--url", address)
        worker, _ = stack.enter_context(running(COUNTERPOISE, "worker", *options, *functions, crash))
        self.processes = {"server": server.pid, "planner": planner.pid, "worker": worker.pid}
        self._numbers, self._small = count(), ""

    def _named(self, url: str, name: str) -> str:
        """So that a connection says whose it is."""
        return url if self.database.is_sqlite else f"{url}&application_name={name}"

    def done(self) -> dict[str, int]:
        """By objective."""
        study = select(studies.c.id).where(studies.c.name == "large").scalar_subquery()
        query = select(objectives.c.name, objectives.c.done).where(objectives.c.study_id == study)
        with self.database.read() as connection:
            return {str(name): int(done) for name, done in connection.execute(query)}

    def work(self) -> None:
        """Tell as much as keeps step with the worker, so that everything grows together."""
        done = self.done()
        wanted = len(QUICK) * (done[SLOW] + 5) - sum(done[name] for name in QUICK)
        if wanted > 0:
            most = min(wanted, MOST_TOLD)
            ask = Ask(worker="hand", studies=["large"], objectives=list(QUICK), max_jobs=most, wait_s=0.0)
            jobs = self.client.ask(ask).jobs
            told = self.client.tell([Tell(job=job.job, lease=job.lease, value=job.x["span"]) for job in jobs])
            assert all(one.status == 200 for one in told)

    def plan(self) -> None:
        if not self._small or self.client.study(self._small).phase == "finished":
            self._small = self.client.create_study(small(next(self._numbers))).name

    def looks(self) -> Iterator[tuple[int, dict[str, Look]]]:
        """After every percent of the jobs."""
        for percent in range(1, 100):
            deadline = monotonic() + LONG_S
            while sum((done := self.done()).values()) < self.jobs * percent // 100:
                self.work()
                assert monotonic() < deadline, f"no progress after {done}"
            self.plan()
            yield percent, self.look()

    def look(self) -> dict[str, Look]:
        found, done, connections = {}, self.done(), self._connections()
        for name, pid in self.processes.items():
            family = [psutil.Process(pid), *children(pid)]
            jobs = done[SLOW] if name == "worker" else sum(done.values())
            memory = sum(own_memory(one.pid) for one in family)
            handles = sum(one.num_fds() for one in family)
            found[name] = Look(jobs, memory, handles, connections.get(name, 0))
        return found

    def _connections(self) -> dict[str, int]:
        """Of SQLite: a process has the file open once for each."""
        if self.database.is_sqlite:
            file = self.database.url.removeprefix("sqlite:///")
            return {
                name: sum(one.path == file for one in psutil.Process(pid).open_files())
                for name, pid in self.processes.items()
            }
        query = "SELECT application_name, count(*) FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1"
        with self.database.read() as connection:
            return {str(name): int(number) for name, number in connection.execute(text(query))}

    def steps(self) -> int:
        with self.database.read() as connection:
            return int(connection.execute(select(func.count()).where(steps.c.state == "done")).scalar_one())


def say(house: House, looks: dict[str, Look]) -> None:
    words = [
        f"{name} {look.memory / 2**20:.1f} MB, {look.handles} handles, {look.connections} connections"
        for name, look in looks.items()
    ]
    print(f"growth: {looks['server'].jobs} jobs, {house.steps()} steps: {'; '.join(words)}", flush=True)  # noqa: T201


def floor(looks: list[Look]) -> Look:
    """What a process has when it has least: what it holds for a moment does not count, and what it lost does."""
    return Look(
        looks[len(looks) // 2].jobs,
        min(one.memory for one in looks),
        min(one.handles for one in looks),
        min(one.connections for one in looks),
    )


def growth(floors: list[Look]) -> float:
    """Bytes a job, in most parts of the time: what leaks does so all the time, an allocator takes its share at once."""
    grown = [after.memory - before.memory for before, after in pairwise(floors)]
    return median(grown) * len(grown) / (floors[-1].jobs - floors[0].jobs)


def soak(url: str, folder: Path, jobs: int, most_bytes_per_job: float) -> None:
    began, grown = monotonic(), {}
    with ExitStack() as stack:
        house = House(stack, url, folder, jobs)
        looks: dict[str, list[Look]] = {name: [] for name in house.processes}
        for percent, found in house.looks():
            for name, look in found.items():
                looks[name].append(look)
            if percent % 20 == 10:
                say(house, found)
        for name, seen in looks.items():
            floors = [floor(seen[at : at + 5]) for at in range(50, 90, 5)]
            first, last = floors[0], floors[-1]
            grown[name] = growth(floors)
            print(f"growth: {name} {grown[name]:.0f} bytes a job from {first.jobs} to {last.jobs}", flush=True)  # noqa: T201
            assert last.memory - first.memory < NOISE + most_bytes_per_job * (last.jobs - first.jobs), (name, floors)
            assert last.handles <= first.handles + 2, (name, floors)
            assert last.connections <= first.connections + 2, (name, floors)
            assert max(one.connections for one in seen) <= CONNECTIONS.get(name, 0), name
        assert {name: size for name, size in grown.items() if size > most_bytes_per_job} == {}
        while house.client.study("large").phase != "finished":
            house.work()
        assert sum(house.done().values()) == jobs
        say(house, house.look())
        print(f"growth: {jobs} jobs in {monotonic() - began:.0f} s", flush=True)  # noqa: T201


@pytest.mark.slow  # half a minute
@pytest.mark.timeout(900)  # on a loaded machine
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_handles_and_connections_do_not_grow(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print()  # noqa: T201
        soak(database_url, tmp_path, 4000, 300.0)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_study_with_a_hundred_thousand_jobs_leaves_memory_flat(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print(f"\n{database_url.partition(':')[0]}")  # noqa: T201
        soak(database_url, tmp_path, 100_000, 50.0)
