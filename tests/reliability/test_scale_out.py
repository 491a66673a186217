"""Three servers, two planners and 32 workers on one PostgreSQL; one server freezes, is
killed, and comes back.
"""

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.reliability.processes.cluster import Cluster, fewest_jobs, specification
from tests.reliability.processes.cluster_checks import check_cluster


@pytest.mark.slow
@pytest.mark.timeout(900)  # on a loaded machine
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_frozen_server_stops_no_other_and_nothing_is_lost_or_doubled(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    specs = [
        specification(number, initial_samples=25, lease_s=600.0) for number in range(3)
    ]
    with ExitStack() as stack:
        cluster = Cluster(stack, database_url, tmp_path, specs)
        with cluster.workers.running():
            cluster.run_until(lambda: cluster.done() > 20)
            with cluster.first_frozen():
                cluster.await_progress_of_all()
            cluster.run_until(lambda: cluster.workers.are_done)
        assert cluster.done() >= sum(fewest_jobs(spec) for spec in specs)
        check_cluster(cluster)
        # No lease expired, so nothing was evaluated twice.
        assert len(cluster.workers.evaluator.finished) == cluster.done()
        with capsys.disabled():
            print(f"\nscale-out: {cluster.throughput()}")  # noqa: T201


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_server_that_freezes_and_is_killed_again_and_again(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The leases of its workers expire, and what they tell when it is back is late."""
    lease_s = 10.0
    specs = [
        specification(number, initial_samples=150, lease_s=lease_s)
        for number in range(59)
    ]
    with ExitStack() as stack:
        cluster = Cluster(stack, database_url, tmp_path, specs)
        with cluster.workers.running():
            for part in range(1, 9):
                done = part * 2000
                cluster.run_until(lambda done=done: cluster.done() > done)  # type: ignore[misc]
                is_killed = part % 4 == 0
                with cluster.first_frozen():
                    time.sleep(lease_s * 1.5 if part % 2 else 1.0)
                    if is_killed:
                        cluster.kill_first()
                if is_killed:
                    cluster.first = cluster.start_first()
            cluster.run_until(lambda: cluster.workers.are_done)
        assert cluster.done() >= sum(fewest_jobs(spec) for spec in specs) >= 20_000
        check_cluster(cluster)
        with capsys.disabled():
            print(f"\nscale-out: {cluster.throughput()}")  # noqa: T201
