"""Counters that a change set moves, computed by hand."""

from app.domain.studies import co_objectives_of
from app.domain.work.changes import ChangeSet, JobChange, Result, supersede
from app.domain.work.counters import Growth
from app.domain.work.counters import growth as growth_with_limit
from counterpoise.wire.codes import FailureKind, JobState, Outcome
from tests.domain.records import OBJECTIVES, job

# Lift (2) comes with mass (1); crash (3) has jobs of its own
WITH_RUNS = co_objectives_of(OBJECTIVES)


def growth(changes: ChangeSet, most_withdrawn: int = 10) -> Growth:
    return growth_with_limit(changes, WITH_RUNS, most_withdrawn)


def test_a_run_with_a_co_objective_settles_two_outputs() -> None:
    changes = ChangeSet([JobChange(job(sample_open=3), JobState.DONE)])
    changes.results = [Result(5, 1, 1.0), Result(5, 2, failure=FailureKind.ERROR)]
    grown = growth(changes)
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
    assert growth(ChangeSet([JobChange(last, JobState.DONE)])).settled_full == 1
    assert growth(ChangeSet([JobChange(last, JobState.FAILED)])).settled_full == 1
    assert growth(ChangeSet([JobChange(last, JobState.READY)])).settled_full == 0
    imported = job(objective=3, sample_open=1, sample_planned=False)
    assert growth(ChangeSet([JobChange(imported, JobState.DONE)])).settled_full == 0


def test_both_runs_of_a_sample_in_one_change_set_settle_it_once() -> None:
    changes = ChangeSet(
        [
            JobChange(job(id=n, objective=n, sample_open=3), JobState.DONE)
            for n in (1, 3)
        ]
    )
    assert growth(changes).settled_full == 1


def test_a_retried_job_opens_its_sample_again() -> None:
    failed = job(state=JobState.FAILED, lease=None, sample_open=0)
    grown = growth(ChangeSet([JobChange(failed, JobState.READY)]))
    assert (grown.samples, grown.settled_full) == ({5: 2}, -1)
    assert (grown.objectives[1]["failed"], grown.objectives[1]["open_full"]) == (-1, 1)
    assert grown.objectives[2]["failed"] == -1


def test_a_superseded_full_job_takes_its_sample_out_of_the_plan() -> None:
    full, cheap = (
        job(state=JobState.READY, lease=None),
        job(id=8, sample=6, cheap_only=True, sample_planned=False),
    )
    grown = growth(ChangeSet(supersede([full, cheap])))
    assert grown.given_up == {5}
    assert grown.settled_full == 0  # it no longer counts
    assert grown.objectives[1]["superseded"] == 2
    assert grown.objectives[1]["open_full"] == -1
    assert grown.objectives[2]["superseded"] == 2


def test_a_superseded_imported_sample_is_not_part_of_the_plan() -> None:
    imported = job(state=JobState.READY, lease=None, sample_planned=False)
    assert growth(ChangeSet(supersede([imported]))).given_up == set()


def test_anomalies_and_imported_results() -> None:
    changes = ChangeSet(
        results=[Result(5, 2, 1.0, of_job=False)],
        anomalies=[(3, Outcome.LATE), (3, Outcome.EXPIRED)],
    )
    grown = growth(changes)
    assert list(grown.objectives) == [3]  # a value without a job moves no counter
    assert (grown.objectives[3]["late"], grown.objectives[3]["expired"]) == (1, 1)


def test_an_infeasible_sample_gives_its_place_back_until_the_limit_is_reached() -> None:
    changes = ChangeSet()
    for sample in (5, 6):
        ruled_out = job(id=sample, sample=sample, sample_open=3)
        slow = job(
            id=sample + 10,
            sample=sample,
            objective=3,
            sample_open=3,
            state=JobState.READY,
            lease=None,
        )
        changes.jobs.append(JobChange(ruled_out, JobState.INFEASIBLE))
        changes.jobs += supersede([slow])
        changes.results.append(Result(sample, 1, failure=FailureKind.INFEASIBLE))
    grown = growth(changes)
    assert (grown.withdrawn, grown.given_up, grown.settled_full) == ({5, 6}, {5, 6}, 0)
    assert grown.objectives[1]["infeasible"] == 2
    assert grown.objectives[1]["failed"] == 0
    limited = growth(changes, most_withdrawn=1)
    assert (limited.withdrawn, limited.given_up) == ({5}, {5})
    assert limited.settled_full == 1  # sample 6 keeps its place, and is settled


def test_a_stop_is_no_withdrawal() -> None:
    stopped = job(state=JobState.READY, lease=None)
    grown = growth(ChangeSet(supersede([stopped])), most_withdrawn=0)
    assert (grown.given_up, grown.withdrawn) == ({5}, set())
