"""What a result of one run does to the other jobs of its sample."""

from app.domain.jobs import Job
from app.domain.studies import co_objectives_of
from app.domain.work.changes import ChangeSet, JobChange, Result
from app.domain.work.sample_rules import (
    change_other_jobs,
    runs_that_wait,
    samples_with_affected_jobs,
)
from counterpoise.wire.codes import EventKind, FailureKind, JobState
from counterpoise.wire.specification import Specification
from tests.domain.records import OBJECTIVES, SPEC, job, objective, study

WITH_RUNS = co_objectives_of(OBJECTIVES)  # lift (2) comes with mass (1)


def other(state: JobState, **changes: object) -> Job:
    """The job of crash (3) of the sample whose mass is told."""
    fields = {"id": 9, "objective": 3, "state": state, "lease": None, "sample_open": 3}
    return job(**(fields | changes))


def infeasible() -> ChangeSet:
    changes = ChangeSet([JobChange(job(sample_open=3), JobState.INFEASIBLE)])
    changes.results = [Result(5, 1, failure=FailureKind.INFEASIBLE)]
    return changes


def states(changes: ChangeSet) -> dict[int, JobState]:
    return {change.job.id: change.state for change in changes.jobs}


def test_jobs_that_no_worker_has_are_withdrawn_from_an_infeasible_sample() -> None:
    for state in (JobState.READY, JobState.WAITING):
        changes = infeasible()
        assert samples_with_affected_jobs(changes) == {5}
        change_other_jobs(changes, [other(state)], WITH_RUNS)
        assert states(changes)[9] is JobState.SUPERSEDED
        (event,) = changes.events
        assert (event.kind, event.body) == (
            EventKind.WITHDRAWN,
            {"sample": 5, "jobs": 1},
        )


def test_a_job_of_another_sample_stays() -> None:
    changes = infeasible()
    change_other_jobs(changes, [other(JobState.READY, sample=6)], WITH_RUNS)
    assert 9 not in states(changes)
    assert changes.events == []


def test_a_slow_job_is_ready_when_the_last_cheap_run_is_settled() -> None:
    """Mass and lift are two outputs of one run; crash waits."""
    for outcome in (JobState.DONE, JobState.FAILED):
        last_cheap = job(sample_open=3, sample_waiting=1)
        changes = ChangeSet([JobChange(last_cheap, outcome)])
        assert samples_with_affected_jobs(changes) == {5}
        waiting = other(JobState.WAITING, sample_waiting=1)
        change_other_jobs(changes, [waiting], WITH_RUNS)
        assert states(changes)[9] is JobState.READY


def test_a_slow_job_waits_for_every_cheap_run() -> None:
    first_cheap = job(sample_open=4, sample_waiting=1)
    changes = ChangeSet([JobChange(first_cheap, JobState.DONE)])
    waiting = other(JobState.WAITING, sample_open=4, sample_waiting=1)
    change_other_jobs(changes, [waiting], WITH_RUNS)
    assert 9 not in states(changes)


def test_a_returned_job_affects_no_other() -> None:
    returned = ChangeSet([JobChange(job(sample_waiting=1), JobState.READY)])
    assert samples_with_affected_jobs(returned) == set()


def test_slow_runs_wait_if_declared_or_once_a_cheap_run_has_ruled_a_sample_out() -> (
    None
):
    cheap = objective(id=1, ratio=4.0)
    ruling_out = objective(id=1, ratio=4.0, infeasible=1)
    slow = objective(id=3, position=1, name="crash")

    def waiting(spec: Specification, first: object) -> frozenset[int]:
        return runs_that_wait(study(spec=spec), [first, slow])  # type: ignore[list-item]

    assert waiting(SPEC, cheap) == frozenset()
    assert waiting(SPEC, ruling_out) == {3}
    declared = SPEC.model_copy(update={"cheap_first": True})
    assert waiting(declared, cheap) == {3}
    never = SPEC.model_copy(update={"cheap_first": False})
    assert waiting(never, ruling_out) == frozenset()
    assert waiting(declared, objective(id=1)) == frozenset()  # nothing is cheap
