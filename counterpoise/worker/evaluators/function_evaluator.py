"""Objectives that are Python functions: each slot has a process, so that a crash or
hang does not reach the worker.
"""

import json
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from counterpoise.child_processes import Guardian
from counterpoise.wire.codes import FailureKind
from counterpoise.wire.work import Job
from counterpoise.worker.evaluators.evaluation_process import EvaluationProcess
from counterpoise.worker.evaluators.evaluator import EvaluationResult, failed, result_of
from counterpoise.worker.evaluators.function_reference import (
    FunctionReference,
    FunctionUnusable,
)


class FunctionEvaluator:
    def __init__(
        self, functions: Mapping[str, FunctionReference], folder: Path | None = None
    ) -> None:
        """Modules are searched for in `folder` first, then in the path of this process."""
        path = [entry or str(Path.cwd()) for entry in sys.path]
        if folder is not None:
            path.insert(0, str(folder))
        references = {name: asdict(reference) for name, reference in functions.items()}
        self._first_message = json.dumps({"path": path, "functions": references})
        self._guardian = Guardian()
        self._processes: dict[int, EvaluationProcess] = {}  # by slot

    def check(self) -> None:
        """Load every function once, in the process of the first slot; FunctionUnusable
        if one cannot be loaded.
        """
        process = self._start_process(0)
        while (message := process.receive(None)) is None:
            pass
        if "load_error" in message:
            raise FunctionUnusable(message["load_error"])
        if "ended" in message:
            raise FunctionUnusable(f"{message['ended']}\n{process.output}".rstrip())

    def start(self, slot: int, job: Job) -> "FunctionEvaluation":
        process = self._processes.get(slot)
        if process is not None and not process.is_alive():
            process.close()
            process = None
        return FunctionEvaluation(process or self._start_process(slot), job)

    def close(self) -> None:
        for process in self._processes.values():
            process.close()
        self._guardian.close()

    def _start_process(self, slot: int) -> EvaluationProcess:
        process = EvaluationProcess(self._first_message, self._guardian)
        self._processes[slot] = process
        return process


class FunctionEvaluation:
    """A job in the process of its slot."""

    def __init__(self, process: EvaluationProcess, job: Job) -> None:
        self._process = process
        self._job = job
        self._began = time.monotonic()
        self._cancel_reason: str | None = None
        self._over = False
        self._lock = threading.Lock()
        process.discard_output()
        process.send(job.model_dump_json())

    def wait(self, timeout_s: float | None) -> EvaluationResult | None:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            message = self._process.receive(left_s)
            if message is not None and "ready" not in message:
                with self._lock:
                    self._over = True
                return self._result(message)
            if message is None and left_s == 0.0:
                return None

    def cancel(self, reason: str) -> None:
        with self._lock:
            if not self._over:  # otherwise the process may have begun another job
                self._cancel_reason = self._cancel_reason or reason
                self._process.kill()

    def _result(self, message: dict[str, Any]) -> EvaluationResult:
        output = self._process.output
        duration_s = float(message.get("duration_s", time.monotonic() - self._began))
        if "returned" in message:
            return result_of(
                message["returned"], self._job, duration_s=duration_s, printed=output
            )
        if "raised" in message:
            kind: Any = FailureKind(message["raised"])
            return failed(kind, message["message"], output, duration_s=duration_s)
        self._process.close()
        if "load_error" in message:  # it could be loaded when the worker began
            detail = f"the function cannot be loaded: {message['load_error']}"
            return failed(FailureKind.INFRASTRUCTURE, detail, output)
        return failed(
            FailureKind.ERROR,
            self._cancel_reason or message["ended"],
            output,
            duration_s=duration_s,
        )
