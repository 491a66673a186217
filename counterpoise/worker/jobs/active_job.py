"""A job that this worker evaluates now."""

import threading
import time
from dataclasses import dataclass, field
from enum import StrEnum

from counterpoise.wire.codes import FailureKind
from counterpoise.wire.work import Job
from counterpoise.worker.evaluators.evaluator import (
    Evaluation,
    EvaluationResult,
    Evaluator,
    failed,
)

ENDING_S = 30.0  # how long to wait for an evaluation that was cancelled


class EndReason(StrEnum):
    """Why an evaluation was ended before it was finished."""

    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    STOPPED = "stopped"


@dataclass(eq=False, slots=True)
class ActiveJob:
    job: Job
    limit_s: float | None
    began: float = field(default_factory=time.monotonic)
    end_reason: EndReason | None = None
    end_message: str = ""
    _evaluation: Evaluation | None = None
    _has_result: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def evaluate(self, evaluator: Evaluator, slot: int) -> EvaluationResult:
        try:
            evaluation = evaluator.start(slot, self.job)
        except Exception as error:  # noqa: BLE001  any error: this node cannot evaluate now
            return failed(
                FailureKind.INFRASTRUCTURE,
                f"the evaluation cannot be started: {error!r}",
            )
        with self._lock:
            self._evaluation = evaluation
        if self.end_reason is not None:  # ended while it was being started
            evaluation.cancel(self.end_message)
        result = evaluation.wait(self._left_s())
        if result is None:
            self.end(
                EndReason.TIMEOUT, f"timeout: still running after {self.limit_s:g} s"
            )
            result = evaluation.wait(ENDING_S)
        with self._lock:
            self._has_result = True
        return result or failed(
            FailureKind.ERROR, f"{self.end_message}; it could not be ended"
        )

    def _left_s(self) -> float | None:
        return (
            None
            if self.limit_s is None
            else self.began + self.limit_s - time.monotonic()
        )

    def end(self, reason: EndReason, message: str) -> None:
        """End the evaluation, from any thread.

        Only the first reason counts, and none once there is a result.
        """
        with self._lock:
            if self._has_result:
                return
            if self.end_reason is None:
                self.end_reason, self.end_message = reason, message
            evaluation = self._evaluation
        if evaluation is not None:
            evaluation.cancel(self.end_message)
