"""A server, a planner and a worker under load for long, with what each of them holds."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any

import psutil
from sqlalchemy import func, select, text

from app.store.database import Database
from app.store.tables import objectives, steps, studies
from counterpoise.client import Client
from counterpoise.wire.work import Ask, Tell
from tests.e2e.processes import (
    COUNTERPOISE,
    children,
    eventually,
    planning,
    running,
    serving,
)

PATIENCE_S = 600.0  # for what takes long with 10^5 jobs
VARIABLES = [
    {"name": "span", "low": 0.0, "high": 1.0},
    {"name": "skin", "low": 0.0, "high": 1.0},
]
# Which evaluates an objective of the large study
BY_WORKER, BY_TEST = (
    "drag",
    ("mass", "cost", "noise"),
)
SIMULATIONS = {"drag": "span", "lift": "span", "crash": "skin"}
MAX_TELLS = 256


def large_study(jobs: int) -> dict[str, Any]:
    """All jobs exist from the beginning, so that no model of 10^5 points is fitted.

    A real worker evaluates one objective; the test tells the others in long lists.
    """
    outputs = [
        {"name": name, "evaluation_time_s": 1.0} for name in (BY_WORKER, *BY_TEST)
    ]
    samples = jobs // len(outputs)
    return {
        "name": "large",
        "variables": VARIABLES,
        "objectives": outputs,
        "budget": samples,
        "initial_samples": samples,
    }


def small_study(number: int) -> dict[str, Any]:
    """One after the other, all alike: steps of one size during the whole soak."""
    outputs = [
        {"name": "lift", "evaluation_time_s": 1.0},
        {"name": "crash", "evaluation_time_s": 2.0},
    ]
    return {
        "name": f"small-{number}",
        "variables": VARIABLES,
        "objectives": outputs,
        "budget": 12,
        "initial_samples": 6,
        "batch_size": 1,
        "generations": 1,
    }


@dataclass(frozen=True, slots=True)
class Usage:
    """What one process and its children hold, after how many jobs (of a worker: its
    own).
    """

    jobs: int
    memory: int
    handles: int
    connections: int


def anonymous_memory(pid: int) -> int:
    """In bytes, without mapped files, whose share depends on other processes."""
    status = Path(f"/proc/{pid}/status").read_text()
    sizes_kb = re.findall(r"^(?:RssAnon|VmSwap):\s+(\d+) kB", status, re.MULTILINE)
    return sum(int(size) << 10 for size in sizes_kb)


class Soak:
    def __init__(
        self,
        stack: ExitStack,
        url: str,
        folder: Path,
        jobs: int,
    ) -> None:
        self.database = Database(url)
        self.jobs = jobs
        stack.callback(self.database.close)
        address, server = stack.enter_context(
            serving(self._named(url, "server"), "--no-planner")
        )
        planner, _ = stack.enter_context(planning(self._named(url, "planner")))
        self.client = stack.enter_context(Client(address))
        self.client.create_study(large_study(jobs))
        eventually(
            lambda: self.client.study("large").planned_full * 4 == jobs,
            "the initial design",
            PATIENCE_S,
        )
        functions = [
            f"--objective={name}=tests.worker.simulations:{to}"
            for name, to in SIMULATIONS.items()
        ]
        options = (
            "--any-study",
            "--slots",
            "8",
            "--spool",
            str(folder / "spool"),
            "--url",
            address,
        )
        worker, _ = stack.enter_context(
            running(COUNTERPOISE, "worker", *options, *functions)
        )
        self.pids = {"server": server.pid, "planner": planner.pid, "worker": worker.pid}
        self._numbers = count()
        self._small_study = ""

    def _named(self, url: str, name: str) -> str:
        """A URL whose PostgreSQL connections show the name of their process."""
        return url if self.database.is_sqlite else f"{url}&application_name={name}"

    def done(self) -> dict[str, int]:
        """Jobs of the large study, by objective."""
        study = select(studies.c.id).where(studies.c.name == "large").scalar_subquery()
        query = select(objectives.c.name, objectives.c.done).where(
            objectives.c.study_id == study
        )
        with self.database.read() as connection:
            return {row.name: row.done for row in connection.execute(query)}

    def steps_done(self) -> int:
        with self.database.read() as connection:
            return int(
                connection.execute(
                    select(func.count()).where(steps.c.state == "done")
                ).scalar_one()
            )

    def tell(self) -> None:
        """Tell as many jobs as the worker has done, so that all objectives advance
        together.
        """
        done = self.done()
        missing = len(BY_TEST) * (done[BY_WORKER] + 5) - sum(
            done[name] for name in BY_TEST
        )
        if missing <= 0:
            return
        ask = Ask(
            worker="test",
            studies=["large"],
            objectives=list(BY_TEST),
            max_jobs=min(missing, MAX_TELLS),
            wait_s=0.0,
        )
        jobs = self.client.ask(ask).jobs
        responses = self.client.tell(
            [Tell(job=job.job, lease=job.lease, value=job.x["span"]) for job in jobs]
        )
        assert {response.status for response in responses} <= {200}

    def keep_planner_busy(self) -> None:
        if (
            not self._small_study
            or self.client.study(self._small_study).phase == "finished"
        ):
            self._small_study = self.client.create_study(
                small_study(next(self._numbers))
            ).name

    def usages(self) -> Iterator[tuple[int, dict[str, Usage]]]:
        """After every percent of the jobs, by process."""
        for percent in range(1, 100):
            deadline = monotonic() + PATIENCE_S
            while sum(self.done().values()) < self.jobs * percent // 100:
                self.tell()
                assert monotonic() < deadline, f"no progress after {self.done()}"
            self.keep_planner_busy()
            yield percent, self.usage()

    def finish(self) -> None:
        while self.client.study("large").phase != "finished":
            self.tell()
        assert sum(self.done().values()) == self.jobs

    def usage(self) -> dict[str, Usage]:
        done = self.done()
        connections = self._connections()
        usage = {}
        for name, pid in self.pids.items():
            family = [psutil.Process(pid), *children(pid)]
            usage[name] = Usage(
                jobs=done[BY_WORKER] if name == "worker" else sum(done.values()),
                memory=sum(anonymous_memory(process.pid) for process in family),
                handles=sum(process.num_fds() for process in family),
                connections=connections.get(name, 0),
            )
        return usage

    def _connections(self) -> dict[str, int]:
        """On SQLite a process opens the file once for each connection."""
        if self.database.is_sqlite:
            file = self.database.url.removeprefix("sqlite:///")
            return {name: _times_open(file, pid) for name, pid in self.pids.items()}
        query = "SELECT application_name, count(*) FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1"
        with self.database.read() as connection:
            return {
                str(name): int(number)
                for name, number in connection.execute(text(query))
            }


def _times_open(file: str, pid: int) -> int:
    return sum(opened.path == file for opened in psutil.Process(pid).open_files())
