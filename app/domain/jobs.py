"""Jobs and the attempts at them."""

from dataclasses import dataclass
from typing import Any

from counterpoise.wire.codes import FailureKind, JobState, Outcome


@dataclass(frozen=True, slots=True)
class Job:
    """One run of one sample, read under the study's lock if it is to be changed."""

    id: int
    study: int
    objective: int
    sample: int
    cheap_only: bool
    step: int  # the search step that proposed it; 0 in the initial phase
    state: JobState
    lease: str | None
    leased_at: float | None
    expires_at: float | None
    ready_at: float | None  # set while the job backs off
    attempts: int
    errors: int
    losses: int
    # Of its sample:
    sample_open: int  # outputs not settled
    sample_waiting: int  # those of them whose jobs wait for the cheap runs
    sample_planned: bool  # a full sample that counts towards the budget
    sample_infeasible: bool

    def is_held_by(self, lease: str) -> bool:
        return self.state is JobState.LEASED and self.lease == lease

    def is_outdated(self, step: int) -> bool:
        """Whether it is a cheap-only job of a search step before this one."""
        return self.cheap_only and self.step < step

    def ran_until(self, timeout_s: float | None) -> bool:
        """Whether its lease was extended to the time limit of a run."""
        if timeout_s is None or self.leased_at is None or self.expires_at is None:
            return False
        return self.expires_at >= self.leased_at + timeout_s


@dataclass(frozen=True, slots=True)
class Attempt:
    """One lease's history."""

    job: int
    number: int
    lease: str
    worker: int
    leased_at: float
    ended_at: float | None
    outcome: Outcome | None  # None while it runs
    value: float | None
    failure: FailureKind | None
    message: str | None
    duration_s: float | None
    details: dict[str, Any] | None
    age_s: float  # since the lease was given, in database time

    @property
    def also(self) -> dict[str, float]:
        """Values of co-objectives, as told.

        As floats: a database may return 1e23 as an integer.
        """
        values = (self.details or {}).get("also", {})
        return {name: float(value) for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Lease:
    """A job handed to a worker until a deadline."""

    job: int
    lease: str
    study: int
    objective: int
    sample: int
    attempt: int
    expires_at: float
    x: list[float]


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """Up to `limit` jobs from the heads of some queues (objective ids), in the order
    given.
    """

    queues: list[int]
    limit: int
