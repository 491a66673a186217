"""Simulated workers: what is evaluated, when, and what failures do."""

from collections import Counter

import numpy as np
import pytest

from app.optimizer.snapshot import Snapshot
from app.simulation import study as simulation
from app.simulation.pools import Pool
from app.simulation.steps import take_step
from benchmarks import comparison
from benchmarks.problems import problem
from benchmarks.protocol import choose
from benchmarks.results import Settings
from benchmarks.simulation import ratios, reached, simulate

DTLZ2 = problem("dtlz2", 3)
STRATEGY = choose("sbp-bo", Settings("range"))
POOLS = (Pool(1.0, 3), Pool(1.0, 3), Pool(5.0, 3))


def test_ratios_are_those_of_the_latencies() -> None:
    assert ratios((Pool(1.0), Pool(2.6), Pool(5.0))) == (5.0, 1.0, 1.0)
    assert ratios((Pool(0.1), Pool(0.3))) == (3.0, 1.0)


def test_the_design_is_cut_to_the_budget() -> None:
    assert simulate(DTLZ2, POOLS, STRATEGY, 0, wait=True, n=20, budget=5).evaluations == (5, 5, 5)


def test_a_study_without_one_complete_sample_has_no_score() -> None:
    hopeless = tuple(Pool(1.0, 3, failure=0.999) for _ in range(3))
    assert np.isnan(simulate(DTLZ2, hopeless, STRATEGY, 0, n=5, budget=8).score)


def test_waiting_takes_as_long_as_the_slowest_objective() -> None:
    report = simulate(DTLZ2, POOLS, STRATEGY, 0, wait=True, n=20, budget=29)
    assert report.evaluations == (29, 29, 29)
    assert report.makespan == pytest.approx(5.0 * (7 + 3))  # 20 samples by 3 workers, then 3 batches
    assert report.busy == pytest.approx((29 / 150, 29 / 150, 145 / 150))
    assert report.steps == 3


def test_cheap_workers_are_kept_busy_without_delaying_the_expensive_ones() -> None:
    report = simulate(DTLZ2, POOLS, STRATEGY, 0, n=20, budget=29)
    assert report.makespan == pytest.approx(5.0 * (7 + 3))
    assert min(report.busy[:2]) > 0.9
    assert report.evaluations[0] >= 100 + 9 * 5 - 15  # the stream, and five times the batches but for the last extras
    assert report.evaluations[2] == 29
    assert [time for time, _ in report.history] == pytest.approx([35.0, 40.0, 45.0, 50.0])
    assert report.score == report.history[-1][1] <= report.history[0][1]
    assert reached(report, report.score) <= 50.0  # type: ignore[operator]
    assert reached(report, 0.0) is None


def test_the_same_seed_gives_the_same_study() -> None:
    pools = tuple(Pool(pool.latency, 2, jitter=0.3, failure=0.2) for pool in POOLS)
    first, again, other = (simulate(DTLZ2, pools, STRATEGY, seed, n=15, budget=21) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_failures_cost_budget_and_leave_partial_values(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Snapshot] = []

    def spy(problem, snapshot, *rest):  # type: ignore[no-untyped-def]
        seen.append(snapshot)
        return take_step(problem, snapshot, *rest)

    monkeypatch.setattr(simulation, "take_step", spy)
    pools = (Pool(1.0, 3, failure=0.7), Pool(1.0, 3), Pool(5.0, 3, jitter=0.2))
    report = simulate(DTLZ2, pools, STRATEGY, 0, n=20, budget=26)
    assert report.failed > 0
    assert report.evaluations[2] == 26
    last = seen[-1]
    assert last.settled == 23
    assert len(last.X) < 23
    assert len(last.partial[1]) == len(last.partial[2]) == 23 - len(last.X)
    assert len(last.partial[0]) == 0


def test_a_slow_cheap_pool_has_its_old_jobs_superseded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its queue never grows, and what it still computes joins when it comes."""
    studies: list[simulation.Study] = []
    seen: list[Snapshot] = []
    start = simulation.Study.run

    def spy(problem, snapshot, *rest):  # type: ignore[no-untyped-def]
        seen.append(snapshot)
        return take_step(problem, snapshot, *rest)

    def run(study: simulation.Study) -> simulation.Report:
        studies.append(study)
        return start(study)

    monkeypatch.setattr(simulation, "take_step", spy)
    monkeypatch.setattr(simulation.Study, "run", run)
    simulate(DTLZ2, (Pool(1.0, 1), Pool(1.0, 3), Pool(5.0, 3)), STRATEGY, 0, n=15, budget=24)
    (study,) = studies
    jobs = [job for sample in study.samples.all for job in sample.jobs.values()]
    assert Counter(job.state for job in jobs if not job.full and job.objective == 0)["superseded"] > 10
    assert all(job.state == "done" for job in jobs if job.full)
    assert all(len(snapshot.pending[0]) == 0 for snapshot in seen)  # as in the service
    # A late value of the stream counts for the step in which it came, so that `keep_extra = last` sees it once.
    assert all(1 <= came < snapshot.step for snapshot in seen for came in snapshot.extra_steps[0])
    assert any(came == snapshot.step - 1 for snapshot in seen for came in snapshot.extra_steps[0])
    assert all(snapshot.theta[0] is not None for snapshot in seen[1:])
    assert all(len(snapshot.extra[0]) == len(snapshot.extra_steps[0]) for snapshot in seen)
    for snapshot in seen:  # nothing is counted twice: frozen, full and extra are apart
        frozen = snapshot.frozen[0]
        assert frozen is not None
        both = np.vstack([frozen.X[15:], snapshot.X[15:], snapshot.extra[0].X])
        assert len(np.unique(both, axis=0)) == len(both)


def test_the_comparison_names_both_modes() -> None:
    reports = comparison.compare(DTLZ2, POOLS, Settings("range"), 0, n=15, budget=18)
    rows = comparison.as_json(DTLZ2, POOLS, 0, reports)
    assert [row["mode"] for row in rows] == ["asynchronous", "everybody waits"]
    assert all(pool["busy"] + pool["idle"] == 1.0 for row in rows for pool in row["pools"])
    assert rows[0]["pools"][0]["busy"] > 3 * rows[1]["pools"][0]["busy"]
    assert rows[1]["reached_waiting_igd_plus_at"] is not None
    assert "asynchronous: makespan 30.0" in comparison.summary(rows)
    assert comparison.table(rows).row_count == 6


def test_pools_must_match_objectives() -> None:
    with pytest.raises(ValueError, match="3 objectives, there are 2 pools"):
        simulate(DTLZ2, POOLS[:2], STRATEGY, 0, wait=True)
