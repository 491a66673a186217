"""What one transaction changes in one study, collected before it is written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.domain.jobs import Job
from app.domain.samples import Evaluation
from counterpoise.wire.codes import EventKind, FailureKind, JobState, Outcome
from counterpoise.wire.specification import Output

# Outputs by id
Limited = Mapping[int, Output]


@dataclass(frozen=True, slots=True)
class JobChange:
    """A job's next state; fields that are not given are cleared."""

    job: Job
    state: JobState
    lease: str | None = None
    lease_s: float | None = None  # for how long the lease runs from now
    # After which a job that returned to ready may be leased
    backoff_s: float | None = None
    errors: int = 0
    losses: int = 0

    @property
    def opened(self) -> int:
        """1 if it makes a settled job open again, -1 if it settles an open one."""
        return int(self.job.state.is_settled) - int(self.state.is_settled)

    @property
    def held_back(self) -> int:
        """1 if it makes the job wait, -1 if the job waits no longer."""
        return int(self.state is JobState.WAITING) - int(
            self.job.state is JobState.WAITING
        )


@dataclass(frozen=True, slots=True)
class Result:
    """A value of one output of a sample, or its final failure.

    It takes a number of the study's sequence.
    """

    sample: int
    objective: int
    value: float | None = None
    failure: FailureKind | None = None
    duration_s: float | None = None
    of_job: bool = True  # False: imported without a job, so that no job is counted

    @property
    def state(self) -> JobState:
        """The state of a job that ends with this result."""
        if self.failure is None:
            return JobState.DONE
        if self.failure is FailureKind.INFEASIBLE:
            return JobState.INFEASIBLE
        return JobState.FAILED


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """How an attempt ended; `outcome` None reopens it."""

    lease: str
    outcome: Outcome | None
    value: float | None = None
    failure: FailureKind | None = None
    message: str | None = None
    duration_s: float | None = None
    details: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Event:
    kind: EventKind
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ChangeSet:
    """All that one transaction changes in one study."""

    jobs: list[JobChange] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    attempts: list[AttemptEnd] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)  # besides those of the results
    # Objective; expired, late or duplicate
    anomalies: list[tuple[int, Outcome]] = field(default_factory=list)
    # Outputs whose limits rule a sample out as soon as a value breaks one
    limited: Limited = field(default_factory=dict)
    # Samples that leave an infeasible result, but are ruled out by another one
    still_ruled_out: set[int] = field(default_factory=set)

    @property
    def makes_jobs_ready(self) -> bool:
        return any(change.state is JobState.READY for change in self.jobs)

    @property
    def supersedes_jobs(self) -> bool:
        return any(change.state is JobState.SUPERSEDED for change in self.jobs)

    @property
    def may_make_steps_due(self) -> bool:
        """Also without a result: a withdrawn sample frees its place in the batch."""
        return bool(self.results) or self.supersedes_jobs

    @property
    def ended_leases(self) -> list[str]:
        return [end.lease for end in self.attempts]

    @property
    def infeasible_samples(self) -> set[int]:
        """Samples that a result of this change set rules out."""
        return {result.sample for result in self.results if self.rules_out(result)}

    @property
    def samples_leaving_infeasible(self) -> set[int]:
        """Samples with a job that leaves its infeasible result: retried, or a late value."""
        return {change.job.sample for change in self.leaving_infeasible}

    @property
    def leaving_infeasible(self) -> list[JobChange]:
        return [
            change
            for change in self.jobs
            if change.job.state is JobState.INFEASIBLE
            and change.state is not JobState.INFEASIBLE
        ]

    def rules_out(self, result: Result | Evaluation) -> bool:
        """Whether the result is infeasible, or breaks a limit."""
        if result.failure is FailureKind.INFEASIBLE:
            return True
        output = self.limited.get(result.objective)
        if output is None or result.value is None:
            return False
        return not output.keeps_limits(result.value)


def supersede(jobs: Iterable[Job]) -> list[JobChange]:
    return [
        JobChange(job, JobState.SUPERSEDED, errors=job.errors, losses=job.losses)
        for job in jobs
    ]
