"""Three servers and two planners on one PostgreSQL, with many workers; the first server
can be frozen.
"""

import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import select

from app.store.database import Database
from app.store.tables import attempts, jobs, objectives
from counterpoise.client import Client
from counterpoise.wire.codes import JobState
from tests.e2e.processes import eventually, free_port, planning, serving
from tests.reliability.processes.worker_threads import WorkerThreads

WORKERS = 32
BATCH, STEPS = 10, 2
# The database ends the transaction of a frozen server after this time; the default is
# 30 s.
ABANDONED_AFTER = "&options=-c%20idle_in_transaction_session_timeout%3D2s"
PATIENCE_S = 300.0  # for so many processes on a loaded machine


def specification(number: int, initial_samples: int, lease_s: float) -> dict[str, Any]:
    return {
        "name": f"wing{number}",
        "variables": [
            {"name": "a", "low": 0.0, "high": 1.0},
            {"name": "b", "low": 0.0, "high": 1.0},
        ],
        "objectives": [
            {"name": "mass", "evaluation_time_s": 1.0},
            {"name": "crash", "evaluation_time_s": 2.0},
        ],
        "budget": initial_samples + STEPS * BATCH,
        "initial_samples": initial_samples,
        "batch_size": BATCH,
        "generations": 2,
        "models": "paper",  # the faster ones
        "lease_s": lease_s,
        "max_losses": 1000,
        "seed": number,
    }


def fewest_jobs(spec: dict[str, Any]) -> int:
    """Jobs of the full samples; cheap-only ones can be superseded."""
    return len(spec["objectives"]) * int(spec["budget"])


class Cluster:
    def __init__(
        self,
        stack: ExitStack,
        url: str,
        folder: Path,
        specs: list[dict[str, Any]],
    ) -> None:
        self.stack = stack
        self.url = url + ABANDONED_AFTER
        self.specs = specs
        self.database = Database(url)
        stack.callback(self.database.close)
        self.faults = folder / "faults"
        self.faults.mkdir()
        self.port = free_port()
        self.first = self.start_first()
        urls = [f"http://127.0.0.1:{self.port}"]
        self.planner_logs: list[Path] = []
        for _ in range(2):
            url, _ = stack.enter_context(serving(self.url, "--no-planner"))
            urls.append(url)
            _, log = stack.enter_context(planning(self.url))
            self.planner_logs.append(log)
        self.workers = WorkerThreads(urls, WORKERS, folder)
        with Client(urls[-1]) as client:
            for spec in specs:
                client.create_study(spec)

    def start_first(self) -> "subprocess.Popen[bytes]":
        server = serving(
            self.url,
            "--no-planner",
            port=self.port,
            COUNTERPOISE_FAULTS=str(self.faults),
        )
        return self.stack.enter_context(server)[1]

    @contextmanager
    def first_frozen(self) -> Iterator[None]:
        """The first server stops in the middle of a tell, with a study locked and
        requests under way.
        """
        hold = self.faults / "tell.written.hold"
        held = self.faults / "tell.written.held"
        held.unlink(missing_ok=True)  # of the last time
        hold.touch()
        eventually(held.exists, "a tell at the first server", PATIENCE_S)
        self.first.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            hold.unlink()
            self.first.send_signal(signal.SIGCONT)

    def kill_first(self) -> None:
        self.first.kill()
        self.first.wait()

    def rows(self, query: Any) -> list[Any]:
        with self.database.read() as connection:
            return list(connection.execute(query))

    def done(self) -> int:
        return sum(self.done_by_study().values())

    def done_by_study(self) -> dict[int, int]:
        done: Counter[int] = Counter()
        for row in self.rows(select(objectives.c.study_id, objectives.c.done)):
            done[row.study_id] += row.done
        return done

    def ready_by_study(self) -> dict[int, int]:
        """Studies without a ready job are left out."""
        query = select(jobs.c.study_id).where(jobs.c.state == JobState.READY)
        return Counter(row.study_id for row in self.rows(query))

    def await_progress_of_all(self) -> None:
        """Every study makes progress, also the one that the frozen server has locked,
        unless all jobs are taken: then the next ones come after the server's return.
        """
        before = self.done_by_study()

        def all_progressed() -> bool:
            done, ready = self.done_by_study(), self.ready_by_study()
            return all(
                done[study] >= before[study] + 20 or not ready[study] for study in done
            )

        self.run_until(all_progressed)

    def run_until(self, condition: Callable[[], bool]) -> None:
        """Wait as long as there is progress."""
        done = -1
        while not condition():
            before, done = done, self.done()
            eventually(
                lambda: condition() or self.done() > before,  # noqa: B023
                f"progress after {before} jobs",
                PATIENCE_S,
            )

    def throughput(self) -> str:
        rows = self.rows(select(attempts))
        ended = [row for row in rows if row.ended_at is not None]
        seconds = max(row.ended_at for row in ended) - min(
            row.leased_at for row in ended
        )
        done = self.done()
        rate = done / seconds
        outcomes = Counter(row.outcome for row in rows)
        steps = [log.read_text().count('"event": "step"') for log in self.planner_logs]
        return f"{done} jobs in {seconds:.1f} s, {rate:.0f} a second; {outcomes}; steps by planner {steps}"
