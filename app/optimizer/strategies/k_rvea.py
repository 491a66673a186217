"""`k-rvea`: RVEA on one Gaussian process per objective, full samples only ([K-RVEA],
Chugh et al. 2018). Cheap objectives wait for the expensive ones.

| symbol | here               | meaning                                                   |
|--------|--------------------|-----------------------------------------------------------|
| N_I    | `size`             | full samples that the models learn from: 11 d - 1         |
| V_0, V | `V0`, `V` (K, m)   | fixed and adapted reference vectors                       |
| u      | `snapshot.batch`   | full samples to propose, one of each cluster of vectors   |
| delta  | `DELTA` K          | more inactive vectors than this: less diversity           |
| theta  | `(w / w_max)^alpha`| weight of the angle                                       |
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.fit_models import fit_models
from app.optimizer.models.step_models import Models
from app.optimizer.models.training_data import cluster_labels
from app.optimizer.problem import Problem, Variables
from app.optimizer.proposal.batch import (
    candidates,
    make_proposal,
    no_extras,
    take_full,
)
from app.optimizer.proposal.proposal import Proposal, Timings
from app.optimizer.search.design import latin
from app.optimizer.search.reference_vectors import reference_vectors
from app.optimizer.search.rvea import ADAPT_EVERY, adapt, associate, offspring, select
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.strategy import Resources, Strategy
from app.optimizer.strategies.waiting import NO_STREAMS

DELTA = 0.05
ALPHA = 2.0
SMALLEST_START = 20


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The final population of a search."""

    X: Floats  # (N, d)
    mu: Floats  # (N, m): scaled means
    v: Floats  # (N, m): scaled variances
    V0: Floats  # (K, m): the fixed vectors
    V: Floats  # (K, m): the vectors as adapted last


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """(f - low) / unit, objective by objective; `paper` has 0 and 1."""

    low: Floats  # (m,)
    unit: Floats  # (m,)

    def __call__(self, F: Floats) -> Floats:
        return (F - self.low) / self.unit


def k_rvea_step(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    resources: Resources,
) -> Proposal:
    snapshot = in_canonical_order(snapshot)
    clock = resources.clock
    started = clock()
    rows = archive_rows(snapshot, 11 * problem.d - 1, rng)
    waiting = full_samples_only(snapshot, rows)
    models = fit_models(problem, waiting, strategy, rng, fit=resources.fit)
    fitted = clock()
    found = search(problem, strategy, models, ALPHA, rng)
    searched = clock()
    chosen = choose(found, scaled_archive(models, strategy), snapshot.batch, rng)
    points = candidates(problem.variables, found.X[chosen], found.X, rng)
    full = take_full(problem, snapshot, points)
    proposal = make_proposal(
        problem, snapshot, models, found.X, full, no_extras(problem)
    )
    timings = Timings(fitted - started, searched - fitted, clock() - searched)
    return replace(proposal, timings=timings)


def in_canonical_order(snapshot: Snapshot) -> Snapshot:
    """Sorted, so that the order in which values were told has no effect."""
    order = np.lexsort((*snapshot.F.T, *snapshot.X.T))
    steps = snapshot.steps_of_full[order]
    return replace(snapshot, X=snapshot.X[order], F=snapshot.F[order], full_steps=steps)


def archive_rows(snapshot: Snapshot, size: int, rng: Generator) -> Ints:
    """Rows of D for training: the newest, and one of each cluster of the others in
    objective space; ascending.
    """
    # Differs from [K-RVEA]: its archive is thinned again at every step and forgets
    # what it left out; here the choice is made from all of D, so that a step depends
    # on nothing but D. Its clusters of inactive vectors need more vectors than N_I - u.
    F = snapshot.F
    if len(F) <= size:
        return np.arange(len(F))
    newest = np.flatnonzero(snapshot.newest)[:size]
    others = np.setdiff1d(np.arange(len(F)), newest)
    scaled = F[others] / np.maximum(np.ptp(F, axis=0), np.finfo(float).tiny)
    kept = one_of_each(cluster_labels(scaled, size - len(newest), rng), rng)
    return np.sort(np.append(newest, others[kept]))


def one_of_each(labels: Ints, rng: Generator) -> Ints:
    """A random row of each cluster, (k,)."""
    shuffled = rng.permutation(len(labels))
    _, first = np.unique(labels[shuffled], return_index=True)
    return shuffled[first]


def full_samples_only(snapshot: Snapshot, rows: Ints) -> Snapshot:
    """The snapshot with these full samples and without cheap-only ones."""
    nothing = Data(snapshot.X[:0], np.empty(0))
    no_steps = np.empty(0, dtype=np.int64)
    m = snapshot.F.shape[1]
    return replace(
        snapshot,
        X=snapshot.X[rows],
        F=snapshot.F[rows],
        full_steps=snapshot.steps_of_full[rows],
        extra=(nothing,) * m,
        extra_steps=(no_steps,) * m,
        frozen=(None,) * m,
    )


def scale_of(models: Models, strategy: Strategy) -> Scale:
    m = len(models.low)
    if strategy.scaling == "paper":
        return Scale(np.zeros(m), np.ones(m))
    # Differs from [K-RVEA]: raw means make the result depend on the user's units.
    return Scale(models.low, np.where(models.spread > 0.0, models.spread, 1.0))


def scaled_archive(models: Models, strategy: Strategy) -> Floats:
    """(n, m)"""
    return scale_of(models, strategy)(models.F)


def search(
    problem: Problem, strategy: Strategy, models: Models, alpha: float, rng: Generator
) -> Found:
    X = models.X
    if len(X) < SMALLEST_START:
        more = latin(problem.variables, SMALLEST_START - len(X), rng)
        X = np.vstack([X, more])
    scale = scale_of(models, strategy)
    V0 = reference_vectors(problem.m, strategy.lattice)  # (K, m)

    def predict(X: Floats) -> Floats:
        return scale(models.means(X))

    def adapted(F: Floats) -> Floats:
        return V0 if strategy.scaling == "range" else adapt(V0, np.ptp(F, axis=0))

    X, V = evolve(
        problem.variables, predict, X, V0, adapted, strategy.w_max, alpha, rng
    )
    mu, v = models.means_and_variances(X)
    return Found(X, scale(mu), v / scale.unit**2, V0, V)


def evolve(
    variables: Variables,
    predict: Callable[[Floats], Floats],
    X: Floats,
    V0: Floats,
    adapted: Callable[[Floats], Floats],
    w_max: int,
    alpha: float,
    rng: Generator,
) -> tuple[Floats, Floats]:
    """RVEA whose vectors follow the range of its population: the last population and
    its vectors.
    """
    F, V = predict(X), V0
    every = math.ceil(ADAPT_EVERY * w_max)
    for w in range(1, w_max + 1):
        children = offspring(variables, X, rng)
        X, F = np.vstack([X, children]), np.vstack([F, predict(children)])
        survivors = select(F, V, (w / w_max) ** alpha)
        X, F = X[survivors], F[survivors]
        if w % every == 0:
            V = adapted(F)
    return X, V


def choose(found: Found, archive: Floats, count: int, rng: Generator) -> Ints:
    """Rows of the population, one of each cluster of active vectors: by distance, or by
    variance if the population has lost diversity. [K-RVEA] Alg. 3.
    """
    if count == 0:
        return np.empty(0, dtype=np.int64)
    nearest, distance = associate(found.mu, found.V, 1.0)
    active, places = np.unique(nearest, return_inverse=True)
    k = min(count, len(active))
    cluster = cluster_labels(found.V[active], k, rng)[places.ravel()]  # (N,)
    lost = inactive(found.mu, found.V0) - inactive(archive, found.V0)
    badness = distance
    if lost > DELTA * len(found.V):
        badness = -found.v.mean(axis=1)
    order = np.lexsort((badness, cluster))
    _, first = np.unique(cluster[order], return_index=True)
    return order[first]


def inactive(F: Floats, V: Floats) -> int:
    """The number of vectors that are nearest to no row."""
    nearest, _ = associate(F, V, 0.0)
    return len(V) - len(np.unique(nearest))


def needs_several_objectives(problem: Problem) -> str | None:
    if problem.m > 1:
        return None
    return "strategies k-rvea and hk-rvea need at least two objectives; choose sbp-bo"


K_RVEA = Strategy(
    step=k_rvea_step, initial=NO_STREAMS, refusal=needs_several_objectives
)
