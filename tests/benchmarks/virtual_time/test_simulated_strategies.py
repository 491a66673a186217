"""Every strategy with heterogeneous workers in virtual time."""

from dataclasses import replace

import pytest

from app.optimizer.strategies.catalogue import STRATEGIES
from app.simulation.pools import Pool
from app.simulation.study import Report
from benchmarks.problems.catalogue import problem
from benchmarks.virtual_time.comparison import BARRIER
from benchmarks.virtual_time.simulation import Mode, simulate

SLOW = Pool(4.0, 2, jitter=0.1)
CHEAP = replace(SLOW, latency=1.0)
PAIRS_ONLY = ("t-saea", "tr-saea", "tc-saea")
# It calls the cheap objectives; so there is nothing to simulate
NEEDS_TRUTH = "sbp-nogpc"
WAITING = ("k-rvea", "rvea", "parego", "random")
PROMOTING = ("counterpoise", "brood-interleaving", "speculative-interleaving")


def run(name: str, mode: Mode = BARRIER, slow: Pool = SLOW) -> Report:
    m = 2 if name in PAIRS_ONLY else 3
    instance = problem("dtlz2", m, d=4)
    cheap = replace(slow, latency=CHEAP.latency)
    pools = (*[cheap] * (m - 1), slow)
    return simulate(instance, pools, STRATEGIES[name], 0, mode, n=12, budget=18)


@pytest.mark.parametrize("name", sorted(STRATEGIES.keys() - {NEEDS_TRUTH}))
def test_a_study_ends_with_its_budget(name: str) -> None:
    report = run(name)
    assert len(report.values) == 18
    assert report.steps == 2
    *cheap, slow = report.evaluations
    assert slow == 18
    if name in WAITING:
        assert cheap == [18] * len(cheap)
    elif name != "mht":
        assert min(cheap) > 60


@pytest.mark.parametrize("name", ["mht", "counterpoise"])
def test_overlapping_steps_failures_and_vanishing_workers(name: str) -> None:
    overlapping = Mode("auto", "auto", "auto")
    report = run(name, overlapping, replace(SLOW, failure=0.1, vanish=0.1))
    assert report.steps > 2
    # A failed job leaves its sample incomplete
    assert 18 - report.failed <= len(report.values) <= 18
    assert report.makespan > run("random").makespan


@pytest.mark.parametrize("name", PROMOTING)
def test_promoted_samples_get_only_what_they_lack(name: str) -> None:
    """All 18 slow values are there, and a cheap objective has not been evaluated more
    often than (r - 1) n beside the design and r u at each of two steps.
    """
    report = run(name)
    assert report.evaluations[-1] == 18
    assert max(report.evaluations[:-1]) <= 4 * 12 + 2 * 4 * 3
