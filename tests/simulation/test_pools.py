"""Virtual time by hand."""

from collections.abc import Iterator

import numpy as np
import pytest

from app.simulation.pools import Floor, Job, Pool
from counterpoise.wire.codes import JobState


def _floor(*pools: Pool, seed: int = 0) -> Floor:
    return Floor(pools, np.random.default_rng(seed))


def ended_jobs(floor: Floor) -> Iterator[Job]:
    while isinstance(job := floor.finish(), Job):
        yield job


def test_two_workers_share_three_jobs() -> None:
    floor = _floor(Pool(latency=2.0, workers=2))
    for sample in range(3):
        floor.add(Job(sample, 0, full=True))
    ends = [(job.sample, floor.now) for job in ended_jobs(floor)]
    assert ends == [(0, 2.0), (1, 2.0), (2, 4.0)]
    assert floor.busy() == (6.0,)


def test_a_slow_pool_does_not_hold_up_a_fast_one() -> None:
    floor = _floor(Pool(latency=1.0), Pool(latency=5.0))
    floor.add(Job(0, 1, full=True))
    floor.add(Job(0, 0, full=True))
    floor.add(Job(1, 0, full=True))
    ended = [(job.objective, floor.now) for job in ended_jobs(floor)]
    assert ended == [(0, 1.0), (0, 2.0), (1, 5.0)]


def test_an_attempt_under_way_counts_until_now() -> None:
    floor = _floor(Pool(latency=1.0, workers=2), Pool(latency=5.0))
    floor.add(Job(0, 0, full=True))
    floor.add(Job(0, 1, full=True))
    floor.finish()
    assert floor.busy() == (1.0, 1.0)
    assert floor.busy_share() == (0.5, 1.0)


def test_full_samples_come_before_older_cheap_only_ones() -> None:
    floor = _floor(Pool(latency=1.0))
    floor.add(Job(0, 0, full=False))
    floor.add(Job(1, 0, full=True))
    assert [job.sample for job in ended_jobs(floor)] == [1, 0]


def test_a_superseded_job_is_never_started() -> None:
    floor = _floor(Pool(latency=1.0))
    job = Job(0, 0, full=False)
    floor.add(job)
    job.state = JobState.SUPERSEDED
    assert floor.finish() is None
    assert floor.busy() == (0.0,)


def test_a_failing_job_is_tried_three_times() -> None:
    floor = _floor(Pool(latency=1.0, failure=0.999999))
    job = Job(0, 0, full=True)
    floor.add(job)
    states = [ended.state for ended in ended_jobs(floor)]
    assert job.state is JobState.FAILED
    assert (len(states), job.attempts, floor.now) == (3, 3, 3.0)


def test_jitter_varies_durations_within_its_share() -> None:
    floor = _floor(Pool(latency=10.0, jitter=0.2))
    for sample in range(50):
        floor.add(Job(sample, 0, full=True))
    ends = [0.0, *(floor.now for _ in ended_jobs(floor))]
    durations = np.diff(ends)
    assert durations.min() >= 8.0
    assert durations.max() <= 12.0
    assert durations.std() > 0.5


def test_a_pool_without_workers_is_refused() -> None:
    with pytest.raises(ValueError, match="workers >= 1"):
        Pool(latency=1.0, workers=0)
