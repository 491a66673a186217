"""The seam between the worker's loop and whatever evaluates: functions, commands, clusters."""

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

from counterpoise.wire.work import LARGEST, Failure, Job, ReportedFailure
from counterpoise.worker.simulation_api import numbers_of

MESSAGE_TAIL = 4000  # characters of a traceback, and of what was printed


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an evaluation ended: a value, or a failure."""

    value: float | None = None
    also: dict[str, float] = field(default_factory=dict)
    failure: Failure | None = None
    duration_s: float = 0.0
    metadata: dict[str, Any] | None = None


class Running(Protocol):
    """One evaluation under way."""

    def wait(self, timeout_s: float | None) -> Outcome | None:
        """The outcome; None if it is not there after so long. Called from one thread."""

    def cancel(self, why: str) -> None:
        """End it for certain: a wait, present or following, returns quickly. From any thread, any number of times."""


class Evaluator(Protocol):
    def start(self, slot: int, job: Job) -> Running:
        """Begin, without waiting. At most one evaluation runs in a slot."""

    def close(self) -> None:
        """End whatever still runs."""


def outcome_of(
    returned: Any, job: Job, *, duration_s: float = 0.0, metadata: dict[str, Any] | None = None, printed: str = ""
) -> Outcome:
    """A returned number, or numbers by name, as the job's outcome. Other names are for other jobs, and are left out."""
    try:
        numbers = numbers_of(returned)
    except TypeError as error:
        return failed("error", f"{job.objective!r} returned {error}", printed, duration_s=duration_s)
    values = numbers if isinstance(numbers, dict) else {job.objective: numbers}
    if job.objective not in values:
        has = ", ".join(map(repr, values)) or "nothing"
        return failed(
            "error", f"no value of {job.objective!r} was returned, only {has}", printed, duration_s=duration_s
        )
    value = values[job.objective]
    if not _storable(value):
        return failed("error", f"{job.objective!r} is {value!r}; {LIMITS}", printed, duration_s=duration_s)
    also = {name: values[name] for name in job.also if name in values and _storable(values[name])}
    return Outcome(value, also, None, duration_s, metadata)


LIMITS = f"a value is a finite number of at most {LARGEST:g}"


def _storable(value: float) -> bool:
    return math.isfinite(value) and abs(value) <= LARGEST


def failed(
    kind: ReportedFailure,
    what: str,
    printed: str = "",
    *,
    duration_s: float = 0.0,
    metadata: dict[str, Any] | None = None,
) -> Outcome:
    """A failure whose message ends with the last of what was printed."""
    message = what[-MESSAGE_TAIL:]
    if printed.strip():
        message += f"\n--- printed ---\n{printed[-MESSAGE_TAIL:]}"
    return Outcome(failure=Failure(kind=kind, message=message), duration_s=duration_s, metadata=metadata)
