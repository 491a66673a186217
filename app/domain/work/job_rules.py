"""What a tell, a failure, an expiry, a release or a heartbeat does to a job.

Pure: rules add to a change set.

| the lease              | value                      | infeasible    | error, infrastructure   |
|------------------------|----------------------------|---------------|-------------------------|
| is current             | done                       | infeasible    | ready again, or failed  |
| expired, job not held  | done (late)                | infeasible    | attempt recorded only   |
| expired, job leased    | done, overtakes the other  | recorded only | recorded only           |
| expired, job done      | kept as a further attempt  | recorded only | recorded only           |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.domain.backoff import backoff
from app.domain.jobs import Attempt, Job
from app.domain.studies import Limits
from app.domain.work.changes import AttemptEnd, ChangeSet, JobChange, Result
from counterpoise.wire.codes import CancelReason, FailureKind, JobState, Outcome

FIRST_BACKOFF_S = 1.0
LONGEST_BACKOFF_S = 300.0


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker tells about its attempt: a value with those of co-objectives, or a
    failure.
    """

    lease: str
    value: float | None = None
    co_values: Mapping[int, float] = field(default_factory=dict)
    failure: FailureKind | None = None
    message: str | None = None
    duration_s: float | None = None
    details: dict[str, Any] | None = None

    def ended(self, outcome: Outcome) -> AttemptEnd:
        return AttemptEnd(
            lease=self.lease,
            outcome=outcome,
            value=self.value,
            failure=self.failure,
            message=self.message,
            duration_s=self.duration_s,
            details=self.details,
        )


def tell_value(
    changes: ChangeSet,
    job: Job,
    attempt: Attempt,
    report: Report,
    co_objectives: Sequence[int],
) -> tuple[Outcome, JobState]:
    """Record a value; if the job has one already, the first one stands.

    Returns the attempt's outcome and job state.
    """
    if job.state is JobState.DONE:
        outcome = Outcome.DUPLICATE
    else:
        outcome = Outcome.DONE if job.is_held_by(report.lease) else Outcome.LATE
    changes.attempts.append(report.ended(outcome))
    if outcome is not Outcome.DONE:
        changes.anomalies.append((job.objective, outcome))
    if outcome is Outcome.DUPLICATE:
        return outcome, job.state
    overtake(changes, job, by=report.lease)
    changes.jobs.append(_settled(job, JobState.DONE))
    # Negative after a clock was set back
    measured_s = attempt.age_s if attempt.age_s >= 0.0 else None
    duration_s = report.duration_s if report.duration_s is not None else measured_s
    changes.results.append(
        Result(job.sample, job.objective, report.value, duration_s=duration_s)
    )
    for co_objective in co_objectives:
        value = report.co_values.get(co_objective)
        failure = FailureKind.ERROR if value is None else None
        changes.results.append(Result(job.sample, co_objective, value, failure))
    return outcome, JobState.DONE


def tell_failure(
    changes: ChangeSet,
    job: Job,
    lease: str,
    kind: FailureKind,
    co_objectives: Sequence[int],
    limits: Limits,
) -> JobState:
    """Apply a failure; the caller ends the attempt. Returns the job's state."""
    change = _after_failure(job, lease, kind, limits)
    if change is None:
        return job.state
    changes.jobs.append(change)
    if change.state in (JobState.INFEASIBLE, JobState.FAILED):
        changes.results += failed_results(job, kind, co_objectives)
    return change.state


def _after_failure(
    job: Job, lease: str, kind: FailureKind, limits: Limits
) -> JobChange | None:
    is_current = job.is_held_by(lease)
    if kind is FailureKind.INFEASIBLE:
        # A waiting job is reported on by an import only
        not_held = job.state in (
            JobState.WAITING,
            JobState.READY,
            JobState.SUPERSEDED,
        )
        return _settled(job, JobState.INFEASIBLE) if is_current or not_held else None
    if not is_current:
        return None
    return (
        _after_error(job, limits)
        if kind is FailureKind.ERROR
        else _after_loss(job, limits)
    )


def expire(
    changes: ChangeSet,
    job: Job,
    co_objectives: Sequence[int],
    limits: Limits,
    timeout_s: float | None,
) -> None:
    """End the job's expired lease.

    A run that took all of its `timeout_s` counts as an error, as if its worker had told
    so; otherwise there was no sign of life, and it counts as a loss.
    """
    is_timeout = job.ran_until(timeout_s)
    change = _after_error(job, limits) if is_timeout else _after_loss(job, limits)
    changes.jobs.append(change)
    changes.attempts.append(AttemptEnd(job.lease or "", Outcome.EXPIRED))
    changes.anomalies.append((job.objective, Outcome.EXPIRED))
    if change.state is JobState.FAILED:
        kind = FailureKind.ERROR if is_timeout else FailureKind.LOST
        changes.results += failed_results(job, kind, co_objectives)


def release(changes: ChangeSet, job: Job, limits: Limits) -> None:
    """Return a job that its worker will not evaluate; counts nothing against it."""
    changes.jobs.append(_returned(job, limits, errors=job.errors, losses=job.losses))
    changes.attempts.append(AttemptEnd(job.lease or "", Outcome.RELEASED))


def cancel(
    changes: ChangeSet,
    job: Job,
    co_objectives: Sequence[int],
    limits: Limits,
    *,
    fail: bool,
) -> JobState:
    """End a run by hand: a loss, like an expiry, or with `fail` a failure for good."""
    change = _settled(job, JobState.FAILED) if fail else _after_loss(job, limits)
    changes.jobs.append(change)
    if job.lease is not None:
        changes.attempts.append(AttemptEnd(job.lease, Outcome.CANCELLED))
    if change.state is JobState.FAILED:
        kind = FailureKind.ERROR if fail else FailureKind.LOST
        changes.results += failed_results(job, kind, co_objectives)
    return change.state


def retry(changes: ChangeSet, job: Job) -> None:
    """Make a failed job ready, as if never tried."""
    changes.jobs.append(JobChange(job, JobState.READY))


def revive(changes: ChangeSet, job: Job, lease: str, lease_s: float) -> None:
    """Give a job back to the lease that had expired; the loss no longer counts."""
    losses = max(job.losses - 1, 0)
    revived = JobChange(
        job,
        JobState.LEASED,
        lease=lease,
        lease_s=lease_s,
        errors=job.errors,
        losses=losses,
    )
    changes.jobs.append(revived)
    changes.attempts.append(AttemptEnd(lease, None))


def overtake(changes: ChangeSet, job: Job, by: str | None = None) -> None:
    """End the attempt of a worker that still evaluates what is now known."""
    if job.lease is not None and job.lease != by:
        changes.attempts.append(AttemptEnd(job.lease, Outcome.OVERTAKEN))


def failed_results(
    job: Job, kind: FailureKind, co_objectives: Sequence[int]
) -> list[Result]:
    """A failure for each objective of a run that has failed for good."""
    return [
        Result(job.sample, objective, failure=kind)
        for objective in (job.objective, *co_objectives)
    ]


def may_revive(job: Job, attempt: Attempt, timeout_s: float | None) -> bool:
    """Whether an expired lease may go on: the job is free, and no later attempt was
    made.
    """
    is_last = attempt.number == job.attempts
    return (
        is_last and job.state is JobState.READY and is_wanted(job, attempt, timeout_s)
    )


def is_wanted(job: Job, attempt: Attempt, timeout_s: float | None) -> bool:
    """Whether an attempt whose lease expired should go on: its value is missing, and
    hours of work may be in it.
    """
    value_is_missing = job.state in (JobState.READY, JobState.LEASED, JobState.FAILED)
    has_expired = attempt.outcome is Outcome.EXPIRED
    return has_expired and value_is_missing and not _is_over(attempt, timeout_s)


def _is_over(attempt: Attempt, timeout_s: float | None) -> bool:
    return timeout_s is not None and attempt.age_s >= timeout_s


def loss_reason(job: Job, attempt: Attempt, timeout_s: float | None) -> CancelReason:
    """Why a worker no longer holds its lease."""
    if attempt.outcome is Outcome.CANCELLED:
        return CancelReason.CANCELLED
    if attempt.outcome not in (None, Outcome.EXPIRED):
        return CancelReason.LEASE_ENDED
    if job.sample_infeasible and job.state is JobState.SUPERSEDED:
        return CancelReason.SAMPLE_INFEASIBLE
    if job.state is JobState.READY and _is_over(attempt, timeout_s):
        return CancelReason.TIMEOUT
    return _LOSS_REASONS[job.state]


_LOSS_REASONS = {
    JobState.DONE: CancelReason.VALUE_KNOWN,
    JobState.LEASED: CancelReason.LEASED_TO_ANOTHER,
    JobState.INFEASIBLE: CancelReason.VALUE_KNOWN,
    JobState.FAILED: CancelReason.JOB_FAILED,
    JobState.SUPERSEDED: CancelReason.SUPERSEDED,
    JobState.READY: CancelReason.LEASE_EXPIRED,
    JobState.WAITING: CancelReason.LEASE_EXPIRED,
}


def _after_error(job: Job, limits: Limits) -> JobChange:
    errors = job.errors + 1
    if errors >= limits.max_attempts:
        return JobChange(job, JobState.FAILED, errors=errors, losses=job.losses)
    return _returned(job, limits, errors=errors, losses=job.losses)


def _after_loss(job: Job, limits: Limits) -> JobChange:
    """The lease expired, or the node or licence failed: not the simulation's fault, but
    not tried for ever.
    """
    losses = job.losses + 1
    if losses >= limits.max_losses:
        return JobChange(job, JobState.FAILED, errors=job.errors, losses=losses)
    return _returned(
        job,
        limits,
        errors=job.errors,
        losses=losses,
        backoff_s=backoff(FIRST_BACKOFF_S, losses - 1, LONGEST_BACKOFF_S),
    )


def _returned(
    job: Job,
    limits: Limits,
    *,
    errors: int,
    losses: int,
    backoff_s: float | None = None,
) -> JobChange:
    is_outdated = job.is_outdated(limits.step)
    if limits.is_stopped or is_outdated or job.sample_infeasible:
        return JobChange(job, JobState.SUPERSEDED, errors=errors, losses=losses)
    return JobChange(
        job, JobState.READY, errors=errors, losses=losses, backoff_s=backoff_s
    )


def _settled(job: Job, state: JobState) -> JobChange:
    return JobChange(job, state, errors=job.errors, losses=job.losses)
