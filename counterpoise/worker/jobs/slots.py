"""The slots of a worker: each evaluates one job at a time in a thread of its own, and
submits the result.
"""

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from counterpoise.client import Client
from counterpoise.wire.codes import FailureKind
from counterpoise.wire.work import Failure, Job, Tell
from counterpoise.worker.config import WorkerConfig
from counterpoise.worker.evaluators.evaluator import EvaluationResult, Evaluator, failed
from counterpoise.worker.jobs.active_job import ActiveJob, EndReason
from counterpoise.worker.jobs.release import release_jobs
from counterpoise.worker.results.teller import Teller
from counterpoise.worker.shutdown import Shutdown
from counterpoise.worker.worker_log import WorkerLog

LONGEST_REST_S = 60.0
MOST_DOUBLINGS = 10


class Slots:
    def __init__(
        self,
        client: Client,
        evaluators: Mapping[str, Evaluator],
        config: WorkerConfig,
        teller: Teller,
        shutdown: Shutdown,
        log: WorkerLog,
        on_change: Callable[[], None],
    ) -> None:
        """`on_change` is called when the active jobs have changed."""
        self.changed = threading.Condition()
        self._client = client
        self._evaluators = evaluators
        self._config = config
        self._teller = teller
        self._shutdown = shutdown
        self._log = log
        self._on_change = on_change
        self._active: dict[int, ActiveJob] = {}  # by slot
        self._is_ending = threading.Event()
        numbers = range(config.slots)
        self._queues: list[queue.SimpleQueue[ActiveJob | None]] = [
            queue.SimpleQueue() for _ in numbers
        ]
        self._threads = [
            threading.Thread(target=self._run, args=(slot,), daemon=True)
            for slot in numbers
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def active_jobs(self) -> list[ActiveJob]:
        with self.changed:
            return list(self._active.values())

    @property
    def free(self) -> int:
        return self._config.slots - len(self._active)

    def assign(self, jobs: Sequence[Job]) -> None:
        """Begin to evaluate jobs, at most as many as slots are free."""
        with self.changed:
            free = [
                slot for slot in range(self._config.slots) if slot not in self._active
            ]
            for slot, job in zip(free, jobs, strict=False):
                active = ActiveJob(job, self._config.limit_s(job))
                self._active[slot] = active
                self._queues[slot].put(active)
        self._on_change()

    def end_active_jobs(self) -> list[str]:
        """End what runs; returns the leases of jobs without a result."""
        self._is_ending.set()
        active_jobs = self.active_jobs()
        for active in active_jobs:
            active.end(EndReason.STOPPED, "the worker is stopped")
        return [
            active.job.lease
            for active in active_jobs
            if active.end_reason is EndReason.STOPPED
        ]

    def close(self, timeout_s: float) -> None:
        for jobs in self._queues:
            jobs.put(None)
        deadline = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self, slot: int) -> None:
        losses = 0  # in a row
        while (active := self._queues[slot].get()) is not None:
            result = self._evaluate(active, slot)
            self._report(active, result)
            is_lost = (
                result.failure is not None
                and result.failure.kind is FailureKind.INFRASTRUCTURE
            )
            losses = losses + 1 if is_lost else 0
            # a node that can evaluate nothing must not use up the attempts of every job
            if is_lost:
                self._shutdown.sleep(
                    min(2.0 ** min(losses, MOST_DOUBLINGS), LONGEST_REST_S)
                )
            with self.changed:
                del self._active[slot]
                self.changed.notify_all()
            self._on_change()

    def _evaluate(self, active: ActiveJob, slot: int) -> EvaluationResult:
        try:
            return active.evaluate(self._evaluators[active.job.objective], slot)
        except Exception as error:  # noqa: BLE001  any error: the slot must go on, and the job gets an outcome
            return failed(
                FailureKind.INFRASTRUCTURE,
                f"the evaluation failed in the worker: {error!r}",
            )

    def _report(self, active: ActiveJob, result: EvaluationResult) -> None:
        job = active.job
        facts = {
            "job": job.job,
            "objective": job.objective,
            "sample": job.sample,
            "duration_s": result.duration_s,
        }
        if result.value is None and active.end_reason in (
            EndReason.CANCELLED,
            EndReason.STOPPED,
        ):
            self._log.info(active.end_message, **facts)
            if active.end_reason is EndReason.CANCELLED:
                release_jobs(self._client, [job.lease], self._log)
            return
        if result.failure is None:
            self._log.info("done", **facts, value=result.value)
        else:
            self._log.warning(f"{result.failure.kind}: {result.summary}", **facts)
        pending = self._teller.submit(_tell(job, result))
        while (
            pending.file is None
            and not pending.is_settled.wait(0.2)
            and not self._is_ending.is_set()
        ):
            pass  # without a disk the slot must not produce a second result


def _tell(job: Job, result: EvaluationResult) -> Tell:
    facts: dict[str, Any] = {
        "job": job.job,
        "lease": job.lease,
        "duration_s": result.duration_s,
    }
    try:
        return Tell(
            **facts,
            value=result.value,
            also=result.also,
            failure=result.failure,
            metadata=result.metadata,
        )
    except (
        ValidationError
    ) as error:  # a fault of the evaluator; the job gets an outcome nevertheless
        message = f"the result cannot be told: {error}"
        return Tell(**facts, failure=Failure(kind=FailureKind.ERROR, message=message))
