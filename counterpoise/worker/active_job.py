"""A job that this worker holds: its lease, what evaluates it, and why it was ended early."""

import threading
import time
from dataclasses import dataclass, field
from typing import Literal

from counterpoise.wire.work import Job
from counterpoise.worker.evaluators.evaluator import Evaluator, Outcome, Running, failed

EndReason = Literal["timeout", "cancelled", "stopped"]
ENDING_S = 30.0  # an evaluator that cannot end what it runs is not waited for


@dataclass(eq=False, slots=True)
class Held:
    job: Job
    limit_s: float | None
    began: float = field(default_factory=time.monotonic)
    reason: EndReason | None = None
    why: str = ""
    _running: Running | None = None
    _over: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def evaluate(self, evaluator: Evaluator, slot: int) -> Outcome:
        try:
            running = evaluator.start(slot, self.job)
        except Exception as error:  # noqa: BLE001  whatever it is, this node cannot evaluate now
            return failed("infrastructure", f"the evaluation cannot be started: {error!r}")
        with self._lock:
            self._running = running
        if self.reason is not None:  # it was ended while it was being started
            running.cancel(self.why)
        outcome = running.wait(None if self.limit_s is None else self.limit_s - (time.monotonic() - self.began))
        if outcome is None:
            self.end("timeout", f"timeout: still running after {self.limit_s:g} s")
            outcome = running.wait(ENDING_S)
        with self._lock:
            self._over = True
        return outcome or failed("error", f"{self.why}; it could not be ended")

    def end(self, reason: EndReason, why: str) -> None:
        """From any thread; the first reason stands, and none does once the outcome is there."""
        with self._lock:
            if self._over:
                return
            if self.reason is None:
                self.reason, self.why = reason, why
            running = self._running
        if running is not None:
            running.cancel(self.why)
