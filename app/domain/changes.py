"""What one transaction changes in one study, put together before it is written."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

UNSETTLED = ("ready", "leased")


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as it is in the database, read under the study's lock."""

    id: int
    objective: int
    sample: int
    cheap_only: bool
    step: int
    state: str
    lease: str | None
    attempts: int
    errors: int
    losses: int


@dataclass(frozen=True, slots=True)
class Change:
    """A job's next state; what is not said becomes empty."""

    job: JobRow
    state: str
    lease: str | None = None
    lease_s: float | None = None  # a lease runs so long from now
    backoff_s: float | None = None  # a job returned to ready may be leased again after so long
    errors: int = 0
    losses: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """A value of a sample's objective, or a failure for good: what takes a number of the study's sequence."""

    sample: int
    objective: int
    value: float | None = None
    failure: str | None = None
    duration_s: float | None = None
    of_job: bool = True  # False: imported without one, so no job's counters change


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt ended; `outcome` None opens it again."""

    lease: str
    outcome: str | None
    value: float | None = None
    failure: str | None = None
    message: str | None = None
    duration_s: float | None = None
    details: dict[str, Any] | None = None


@dataclass(slots=True)
class Ledger:
    """All that one transaction changes in one study, to be written in a constant number of statements."""

    changes: list[Change] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # besides those of the results
    mishaps: list[tuple[int, str]] = field(default_factory=list)  # objective; expired, late or duplicate


def superseded(found: Sequence[JobRow]) -> list[Change]:
    return [Change(job, "superseded", errors=job.errors, losses=job.losses) for job in found]
