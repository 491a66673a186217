"""Random studies in virtual time: overlap, promotion, failures and lost workers in any
combination.
"""

from collections import Counter
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator

from app.optimizer.arrays import Floats
from app.optimizer.problem import Objective, Problem, Variable
from app.optimizer.proposal.batch import (
    extra_counts,
    make_proposal,
    no_models,
    offspring_of,
    take_common,
    take_full,
)
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import Resources, Strategy
from app.simulation.pools import Cluster, Pool
from app.simulation.study import Report, Study
from counterpoise.wire.codes import JobState

PROBLEM = Problem(
    variables=(Variable("a", 0.0, 1.0), Variable("b", 0.0, 1.0)),
    objectives=(Objective("cheap"), Objective("slow")),
    ratios=(4.0, 1.0),
)
Count = int | Literal["auto"]


def random_step(
    problem: Problem,
    snapshot: Snapshot,
    _strategy: Strategy,
    rng: Generator,
    _resources: Resources,
) -> Proposal:
    """Random points; every second step promotes the oldest sample of its pool instead
    of proposing a point of its own.
    """
    nothing = np.empty((0, problem.width))
    promotes = len(snapshot.pool) > 0 and snapshot.step % 2 == 0
    promoted = np.zeros(1 if promotes else 0, dtype=np.int64)
    new = replace(snapshot, batch=snapshot.batch - len(promoted))
    full = take_full(problem, new, offspring_of(problem.variables, nothing, 9, rng))
    most = int(extra_counts(problem, new.batch).max())
    points = offspring_of(problem.variables, nothing, most, rng)
    cheap = take_common(problem, new, full.points, points)
    models = no_models(problem, snapshot)
    return make_proposal(problem, snapshot, models, nothing, full, cheap, promoted)


STRATEGY = Strategy(step=random_step)
POOLS = st.builds(
    Pool,
    latency=st.sampled_from([1.0, 4.0]),
    workers=st.integers(1, 6),
    log_sigma=st.sampled_from([0.0, 0.5, 2.0]),
    failure=st.sampled_from([0.0, 0.3]),
    vanish=st.sampled_from([0.0, 0.2]),
)
COUNTS = st.one_of(st.just("auto"), st.integers(1, 5))


class CheckedStudy(Study):
    """Checks promises while it runs."""

    def _search(self, number: int, size: int) -> None:
        unsettled = self.samples.unsettled_full
        assert unsettled <= (self._overlap() if number > 1 else 0)
        assert number == self.step + 1
        assert 1 <= size <= self.budget - len(self.samples.full())
        super()._search(number, size)

    def _decide(self) -> None:
        super()._decide()
        follows = self.declared_overlap is None and self.step > 0
        has_budget = len(self.samples.full()) < self.budget
        if follows and has_budget and self.planned is None and not self.finished:
            assert self.samples.unsettled_full >= self._slow_slots()


def run(
    pools: tuple[Pool, ...], n: int, more: int, batch: Count, overlap: Count, seed: int
) -> tuple[Report, CheckedStudy, Counter[tuple[float, ...]]]:
    evaluated: Counter[tuple[float, ...]] = Counter()

    def evaluate(x: Floats, j: int) -> float:
        evaluated[j, *x] += 1
        return float(x[j])

    study = CheckedStudy(
        problem=PROBLEM,
        evaluate=evaluate,
        score=lambda F: float(F.sum()),
        strategy=STRATEGY,
        cluster=Cluster(pools, np.random.default_rng(seed)),
        seed=seed,
        n=n,
        budget=n + more,
        batch=batch if isinstance(batch, int) else None,
        declared_overlap=overlap if isinstance(overlap, int) else None,
        planning_s=0.5 if seed % 2 else 0.0,
    )
    return study.run(), study, evaluated


STUDIES = {
    "cheap": POOLS,
    "slow": POOLS,
    "n": st.integers(2, 8),
    "more": st.integers(0, 25),
    "batch": COUNTS,
    "overlap": st.one_of(COUNTS, st.just(0)),
    "seed": st.integers(0, 2**32),
}


def check_study(
    cheap: Pool, slow: Pool, n: int, more: int, batch: Count, overlap: Count, seed: int
) -> None:
    """It spends its budget, evaluates nothing twice, and repeats itself."""
    report, study, evaluated = run((cheap, slow), n, more, batch, overlap, seed)
    full = study.samples.full()
    assert study.finished
    assert len(full) == n + more
    assert study.samples.unsettled_full == 0
    assert all(count == 1 for count in evaluated.values())
    points = [tuple(sample.x) for sample in study.samples.all if sample.step > 0]
    assert len(set(points)) == len(points)
    states = {job.state for i in full for job in study.samples.all[i].jobs.values()}
    assert states <= {JobState.DONE, JobState.FAILED}
    assert run((cheap, slow), n, more, batch, overlap, seed)[0] == report


test_any_study_keeps_the_promises = settings(deadline=None, max_examples=25)(
    given(**STUDIES)(check_study)
)
test_many_studies_keep_the_promises = pytest.mark.slow(
    settings(deadline=None, max_examples=300)(given(**STUDIES)(check_study))
)
