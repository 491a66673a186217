"""How many settled jobs one step may read, and the stepping rule's view of a study."""

from app.domain.planning.stepping import Stream
from app.domain.planning.stepping_progress import prefix_until_due, progress_of
from counterpoise.wire.codes import Phase
from tests.domain.records import OBJECTIVES, SPEC, job, objective, study


def test_a_list_is_split_where_the_batch_is_settled() -> None:
    # Two samples are open: sample 5 on crash only, sample 6 on mass (with lift) and
    # crash.
    jobs = [
        job(id=1, sample=5, objective=3, sample_open=1),
        job(id=2, sample=6, objective=1, sample_open=3),
        job(id=3, sample=6, objective=3, sample_open=3),
        job(id=4, sample=9, cheap_only=True, sample_planned=False),
    ]
    assert prefix_until_due(study(), OBJECTIVES, jobs) == (3, True)
    assert prefix_until_due(study(), OBJECTIVES, jobs[:2]) == (2, False)
    assert prefix_until_due(study(), OBJECTIVES, [jobs[3]]) == (1, False)


def test_nothing_becomes_due_in_a_finished_study() -> None:
    jobs = [job(sample_open=1), job(id=8, sample=6, sample_open=1)]
    assert prefix_until_due(study(phase=Phase.FINISHED), OBJECTIVES, jobs) == (2, False)


def test_a_stream_is_due_when_half_of_its_generation_is_settled() -> None:
    young = study(phase=Phase.INITIAL, planned_full=6, settled_full=0, step=0)
    mass = objective(created=6, done=0, open_full=4)
    jobs = [job(id=n, sample=n, sample_open=3) for n in range(1, 5)]
    # Of 6 jobs of generation 0, at most 3 may be unsettled: after the first of the 4
    # that are open.
    assert prefix_until_due(young, [mass, *OBJECTIVES[1:]], jobs) == (1, True)


def test_a_list_is_not_split_for_a_stream_that_declared_ratios_exclude() -> None:
    mass = objective(created=6, done=0, open_full=4)
    jobs = [job(id=n, sample=n, sample_open=3) for n in range(1, 5)]
    equal = SPEC.model_copy(update={"ratios": {"mass": 1, "crash": 1}})
    young = study(
        phase=Phase.INITIAL, planned_full=6, settled_full=0, step=0, spec=equal
    )
    assert prefix_until_due(young, [mass, *OBJECTIVES[1:]], jobs) == (4, False)


def test_progress_counts_streams_of_cheap_objectives_with_jobs_of_their_own() -> None:
    young = study(phase=Phase.INITIAL, step=0)
    mass = objective(
        created=56, done=10, failed=2, superseded=4, open_full=2, generation=1
    )
    progress = progress_of(young, [mass, *OBJECTIVES[1:]], [5.0, 5.0, 1.0], (), {1: 3})
    assert progress.cheap == (0, 1)
    assert progress.streams == (
        Stream(objective=0, generation=1, planned=56, unsettled=40 - 2 - 3),
    )
    assert (
        progress_of(young, [mass, *OBJECTIVES[1:]], [5.0, 5.0, 1.0], {0}).streams == ()
    )
    ended = objective(generation=-1)
    assert (
        progress_of(young, [ended, *OBJECTIVES[1:]], [5.0, 5.0, 1.0], ()).streams == ()
    )
