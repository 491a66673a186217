"""`counterpoise` in the paper's protocol: the paper's number of evaluations of every
objective, not one more.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from app.optimizer.propose import propose
from app.optimizer.strategies.counterpoise.settings import DEFAULTS
from app.optimizer.strategies.counterpoise.step import COUNTERPOISE, PromotionStep
from benchmarks.paper.counterpoise_run import begin, optimise_by_promotion, tell
from benchmarks.paper.evaluations import Evaluations
from benchmarks.paper.protocol import run
from benchmarks.paper.results import Spec
from benchmarks.problems.catalogue import problem, reference_front

QUICK = replace(DEFAULTS, generations=3, samples=4, targets=30, lattice="small")
STRATEGY = replace(COUNTERPOISE, step=PromotionStep(QUICK))


def test_every_objective_is_evaluated_as_often_as_in_the_paper() -> None:
    instance = problem("dtlz2", 3)
    F, seconds = optimise_by_promotion(instance, 5, STRATEGY, seed=0, budget=116)
    assert F.shape == (116, 3)
    assert len(seconds) == 3


def test_full_samples_have_their_true_values_and_leave_the_pool() -> None:
    instance = problem("dtlz2", 3)
    declared = instance.declare((5.0, 5.0, 1.0))
    evaluations = Evaluations(instance, declared, 300)
    before = begin(declared, evaluations, 20, seed=0, budget=300)
    assert_array_equal(evaluations.counts, [100, 100, 20])
    proposal = propose(declared, before, STRATEGY, np.random.default_rng(0))
    after = tell(evaluations, before, proposal)
    assert_array_equal(evaluations.counts, [115, 115, 23])
    assert_array_equal(after.F, instance.evaluate(after.X))
    assert len(after.pool) == 80 - 3 + 15
    assert len(after.forecasts[2].told) == 3


def test_too_many_evaluations_are_refused() -> None:
    instance = problem("dtlz2", 3)
    evaluations = Evaluations(instance, instance.declare((5.0, 5.0, 1.0)), 2)
    evaluations.some(np.zeros((10, 10)), [0])
    with pytest.raises(ValueError, match="allowed"):
        evaluations.some(np.zeros((1, 10)), [0])


def test_bench_paper_runs_it_and_scores_the_hypervolume() -> None:
    outcome = run(Spec("dtlz2", 3, 5, "counterpoise", 0, budget=110))
    assert outcome.igd_plus < 0.5
    assert outcome.hypervolume is not None
    assert 0.0 < outcome.hypervolume < 1.0


def test_the_reference_front_has_a_hypervolume_of_one() -> None:
    instance = problem("dtlz2", 3)
    assert instance.hypervolume(reference_front("dtlz2", 3)) == pytest.approx(1.0)
    assert instance.hypervolume(np.full((1, 3), 5.0)) == 0.0
