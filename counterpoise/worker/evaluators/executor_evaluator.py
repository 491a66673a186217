"""Evaluations elsewhere: a local evaluator's work, done wherever a `concurrent.futures.Executor` does it."""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Protocol

from counterpoise.wire.work import Job
from counterpoise.worker.evaluators.evaluator import Evaluator, Outcome, Running, failed

LOOK_S = 0.5


class ClusterUnusable(Exception):
    """Said before any job is taken."""


class LocalEvaluator(Evaluator, Protocol):
    def check(self) -> None:
        """Raises, and says why, where it cannot evaluate anything."""


def check_there(recipe: Callable[[], LocalEvaluator]) -> str | None:
    """What is wrong."""
    evaluator = recipe()
    try:
        evaluator.check()
    except Exception as error:  # noqa: BLE001  (in words: over here, its class may not be known)
        return str(error)
    finally:
        evaluator.close()
    return None


def evaluate_there(recipe: Callable[[], LocalEvaluator], wanted: Callable[[], bool], job: Job) -> Outcome:
    """Runs where the executor runs things; ends what nobody waits for any more."""
    evaluator = recipe()
    try:
        running = evaluator.start(0, job)
        while (outcome := running.wait(LOOK_S)) is None:
            if not wanted():
                running.cancel("nobody waits for it any more")
        return outcome
    finally:
        evaluator.close()


class ExecutorEvaluator:
    """`recipe` makes a local evaluator and `wanted` says whether its work still matters: both are called over there."""

    def __init__(self, executor: Executor, recipe: Callable[[], LocalEvaluator], wanted: Callable[[], bool]) -> None:
        self._executor, self._recipe, self._wanted = executor, recipe, wanted

    def check(self) -> None:
        """Over there; waits until there is a place to do it."""
        try:
            wrong = self._executor.submit(check_there, self._recipe).result()
        except Exception as error:  # noqa: BLE001  (whatever the machinery says, nothing can be evaluated with it)
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            raise ClusterUnusable(f"the cluster cannot evaluate this: {wrong}")

    def start(self, slot: int, job: Job) -> Running:  # noqa: ARG002  (the executor has slots of its own)
        return _Running(self._executor.submit(evaluate_there, self._recipe, self._wanted, job))

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


class _Running:
    def __init__(self, future: "Future[Outcome]") -> None:
        self._future = future
        self._cancelled: str | None = None
        self._over = threading.Event()
        future.add_done_callback(lambda _: self._over.set())

    def wait(self, timeout_s: float | None) -> Outcome | None:
        if not self._over.wait(timeout_s):
            return None
        if not self._future.done() or self._future.cancelled():
            return failed("error", self._cancelled or "the executor cancelled it")
        error = self._future.exception()
        if error is not None:  # the simulation's own errors are outcomes: this is one of the machinery
            return failed("infrastructure", f"{type(error).__name__}: {error}")
        return self._future.result()

    def cancel(self, why: str) -> None:
        self._cancelled = self._cancelled or why
        self._future.cancel()
        self._over.set()  # what runs in an executor that cannot cancel is left to itself
