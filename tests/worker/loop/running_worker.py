"""A worker's loop in a thread, with evaluations that end when the test ends them."""

import io
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from counterpoise.wire.codes import FailureKind
from counterpoise.wire.work import Job
from counterpoise.worker.evaluators.evaluator import EvaluationResult, failed
from counterpoise.worker.loop import WorkerLoop
from tests.e2e.processes import PATIENCE_S, eventually
from tests.worker.fake_server import FakeServer

ASK_FAILED = "asking for jobs failed"

TELL_FAILED = "telling results failed"


@dataclass(eq=False)
class HeldEvaluation:
    """Lasts until the test sets `over`."""

    job: Job
    over: threading.Event = field(default_factory=threading.Event)
    result: EvaluationResult = field(
        default_factory=lambda: EvaluationResult(1.0, duration_s=0.5)
    )
    cancel_reasons: list[str] = field(default_factory=list)

    def wait(self, timeout_s: float | None) -> EvaluationResult | None:
        return self.result if self.over.wait(timeout_s) else None

    def cancel(self, reason: str) -> None:
        if not self.over.is_set():
            self.cancel_reasons.append(reason)
            self.result = failed(FailureKind.ERROR, reason)
            self.over.set()


@dataclass
class HeldEvaluator:
    at_once: bool = False  # evaluations end at once
    fault: Exception | None = None
    started: list[HeldEvaluation] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)

    def start(self, slot: int, job: Job) -> HeldEvaluation:
        if self.fault is not None:
            raise self.fault
        evaluation = HeldEvaluation(job)
        if self.at_once:
            evaluation.over.set()
        self.started.append(evaluation)
        self.slots.append(slot)
        return evaluation

    def close(self) -> None:
        pass

    def first(self) -> HeldEvaluation:
        return eventually(lambda: self.started, "the job")[0]


@dataclass
class RunningWorker:
    server: FakeServer
    evaluator: HeldEvaluator
    loop: WorkerLoop
    thread: threading.Thread
    failures: list[Exception]
    log: io.StringIO

    def join(self) -> None:
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()

    def await_log(self, event: str) -> None:
        eventually(lambda: event in self.log.getvalue(), event)

    def log_lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


Run = Callable[..., Any]
