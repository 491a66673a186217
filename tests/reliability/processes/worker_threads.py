"""Many workers in one process: real loops, each with its own client and spool, and
instant simulations.
"""

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
from counterpoise.worker.results.spool import Spool
from counterpoise.worker.worker_log import WorkerLog

OBJECTIVES = ("mass", "crash")


def evaluate(objective: str, x: dict[str, float | int]) -> float:
    a, b = x["a"], x["b"]
    return a + 0.1 * b if objective == "mass" else (1.0 - a) ** 2 + b


@dataclass(frozen=True, slots=True)
class FinishedEvaluation:
    outcome: EvaluationResult

    def wait(self, timeout_s: float | None) -> EvaluationResult:  # noqa: ARG002
        return self.outcome

    def cancel(self, why: str) -> None:
        pass


@dataclass(slots=True)
class InstantEvaluator:
    """Evaluates at once, and keeps each evaluation."""

    finished: list[tuple[Job, float]] = field(default_factory=list)

    def start(self, slot: int, job: Job) -> FinishedEvaluation:  # noqa: ARG002
        value = evaluate(job.objective, job.x)
        self.finished.append((job, value))
        return FinishedEvaluation(EvaluationResult(value))

    def close(self) -> None:
        pass


class WorkerThreads:
    """Workers spread over servers and objectives; each ends when all studies are
    finished.
    """

    def __init__(
        self,
        urls: Sequence[str],
        count: int,
        folder: Path,
    ) -> None:
        self.evaluator = InstantEvaluator()
        self.spools = folder / "spools"
        self.errors: list[BaseException] = []
        self._log = (folder / "workers.log").open("w")
        self._loops: list[WorkerLoop] = []
        self._threads: list[threading.Thread] = []
        for number in range(count):
            url = urls[number % len(urls)]
            objective = OBJECTIVES[number // len(urls) % len(OBJECTIVES)]
            arguments = (url, objective, f"worker{number}")
            self._threads.append(threading.Thread(target=self._work, args=arguments))

    def _work(
        self,
        url: str,
        objective: str,
        name: str,
    ) -> None:
        spool = Spool(self.spools / name)
        try:
            with Client(url, retry_s=0) as client:
                terms = WorkerConfig(
                    name, ("*",), slots=4, until_finished=True, wait_s=2.0
                )
                loop = WorkerLoop(
                    client,
                    {objective: self.evaluator},
                    spool,
                    terms,
                    WorkerLog(True, self._log),
                )
                self._loops.append(loop)
                loop.run()
        except BaseException as error:  # noqa: BLE001  the test checks that there is none
            self.errors.append(error)
        finally:
            spool.close()

    @contextmanager
    def running(self) -> Iterator[None]:
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
    def are_done(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def spooled(self) -> list[Path]:
        """Results that no server has accepted, or that one refused."""
        return sorted(self.spools.rglob("*.json"))
