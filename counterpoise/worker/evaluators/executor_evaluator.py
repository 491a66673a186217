"""Evaluations in a `concurrent.futures.Executor`, for example on a cluster."""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future

from counterpoise.wire.codes import FailureKind
from counterpoise.wire.work import Job
from counterpoise.worker.evaluators.evaluator import (
    CheckedEvaluator,
    Evaluation,
    EvaluationResult,
    failed,
)

POLL_S = 0.5
MakeEvaluator = Callable[[], CheckedEvaluator]


class ClusterUnusable(Exception):
    """Raised before any job is taken."""


def check_remotely(make_evaluator: MakeEvaluator) -> str | None:
    """Runs in the executor; returns why nothing can be evaluated there."""
    evaluator = make_evaluator()
    try:
        evaluator.check()
    except Exception as error:  # noqa: BLE001  as text: its class may not exist on the other side
        return str(error)
    finally:
        evaluator.close()
    return None


def evaluate_remotely(
    make_evaluator: MakeEvaluator, is_wanted: Callable[[], bool], job: Job
) -> EvaluationResult:
    """Runs in the executor; ends the evaluation when its result is no longer wanted."""
    evaluator = make_evaluator()
    try:
        evaluation = evaluator.start(0, job)
        while (result := evaluation.wait(POLL_S)) is None:
            if not is_wanted():
                evaluation.cancel("its result is no longer wanted")
        return result
    finally:
        evaluator.close()


class ExecutorEvaluator:
    """`make_evaluator` and `is_wanted` are called in the executor."""

    def __init__(
        self,
        executor: Executor,
        make_evaluator: MakeEvaluator,
        is_wanted: Callable[[], bool],
    ) -> None:
        self._executor = executor
        self._make_evaluator = make_evaluator
        self._is_wanted = is_wanted

    def check(self) -> None:
        """Checks in the executor; waits until that has room for it."""
        try:
            fault = self._executor.submit(check_remotely, self._make_evaluator).result()
        except Exception as error:  # noqa: BLE001  any error: the executor can evaluate nothing
            fault = f"{type(error).__name__}: {error}"
        if fault:
            raise ClusterUnusable(f"the cluster cannot evaluate this: {fault}")

    def start(self, slot: int, job: Job) -> Evaluation:  # noqa: ARG002  the executor has slots of its own
        future = self._executor.submit(
            evaluate_remotely, self._make_evaluator, self._is_wanted, job
        )
        return _ExecutorEvaluation(future)

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


class _ExecutorEvaluation:
    def __init__(self, future: "Future[EvaluationResult]") -> None:
        self._future = future
        self._cancel_reason: str | None = None
        self._over = threading.Event()
        future.add_done_callback(lambda _: self._over.set())

    def wait(self, timeout_s: float | None) -> EvaluationResult | None:
        if not self._over.wait(timeout_s):
            return None
        if not self._future.done() or self._future.cancelled():
            return failed(
                FailureKind.ERROR, self._cancel_reason or "the executor cancelled it"
            )
        error = self._future.exception()
        if (
            error is not None
        ):  # errors of the simulation are results: this one is of the executor
            return failed(
                FailureKind.INFRASTRUCTURE, f"{type(error).__name__}: {error}"
            )
        return self._future.result()

    def cancel(self, reason: str) -> None:
        self._cancel_reason = self._cancel_reason or reason
        self._future.cancel()
        self._over.set()  # an executor that cannot cancel what runs is not waited for
