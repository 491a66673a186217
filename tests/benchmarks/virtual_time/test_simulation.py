"""Simulated workers: what is evaluated, when, and what failures do."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from app.domain.planning.stepping import Decision, Progress, due
from app.optimizer.problem import Objective, Problem, Variable
from app.optimizer.propose import propose
from app.optimizer.snapshot import Snapshot
from app.simulation import study as simulation
from app.simulation.pools import Cluster, Job, Pool
from benchmarks.paper.protocol import choose
from benchmarks.paper.results import Settings
from benchmarks.problems.catalogue import problem
from benchmarks.virtual_time import comparison
from benchmarks.virtual_time.comparison import BARRIER, WAITING
from benchmarks.virtual_time.simulation import Mode, ratios, reached, simulate
from counterpoise.wire.codes import JobState

DTLZ2 = problem("dtlz2", 3)
STRATEGY = choose("sbp-bo", Settings("range"))
POOLS = (Pool(1.0, 3), Pool(1.0, 3), Pool(5.0, 3))


def test_ratios_are_those_of_the_latencies() -> None:
    assert ratios((Pool(1.0), Pool(2.6), Pool(5.0))) == (5.0, 1.0, 1.0)
    assert ratios((Pool(0.1), Pool(0.3))) == (3.0, 1.0)


def test_the_design_is_cut_to_the_budget() -> None:
    assert simulate(DTLZ2, POOLS, STRATEGY, 0, WAITING, n=20, budget=5).evaluations == (
        5,
        5,
        5,
    )


def test_a_study_without_one_complete_sample_has_no_score() -> None:
    hopeless = tuple(Pool(1.0, 3, failure=0.999) for _ in range(3))
    assert np.isnan(
        simulate(DTLZ2, hopeless, STRATEGY, 0, BARRIER, n=5, budget=8).score
    )


def test_waiting_takes_as_long_as_the_slowest_objective() -> None:
    report = simulate(DTLZ2, POOLS, STRATEGY, 0, WAITING, n=20, budget=29)
    assert report.evaluations == (29, 29, 29)
    # 20 samples by 3 workers, then 3 batches
    assert report.makespan == pytest.approx(5.0 * (7 + 3))
    assert report.busy == pytest.approx((29 / 150, 29 / 150, 145 / 150))
    assert report.steps == 3


def test_cheap_workers_are_kept_busy_without_delaying_the_expensive_ones() -> None:
    report = simulate(DTLZ2, POOLS, STRATEGY, 0, BARRIER, n=20, budget=29)
    assert report.makespan == pytest.approx(5.0 * (7 + 3))
    assert min(report.busy[:2]) > 0.9
    # The stream, and five times the batches but for the last extras
    assert report.evaluations[0] >= 100 + 9 * 5 - 15
    assert report.evaluations[2] == 29
    assert [time for time, _ in report.history] == pytest.approx(
        [35.0, 40.0, 45.0, 50.0]
    )
    assert report.score == report.history[-1][1] <= report.history[0][1]
    assert reached(report.history, report.score) <= 50.0  # type: ignore[operator]
    assert reached(report.history, 0.0) is None


def test_the_same_seed_gives_the_same_study() -> None:
    pools = tuple(Pool(pool.latency, 2, jitter=0.3, failure=0.2) for pool in POOLS)
    first, again, other = (
        simulate(DTLZ2, pools, STRATEGY, seed, BARRIER, n=15, budget=21)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_failures_cost_budget_and_leave_partial_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Snapshot] = []

    def spy(problem, snapshot, *rest, **options):  # type: ignore[no-untyped-def]
        seen.append(snapshot)
        return propose(problem, snapshot, *rest, **options)

    monkeypatch.setattr(simulation, "propose", spy)
    pools = (Pool(1.0, 3, failure=0.7), Pool(1.0, 3), Pool(5.0, 3, jitter=0.2))
    report = simulate(DTLZ2, pools, STRATEGY, 0, BARRIER, n=20, budget=26)
    assert report.failed > 0
    assert report.evaluations[2] == 26
    last = seen[-1]
    assert last.settled == 23
    assert len(last.X) < 23
    assert len(last.partial[1]) == len(last.partial[2]) == 23 - len(last.X)
    assert len(last.partial[0]) == 0


def test_a_slow_cheap_pool_has_its_old_jobs_superseded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its queue never grows, and what it still computes joins when it comes."""
    studies: list[simulation.Study] = []
    seen: list[Snapshot] = []
    start = simulation.Study.run

    def spy(problem, snapshot, *rest, **options):  # type: ignore[no-untyped-def]
        seen.append(snapshot)
        return propose(problem, snapshot, *rest, **options)

    def run(study: simulation.Study) -> simulation.Report:
        studies.append(study)
        return start(study)

    monkeypatch.setattr(simulation, "propose", spy)
    monkeypatch.setattr(simulation.Study, "run", run)
    simulate(
        DTLZ2,
        (Pool(1.0, 1), Pool(1.0, 3), Pool(5.0, 3)),
        STRATEGY,
        0,
        BARRIER,
        n=15,
        budget=24,
    )
    (study,) = studies
    jobs = [job for sample in study.samples.all for job in sample.jobs.values()]
    assert (
        Counter(job.state for job in jobs if not job.full and job.objective == 0)[
            JobState.SUPERSEDED
        ]
        > 10
    )
    assert all(job.state is JobState.DONE for job in jobs if job.full)
    assert all(len(snapshot.pending[0]) == 0 for snapshot in seen)  # as in the service
    # A late value of the stream counts for the step in which it came, so that
    # `keep_extra = last` sees it once.
    assert all(
        1 <= came < snapshot.step
        for snapshot in seen
        for came in snapshot.extra_steps[0]
    )
    assert any(
        came == snapshot.step - 1
        for snapshot in seen
        for came in snapshot.extra_steps[0]
    )
    assert all(snapshot.theta[0] is not None for snapshot in seen[1:])
    assert all(
        len(snapshot.extra[0]) == len(snapshot.extra_steps[0]) for snapshot in seen
    )
    for snapshot in seen:  # nothing is counted twice: frozen, full and extra are apart
        frozen = snapshot.frozen[0]
        assert frozen is not None
        both = np.vstack([frozen.X[15:], snapshot.X[15:], snapshot.extra[0].X])
        assert len(np.unique(both, axis=0)) == len(both)


def small_study(
    ratios: tuple[float, float],
    n: int,
    monkeypatch: pytest.MonkeyPatch,
    pools: tuple[Pool, Pool] = (Pool(1.0), Pool(3.0)),
    overlap: int = 0,
) -> simulation.Report:
    """Of a space of 12 points, with a budget of 20; a caller that asks more than 100 times
    what is due asks forever.
    """
    asked = 0

    def patient(progress: Progress) -> Decision:
        nonlocal asked
        asked += 1
        assert asked < 100
        return due(progress)

    monkeypatch.setattr(simulation, "due", patient)
    space = (Variable("k", 0, 3, "int"), Variable("l", 0, 2, "int"))
    declared = Problem(space, (Objective("a"), Objective("b")), ratios)
    evaluate, score = (lambda x, j: float(x[j])), (lambda F: float(F.min()))
    return simulation.simulate(
        declared,
        evaluate,
        score,
        pools,
        STRATEGY,
        0,
        n=n,
        budget=20,
        overlap=overlap,
    )


def test_a_study_whose_space_is_used_up_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    report = small_study((1.0, 1.0), 6, monkeypatch)
    assert report.evaluations == (12, 12)
    # Two batches of three; the third finds nothing, as in the service
    assert report.steps == 3
    assert [time for time, _ in report.history] == [18.0, 27.0, 36.0]
    assert report.makespan == 36.0


def test_a_study_whose_space_is_used_up_waits_for_the_samples_that_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The third step, planned while two samples run, finds nothing; the fourth, planned
    when all is known, ends the study.
    """
    pools = (Pool(1.0, 3), Pool(3.0, 3, jitter=0.3))
    report = small_study((1.0, 1.0), 6, monkeypatch, pools, overlap=2)
    assert report.evaluations == (12, 12)
    assert report.steps == 4


def test_a_stream_whose_space_is_used_up_ends_and_the_study_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The design leaves one point, which the stream takes, and which search completes
    report = small_study((3.0, 1.0), 11, monkeypatch)
    assert report.evaluations == (12, 12)
    assert report.makespan == 36.0


def test_an_overtaken_cheap_only_job_that_fails_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    studies: list[simulation.Study] = []
    attempts: list[
        tuple[int, int]
    ] = []  # of cheap-only jobs: the step that asked, the step at their start
    run, start = simulation.Study.run, Cluster.start

    def note_study(study: simulation.Study) -> simulation.Report:
        studies.append(study)
        return run(study)

    def note_attempt(cluster: Cluster, job: Job) -> None:
        if not job.full:
            attempts.append(
                (studies[-1].samples.all[job.sample].step, studies[-1].step)
            )
        start(cluster, job)

    monkeypatch.setattr(simulation.Study, "run", note_study)
    monkeypatch.setattr(Cluster, "start", note_attempt)
    failing = Pool(1.0, 3, jitter=0.2, failure=0.4)
    simulate(
        DTLZ2,
        (failing, failing, Pool(5.0, 3, jitter=0.2)),
        replace(STRATEGY, w_max=2),
        0,
        BARRIER,
        n=20,
        budget=41,
    )
    assert {now for _, now in attempts} >= {0, 1, 2, 3, 4}
    assert [each for each in attempts if each[0] < each[1]] == []
    (study,) = studies
    jobs = [job for sample in study.samples.all for job in sample.jobs.values()]
    assert any(job.state is JobState.SUPERSEDED and job.attempts > 0 for job in jobs)
    for j in range(3):  # the counters agree with the jobs
        mine = [
            job
            for job in jobs
            if job.objective == j and job.state in (JobState.READY, JobState.LEASED)
        ]
        assert study.samples.unsettled_jobs.get((j, False), 0) == sum(
            not job.full for job in mine
        )


def compare(pools: tuple[Pool, ...], n: int, budget: int) -> list[comparison.Row]:
    modes = [Mode("overlap", "auto", "auto"), BARRIER, WAITING]
    return comparison.compare(DTLZ2, pools, STRATEGY, [0], modes, n=n, budget=budget)


def test_the_comparison_names_all_modes() -> None:
    rows = compare(POOLS, n=15, budget=18)
    assert [row["mode"] for row in rows] == ["overlap", "barrier", "everybody waits"]
    assert rows[1]["pools"][0]["busy"] > 3 * rows[2]["pools"][0]["busy"]
    assert rows[1]["reached_barrier_igd_plus_at"] is not None
    assert [[pool["ratio"] for pool in row["pools"]] for row in rows] == [
        [5.0, 5.0, 1.0],
        [5.0, 5.0, 1.0],
        [1.0, 1.0, 1.0],
    ]
    assert "barrier: makespan 30.0" in comparison.summary(rows)
    assert comparison.table(rows).row_count == 9


def test_igd_plus_against_time_and_the_ratio_to_the_barrier() -> None:
    """Two seeds of each mode; the barrier takes 40 for its best score, and ends at 50."""
    histories = {
        ("overlap", 0): [(8.0, 0.9), (20.0, 0.3)],
        ("overlap", 1): [(8.0, 0.7), (30.0, 0.5)],
        ("barrier", 0): [(12.0, 0.8), (40.0, 0.4)],
        ("barrier", 1): [(10.0, 0.8), (40.0, 0.4)],
    }
    rows = []
    for (mode, seed), history in histories.items():
        at = next((time for time, score in history if score <= 0.4), None)
        row = {"mode": mode, "seed": seed, "makespan": 50.0, "history": history}
        found = {"igd_plus": history[-1][1], "reached_barrier_igd_plus_at": at}
        rows.append(row | found | {"barrier_at": 40.0})
    cells = [list(each.cells) for each in comparison.progress_table(rows).columns]
    # At 10, 20, 30, 40 and 50
    assert [column[0] for column in cells[1:]] == ["0.8", "0.5", "0.4", "0.4", "0.4"]
    assert [column[1] for column in cells[1:]] == ["-", "0.8", "0.8", "0.4", "0.4"]
    overlap, barrier = comparison.summary(rows).splitlines()
    assert "after 50% of its time (1 of 2)" in overlap
    assert "after 100% of its time (2 of 2)" in barrier


def test_a_score_that_does_not_exist_is_null_and_said_to_be_missing() -> None:
    hopeless = tuple(Pool(1.0, 3, failure=0.999) for _ in range(3))
    rows = compare(hopeless, n=3, budget=3)
    scores = [row["igd_plus"] for row in json.loads(json.dumps(rows, allow_nan=False))]
    assert scores == [None, None, None]
    assert "no sample is complete" in comparison.summary(rows)
    assert "nan" not in comparison.summary(rows)


@pytest.mark.parametrize("planning_s", [0.0, 0.5])
def test_no_slow_slot_idles_with_overlap(planning_s: float) -> None:
    """Log-normal durations, 8 slots; with the barrier most of them wait."""
    pools = (Pool(1.0, 8), Pool(1.0, 8), Pool(5.0, 8, log_sigma=0.5))
    busy = {}
    for mode in (Mode("overlap", "auto", "auto"), BARRIER):
        report = simulate(
            DTLZ2,
            pools,
            STRATEGY,
            0,
            mode,
            n=12,
            budget=60,
            planning_s=planning_s,
        )
        assert report.evaluations[2] == 60
        busy[mode.name] = report.busy_in_search[2]
    assert busy["overlap"] > 0.95
    assert busy["barrier"] < 0.4


@pytest.mark.parametrize("latency", [0.0, -1.0, np.nan, np.inf])
def test_a_pool_without_a_latency_is_refused(latency: float) -> None:
    with pytest.raises(ValueError, match="latency"):
        Pool(latency)


def test_pools_must_match_objectives() -> None:
    with pytest.raises(ValueError, match="3 objectives, there are 2 pools"):
        simulate(DTLZ2, POOLS[:2], STRATEGY, 0, WAITING)
