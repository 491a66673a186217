"""Virtual time by hand."""

from collections.abc import Iterator

import numpy as np
import pytest

from app.simulation.pools import Cluster, Job, Pool
from counterpoise.wire.codes import JobState


def _cluster(*pools: Pool, seed: int = 0) -> Cluster:
    return Cluster(pools, np.random.default_rng(seed))


def ended_jobs(cluster: Cluster) -> Iterator[Job]:
    while isinstance(job := cluster.finish(), Job):
        yield job


def test_two_workers_share_three_jobs() -> None:
    cluster = _cluster(Pool(latency=2.0, workers=2))
    for sample in range(3):
        cluster.add(Job(sample, 0, full=True))
    ends = [(job.sample, cluster.now) for job in ended_jobs(cluster)]
    assert ends == [(0, 2.0), (1, 2.0), (2, 4.0)]
    assert cluster.busy() == (6.0,)


def test_a_slow_pool_does_not_hold_up_a_fast_one() -> None:
    cluster = _cluster(Pool(latency=1.0), Pool(latency=5.0))
    cluster.add(Job(0, 1, full=True))
    cluster.add(Job(0, 0, full=True))
    cluster.add(Job(1, 0, full=True))
    ended = [(job.objective, cluster.now) for job in ended_jobs(cluster)]
    assert ended == [(0, 1.0), (0, 2.0), (1, 5.0)]


def test_an_attempt_under_way_counts_until_now() -> None:
    cluster = _cluster(Pool(latency=1.0, workers=2), Pool(latency=5.0))
    cluster.add(Job(0, 0, full=True))
    cluster.add(Job(0, 1, full=True))
    cluster.finish()
    assert cluster.busy() == (1.0, 1.0)
    assert cluster.busy_share() == (0.5, 1.0)


def test_full_samples_come_before_older_cheap_only_ones() -> None:
    cluster = _cluster(Pool(latency=1.0))
    cluster.add(Job(0, 0, full=False))
    cluster.add(Job(1, 0, full=True))
    assert [job.sample for job in ended_jobs(cluster)] == [1, 0]


def test_a_superseded_job_is_never_started() -> None:
    cluster = _cluster(Pool(latency=1.0))
    job = Job(0, 0, full=False)
    cluster.add(job)
    job.state = JobState.SUPERSEDED
    assert cluster.finish() is None
    assert cluster.busy() == (0.0,)


def test_a_failing_job_is_tried_three_times() -> None:
    cluster = _cluster(Pool(latency=1.0, failure=0.999999))
    job = Job(0, 0, full=True)
    cluster.add(job)
    states = [ended.state for ended in ended_jobs(cluster)]
    assert job.state is JobState.FAILED
    assert (len(states), job.attempts, cluster.now) == (3, 3, 3.0)


def test_jitter_varies_durations_within_its_share() -> None:
    cluster = _cluster(Pool(latency=10.0, jitter=0.2))
    for sample in range(50):
        cluster.add(Job(sample, 0, full=True))
    ends = [0.0, *(cluster.now for _ in ended_jobs(cluster))]
    durations = np.diff(ends)
    assert durations.min() >= 8.0
    assert durations.max() <= 12.0
    assert durations.std() > 0.5


def test_a_pool_without_workers_is_refused() -> None:
    with pytest.raises(ValueError, match="workers >= 1"):
        Pool(latency=1.0, workers=0)
