"""Counters that a change set moves, computed by hand."""

from app.domain.changes import ChangeSet, JobChange, Result, supersede
from app.domain.counting import growth
from app.domain.studies import co_objectives_of
from counterpoise.wire.codes import FailureKind, JobState, Outcome
from tests.domain.records import OBJECTIVES, job

# Lift (2) comes with mass (1); crash (3) has jobs of its own
WITH_RUNS = co_objectives_of(OBJECTIVES)


def test_a_run_with_a_co_objective_settles_two_outputs() -> None:
    changes = ChangeSet([JobChange(job(sample_open=3), JobState.DONE)])
    changes.results = [Result(5, 1, 1.0), Result(5, 2, failure=FailureKind.ERROR)]
    grown = growth(changes, WITH_RUNS)
    assert grown.samples == {5: -2}
    assert grown.settled_full == 0  # crash is still open
    assert {name: count for name, count in grown.objectives[1].items() if count} == {
        "open_full": -1,
        "leased": -1,
        "done": 1,
    }
    assert {name: count for name, count in grown.objectives[2].items() if count} == {
        "failed": 1
    }


def test_the_last_output_settles_a_planned_sample() -> None:
    last = job(objective=3, sample_open=1)
    assert (
        growth(ChangeSet([JobChange(last, JobState.DONE)]), WITH_RUNS).settled_full == 1
    )
    assert (
        growth(ChangeSet([JobChange(last, JobState.FAILED)]), WITH_RUNS).settled_full
        == 1
    )
    assert (
        growth(ChangeSet([JobChange(last, JobState.READY)]), WITH_RUNS).settled_full
        == 0
    )
    imported = job(objective=3, sample_open=1, sample_planned=False)
    assert (
        growth(ChangeSet([JobChange(imported, JobState.DONE)]), WITH_RUNS).settled_full
        == 0
    )


def test_both_runs_of_a_sample_in_one_change_set_settle_it_once() -> None:
    changes = ChangeSet(
        [
            JobChange(job(id=n, objective=n, sample_open=3), JobState.DONE)
            for n in (1, 3)
        ]
    )
    assert growth(changes, WITH_RUNS).settled_full == 1


def test_a_retried_job_opens_its_sample_again() -> None:
    failed = job(state=JobState.FAILED, lease=None, sample_open=0)
    grown = growth(ChangeSet([JobChange(failed, JobState.READY)]), WITH_RUNS)
    assert (grown.samples, grown.settled_full) == ({5: 2}, -1)
    assert (grown.objectives[1]["failed"], grown.objectives[1]["open_full"]) == (-1, 1)
    assert grown.objectives[2]["failed"] == -1


def test_a_superseded_full_job_withdraws_its_sample_from_the_plan() -> None:
    full, cheap = (
        job(state=JobState.READY, lease=None),
        job(id=8, sample=6, cheap_only=True, sample_planned=False),
    )
    grown = growth(ChangeSet(supersede([full, cheap])), WITH_RUNS)
    assert grown.withdrawn == {5}
    assert grown.settled_full == 0  # it no longer counts
    assert grown.objectives[1]["superseded"] == 2
    assert grown.objectives[1]["open_full"] == -1
    assert grown.objectives[2]["superseded"] == 2


def test_a_superseded_imported_sample_is_not_part_of_the_plan() -> None:
    imported = job(state=JobState.READY, lease=None, sample_planned=False)
    assert growth(ChangeSet(supersede([imported])), WITH_RUNS).withdrawn == set()


def test_anomalies_and_imported_results() -> None:
    changes = ChangeSet(
        results=[Result(5, 2, 1.0, of_job=False)],
        anomalies=[(3, Outcome.LATE), (3, Outcome.EXPIRED)],
    )
    grown = growth(changes, WITH_RUNS)
    assert list(grown.objectives) == [3]  # a value without a job moves no counter
    assert (grown.objectives[3]["late"], grown.objectives[3]["expired"]) == (1, 1)
