"""What a tell, a failure, an expiry, a release or a heartbeat does to a job."""

import pytest

from app.domain.studies import Limits
from app.domain.work import job_rules
from app.domain.work.changes import AttemptEnd, ChangeSet, JobChange, Result
from app.domain.work.job_rules import (
    Report,
    is_wanted,
    loss_reason,
    may_revive,
)
from counterpoise.wire.codes import CancelReason, FailureKind, JobState, Outcome
from tests.domain.records import LIMITS, attempt, job

STOPPED = Limits(max_attempts=3, max_losses=10, step=4, is_stopped=True)
VALUE = Report("mine", value=2.5, co_values={2: 0.3}, duration_s=4.0)


def test_a_value_on_the_current_lease_settles_the_run() -> None:
    changes = ChangeSet()
    assert job_rules.tell_value(
        changes, job(errors=1, losses=2), attempt(), VALUE, [2]
    ) == (
        Outcome.DONE,
        JobState.DONE,
    )
    assert changes.jobs == [
        JobChange(job(errors=1, losses=2), JobState.DONE, errors=1, losses=2)
    ]
    assert changes.results == [Result(5, 1, 2.5, duration_s=4.0), Result(5, 2, 0.3)]
    assert changes.attempts == [
        AttemptEnd("mine", Outcome.DONE, value=2.5, duration_s=4.0)
    ]
    assert changes.anomalies == []


def test_a_missing_co_value_is_an_error_of_its_objective() -> None:
    changes = ChangeSet()
    job_rules.tell_value(changes, job(), attempt(), Report("mine", value=1.0), [2])
    assert changes.results[1] == Result(5, 2, None, FailureKind.ERROR)


@pytest.mark.parametrize(("age_s", "expected"), [(12.5, 12.5), (-1.0, None)])
def test_without_a_duration_the_age_of_the_lease_counts(
    age_s: float, expected: float | None
) -> None:
    changes = ChangeSet()
    job_rules.tell_value(
        changes, job(), attempt(age_s=age_s), Report("mine", value=1.0), []
    )
    assert changes.results[0].duration_s == expected


def test_a_late_value_ends_the_attempt_of_the_worker_that_has_the_job_now() -> None:
    changes = ChangeSet()
    held = job(lease="other", attempts=2)
    outcome, state = job_rules.tell_value(changes, held, attempt(), VALUE, [2])
    assert (outcome, state) == (Outcome.LATE, JobState.DONE)
    assert [(end.lease, end.outcome) for end in changes.attempts] == [
        ("mine", Outcome.LATE),
        ("other", Outcome.OVERTAKEN),
    ]
    assert changes.anomalies == [(1, Outcome.LATE)]


@pytest.mark.parametrize(
    "state", [JobState.READY, JobState.FAILED, JobState.SUPERSEDED]
)
def test_a_late_value_is_used_while_the_job_has_none(state: JobState) -> None:
    changes = ChangeSet()
    outcome, after = job_rules.tell_value(
        changes, job(state=state, lease=None), attempt(), VALUE, [2]
    )
    assert (outcome, after, len(changes.results)) == (Outcome.LATE, JobState.DONE, 2)


def test_a_second_value_is_kept_as_an_attempt_only() -> None:
    changes = ChangeSet()
    outcome, state = job_rules.tell_value(
        changes, job(state=JobState.DONE, lease=None), attempt(), VALUE, [2]
    )
    assert (outcome, state) == (Outcome.DUPLICATE, JobState.DONE)
    assert (changes.jobs, changes.results) == ([], [])
    assert changes.anomalies == [(1, Outcome.DUPLICATE)]


@pytest.mark.parametrize(
    ("kind", "changes_before", "expected", "final"),
    [
        (FailureKind.ERROR, {}, JobState.READY, False),
        (FailureKind.ERROR, {"errors": 2}, JobState.FAILED, True),  # max_attempts 3
        (FailureKind.INFRASTRUCTURE, {"errors": 2}, JobState.READY, False),
        (
            FailureKind.INFRASTRUCTURE,
            {"losses": 9},
            JobState.FAILED,
            True,
        ),  # max_losses 10
        (FailureKind.INFEASIBLE, {}, JobState.INFEASIBLE, True),
        (
            FailureKind.INFEASIBLE,
            {"state": JobState.READY, "lease": None},
            JobState.INFEASIBLE,
            True,
        ),
        (
            FailureKind.INFEASIBLE,
            {"state": JobState.SUPERSEDED, "lease": None},
            JobState.INFEASIBLE,
            True,
        ),
        # The lease is no longer current: only the attempt is recorded.
        (FailureKind.INFEASIBLE, {"lease": "other"}, JobState.LEASED, False),
        (
            FailureKind.INFEASIBLE,
            {"state": JobState.DONE, "lease": None},
            JobState.DONE,
            False,
        ),
        (
            FailureKind.INFEASIBLE,
            {"state": JobState.FAILED, "lease": None},
            JobState.FAILED,
            False,
        ),
        (FailureKind.ERROR, {"lease": "other"}, JobState.LEASED, False),
        (
            FailureKind.ERROR,
            {"state": JobState.READY, "lease": None},
            JobState.READY,
            False,
        ),
        (
            FailureKind.INFRASTRUCTURE,
            {"state": JobState.DONE, "lease": None},
            JobState.DONE,
            False,
        ),
        # A cheap-only job of an earlier step does not return to ready.
        (
            FailureKind.ERROR,
            {"cheap_only": True, "step": 3},
            JobState.SUPERSEDED,
            False,
        ),
        (FailureKind.ERROR, {"cheap_only": True, "step": 4}, JobState.READY, False),
    ],
)
def test_failures(
    kind: FailureKind,
    changes_before: dict[str, object],
    expected: JobState,
    final: bool,
) -> None:
    changes = ChangeSet()
    state = job_rules.tell_failure(
        changes, job(**changes_before), "mine", kind, [2], LIMITS
    )
    assert state is expected
    assert changes.results == (
        [Result(5, 1, failure=kind), Result(5, 2, failure=kind)] if final else []
    )


def test_lost_jobs_back_off_and_failed_ones_do_not() -> None:
    changes = ChangeSet()
    job_rules.tell_failure(
        changes, job(losses=2), "mine", FailureKind.INFRASTRUCTURE, [], LIMITS
    )
    job_rules.tell_failure(changes, job(), "mine", FailureKind.ERROR, [], LIMITS)
    assert [change.backoff_s for change in changes.jobs] == [4.0, None]


def test_an_expired_lease_returns_its_job_and_counts_a_loss() -> None:
    changes = ChangeSet()
    job_rules.expire(changes, job(), [2], LIMITS, timeout_s=None)
    assert changes.jobs == [JobChange(job(), JobState.READY, losses=1, backoff_s=1.0)]
    assert changes.attempts == [AttemptEnd("mine", Outcome.EXPIRED)]
    assert changes.anomalies == [(1, Outcome.EXPIRED)]
    assert changes.results == []


def test_too_many_losses_fail_all_objectives_of_the_run() -> None:
    changes = ChangeSet()
    job_rules.expire(changes, job(losses=9), [2], LIMITS, timeout_s=61.0)
    assert changes.results == [
        Result(5, 1, failure=FailureKind.LOST),
        Result(5, 2, failure=FailureKind.LOST),
    ]


def test_a_run_that_takes_all_of_its_time_limit_counts_an_error() -> None:
    """Leased at 40 with a deadline of 100: a limit of 60 s is used up, 61 s are not."""
    changes = ChangeSet()
    job_rules.expire(changes, job(errors=1, losses=2), [2], LIMITS, timeout_s=60.0)
    job_rules.expire(changes, job(errors=2), [2], LIMITS, timeout_s=60.0)
    job_rules.expire(changes, job(errors=2), [2], LIMITS, timeout_s=61.0)
    counts = [(each.state, each.errors, each.losses) for each in changes.jobs]
    assert counts == [
        (JobState.READY, 2, 2),
        (JobState.FAILED, 3, 0),
        (JobState.READY, 2, 1),
    ]
    assert changes.results == [
        Result(5, 1, failure=FailureKind.ERROR),
        Result(5, 2, failure=FailureKind.ERROR),
    ]


def test_a_release_counts_nothing() -> None:
    changes = ChangeSet()
    job_rules.release(changes, job(errors=1, losses=3), LIMITS)
    assert changes.jobs == [
        JobChange(job(errors=1, losses=3), JobState.READY, errors=1, losses=3)
    ]


def test_jobs_of_a_stopped_study_do_not_return_to_ready() -> None:
    changes = ChangeSet()
    job_rules.release(changes, job(), STOPPED)
    job_rules.expire(changes, job(), [], STOPPED, timeout_s=None)
    assert [change.state for change in changes.jobs] == [
        JobState.SUPERSEDED,
        JobState.SUPERSEDED,
    ]


def test_a_revived_lease_takes_its_loss_back() -> None:
    changes = ChangeSet()
    ready = job(state=JobState.READY, lease=None, losses=2)
    job_rules.revive(changes, ready, "mine", 60.0)
    assert changes.jobs == [
        JobChange(ready, JobState.LEASED, lease="mine", lease_s=60.0, losses=1)
    ]
    assert changes.attempts == [AttemptEnd("mine", None)]


EXPIRED = attempt(outcome=Outcome.EXPIRED, ended_at=60.0)
READY = job(state=JobState.READY, lease=None)


def test_only_the_last_attempt_of_a_free_job_is_revived_and_only_in_time() -> None:
    assert may_revive(READY, EXPIRED, None)
    assert may_revive(READY, EXPIRED, timeout_s=12.6)
    assert not may_revive(READY, EXPIRED, timeout_s=12.5)
    assert not may_revive(
        job(state=JobState.READY, lease=None, attempts=2), EXPIRED, None
    )
    assert not may_revive(job(lease="other", attempts=1), EXPIRED, None)
    assert not may_revive(READY, attempt(outcome=Outcome.RELEASED, ended_at=60.0), None)


@pytest.mark.parametrize(
    ("state", "wanted", "reason"),
    [
        (JobState.READY, True, CancelReason.LEASE_EXPIRED),
        (JobState.LEASED, True, CancelReason.LEASED_TO_ANOTHER),
        (JobState.FAILED, True, CancelReason.JOB_FAILED),
        (JobState.DONE, False, CancelReason.VALUE_KNOWN),
        (JobState.SUPERSEDED, False, CancelReason.SUPERSEDED),
    ],
)
def test_an_expired_attempt_goes_on_while_the_value_is_missing(
    state: JobState, wanted: bool, reason: CancelReason
) -> None:
    lost = job(state=state, lease="other" if state is JobState.LEASED else None)
    assert is_wanted(lost, EXPIRED, None) is wanted
    assert loss_reason(lost, EXPIRED, None) is reason
    done = attempt(outcome=Outcome.DONE)
    assert loss_reason(lost, done, None) is CancelReason.LEASE_ENDED


@pytest.mark.parametrize("state", [JobState.WAITING, JobState.READY])
def test_a_job_that_no_worker_has_becomes_infeasible(state: JobState) -> None:
    changes = ChangeSet()
    free = job(state=state, lease=None)
    job_rules.tell_failure(changes, free, "", FailureKind.INFEASIBLE, (), LIMITS)
    assert changes.jobs == [JobChange(free, JobState.INFEASIBLE)]


def test_a_lease_that_expired_at_the_time_limit_is_reported_as_such() -> None:
    assert loss_reason(READY, EXPIRED, timeout_s=12.5) is CancelReason.TIMEOUT
    assert loss_reason(READY, EXPIRED, timeout_s=12.6) is CancelReason.LEASE_EXPIRED
