"""The compared strategies with heterogeneous workers in virtual time."""

import pytest

from app.optimizer.strategies.catalogue import STRATEGIES
from app.simulation.pools import Pool
from benchmarks.problems.catalogue import problem
from benchmarks.virtual_time.comparison import BARRIER
from benchmarks.virtual_time.simulation import simulate

POOLS = (Pool(1.0, 2, 0.1, 0.0), Pool(1.0, 2, 0.1, 0.0), Pool(4.0, 2, 0.1, 0.0))


@pytest.mark.parametrize("name", ["k-rvea", "hk-rvea", "rvea", "parego", "random"])
def test_a_study_ends_with_its_budget(name: str) -> None:
    instance = problem("dtlz2", 3, d=4)
    report = simulate(instance, POOLS, STRATEGIES[name], 0, BARRIER, n=12, budget=18)
    assert len(report.values) == 18
    assert report.steps == 2
