"""Many workers in one process: real loops, each with a client and a spool of its own, and instant simulations."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from counterpoise.client import Client
from counterpoise.wire.work import Job
from counterpoise.worker.config import WorkerConfig
from counterpoise.worker.evaluators.evaluator import EvaluationResult
from counterpoise.worker.loop import WorkerLoop
from counterpoise.worker.spool import Spool
from counterpoise.worker.worker_log import WorkerLog


def evaluate(objective: str, x: dict[str, float | int]) -> float:
    a, b = x["a"], x["b"]
    return {"mass": a + 0.1 * b, "crash": (1.0 - a) ** 2 + b}[objective]


@dataclass(frozen=True, slots=True)
class Done:
    outcome: EvaluationResult

    def wait(self, timeout_s: float | None) -> EvaluationResult:  # noqa: ARG002
        return self.outcome

    def cancel(self, why: str) -> None:
        pass


@dataclass(slots=True)
class Instant:
    """Evaluates at once, and notes each evaluation."""

    finished: list[tuple[Job, float]] = field(default_factory=list)

    def start(self, slot: int, job: Job) -> Done:  # noqa: ARG002
        value = evaluate(job.objective, job.x)
        self.finished.append((job, value))
        return Done(EvaluationResult(value))

    def close(self) -> None:
        pass


class Crew:
    """Workers spread over servers and objectives; each ends when all studies are finished."""

    def __init__(self, urls: Sequence[str], objectives: Sequence[str], size: int, folder: Path) -> None:
        self.evaluator, self.spools = Instant(), folder / "spools"
        self.failures: list[BaseException] = []
        self._log = (folder / "workers.log").open("w")
        self._loops: list[WorkerLoop] = []
        self._threads = []
        for number in range(size):
            given = (urls[number % len(urls)], objectives[number // len(urls) % len(objectives)], f"worker{number}")
            self._threads.append(threading.Thread(target=self._work, args=given, name=given[2]))

    def _work(self, url: str, objective: str, name: str) -> None:
        spool = Spool(self.spools / name)
        try:
            with Client(url, retry_s=0) as client:
                terms = WorkerConfig(name, ("*",), slots=4, until_finished=True, wait_s=2.0)
                loop = WorkerLoop(client, {objective: self.evaluator}, spool, terms, WorkerLog(True, self._log))
                self._loops.append(loop)
                loop.run()
        except BaseException as error:  # noqa: BLE001  the test raises it
            self.failures.append(error)
        finally:
            spool.close()

    @contextmanager
    def working(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            for loop in self._loops:
                loop.stop()
            for thread in self._threads:
                thread.join()
            self._log.close()

    @property
    def is_done(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def untold(self) -> list[Path]:
        """Results that no server has taken, or that one refused."""
        return sorted(self.spools.rglob("*.json"))
