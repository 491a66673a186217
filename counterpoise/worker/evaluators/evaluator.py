"""The interface between a worker and what evaluates its jobs."""

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

from counterpoise.wire.codes import FailureKind
from counterpoise.wire.failure_message import part, summary
from counterpoise.wire.work import LARGEST, Failure, Job, ReportedFailure
from counterpoise.worker.simulation_api import to_floats

MESSAGE_TAIL = 4000  # characters of a traceback, and of printed output
LIMITS = f"a value is a finite number of at most {LARGEST:g}"


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """A value, or a failure with a one-line summary for the log."""

    value: float | None = None
    also: dict[str, float] = field(default_factory=dict)
    failure: Failure | None = None
    duration_s: float = 0.0
    metadata: dict[str, Any] | None = None
    summary: str = ""


class Evaluation(Protocol):
    """A running evaluation."""

    def wait(self, timeout_s: float | None) -> EvaluationResult | None:
        """The result; None if there is none after this time. Called from one thread."""

    def cancel(self, reason: str) -> None:
        """End it: a wait, present or following, returns quickly.

        From any thread, any number of times.
        """


class Evaluator(Protocol):
    def start(self, slot: int, job: Job) -> Evaluation:
        """Begin, without waiting. At most one evaluation runs in a slot."""

    def close(self) -> None:
        """End all evaluations."""


class CheckedEvaluator(Evaluator, Protocol):
    def check(self) -> None:
        """Raises, with the reason, if it cannot evaluate anything."""


def result_of(
    returned: Any,
    job: Job,
    *,
    duration_s: float = 0.0,
    metadata: dict[str, Any] | None = None,
    printed: str = "",
) -> EvaluationResult:
    """The result of a job from a returned number, or numbers by name.

    Names of other objectives are ignored.
    """

    def error(message: str) -> EvaluationResult:
        return failed(FailureKind.ERROR, message, printed, duration_s=duration_s)

    try:
        numbers = to_floats(returned)
    except TypeError as fault:
        return error(f"{job.objective!r} returned {fault}")
    values = numbers if isinstance(numbers, dict) else {job.objective: numbers}
    if job.objective not in values:
        names = ", ".join(map(repr, values)) or "nothing"
        return error(f"no value of {job.objective!r} was returned, only {names}")
    value = values[job.objective]
    if not _is_storable(value):
        return error(f"{job.objective!r} is {value!r}; {LIMITS}")
    also = {
        name: values[name]
        for name in job.also
        if _is_storable(values.get(name, math.nan))
    }
    return EvaluationResult(value, also, duration_s=duration_s, metadata=metadata)


def _is_storable(value: float) -> bool:
    return math.isfinite(value) and abs(value) <= LARGEST


def failed(
    kind: ReportedFailure,
    message: str,
    printed: str = "",
    *,
    duration_s: float = 0.0,
    metadata: dict[str, Any] | None = None,
) -> EvaluationResult:
    """A failure. Its message ends with the end of the printed output, its summary is
    the last line before that.
    """
    text = message[-MESSAGE_TAIL:]
    if printed.strip():
        text += part("printed", printed[-MESSAGE_TAIL:])
    return EvaluationResult(
        failure=Failure(kind=kind, message=text),
        duration_s=duration_s,
        metadata=metadata,
        summary=summary(text),
    )
