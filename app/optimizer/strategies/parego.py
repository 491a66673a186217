"""`parego`: expected improvement of randomly weighted objectives ([ParEGO], Knowles
2006). Cheap objectives wait for the expensive ones.

| symbol | here     | meaning                                                        |
|--------|----------|----------------------------------------------------------------|
| lambda | `w` (m,) | a random weight of the simplex lattice                         |
| rho    | `RHO`    | share of the weighted sum in the augmented Tchebycheff value   |
"""

import numpy as np
from numpy.random import Generator
from scipy.stats import norm

from app.optimizer.arrays import Floats
from app.optimizer.models.belief import DEVIATIONS
from app.optimizer.models.fit_task import FitTask, fit_task
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.training_data import choose_full
from app.optimizer.problem import Problem
from app.optimizer.proposal.batch import (
    candidates,
    make_proposal,
    no_extras,
    no_models,
    take_full,
)
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.search.design import latin
from app.optimizer.search.genetic_algorithm import MU, minimise
from app.optimizer.search.reference_vectors import SMALL, layers, simplex_lattice
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.k_rvea import in_canonical_order
from app.optimizer.strategies.strategy import Resources, Strategy
from app.optimizer.strategies.waiting import NO_STREAMS

RHO = 0.05


def parego_step(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    resources: Resources,
) -> Proposal:
    snapshot = in_canonical_order(snapshot)
    rows = choose_full(snapshot.F, strategy.training_size(problem.d), rng)
    found = snapshot.X[:0]  # (k, d)
    if len(rows) > 0:
        X, F = snapshot.X[rows], to_unit_range(snapshot.F[rows])
        weights = random_weights(problem.m, snapshot.batch, rng)  # (u, m)
        tasks = [FitTask(Data(X, tchebycheff(F, w)), None) for w in weights]
        for model in resources.fit(fit_task, tasks):
            # Differs from [ParEGO]: it proposes one point at a time; the points of a
            # batch are believed in turn, after those that still run.
            awaited = np.vstack([snapshot.running.X, found])
            believing = model.believe(awaited, DEVIATIONS[strategy.belief])
            x = best_improvement(problem, believing, X, strategy.w_max, rng)
            found = np.vstack([found, x])
    points = candidates(problem.variables, found, snapshot.X[:0], rng)
    full = take_full(problem, snapshot, points)
    models = no_models(problem, snapshot)
    return make_proposal(problem, snapshot, models, found, full, no_extras(problem))


def to_unit_range(F: Floats) -> Floats:
    spread = np.ptp(F, axis=0)
    return np.asarray((F - F.min(axis=0)) / np.where(spread > 0.0, spread, 1.0))


def random_weights(m: int, count: int, rng: Generator) -> Floats:
    """(count, m)"""
    if m == 1:
        return np.ones((count, 1))
    W = simplex_lattice(m, layers(m, SMALL))
    return W[rng.integers(len(W), size=count)]


def tchebycheff(F: Floats, w: Floats) -> Floats:
    """(n,): [ParEGO] Eq. (2)."""
    weighted = F * w
    return np.asarray(weighted.max(axis=1) + RHO * weighted.sum(axis=1))


def expected_improvement(mean: Floats, std: Floats, best: float) -> Floats:
    """(N,)"""
    z = (best - mean) / std
    return np.asarray((best - mean) * norm.cdf(z) + std * norm.pdf(z))


def best_improvement(
    problem: Problem, model: Kriging, X: Floats, generations: int, rng: Generator
) -> Floats:
    """The point of largest expected improvement that a genetic algorithm finds, (1, d)."""
    best = float(model.y_.min())

    def predict(points: Floats) -> Floats:
        mean, std = model.mean_and_std(points)
        return -expected_improvement(mean, std, best)[:, None]

    start = np.vstack([X, latin(problem.variables, MU, rng)])
    population, _ = minimise(problem.variables, predict, start, generations, rng)
    return population[:1]


PAREGO = Strategy(step=parego_step, initial=NO_STREAMS)
