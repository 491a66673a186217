"""One run of a strategy with common cheap points in the paper's protocol, with the
paper's number of evaluations per objective.

The initial phase evaluates the design on all objectives and (r_j - 1) n common points
on cheap objective j. A step evaluates what promoted samples lack, and r_j u cheap
values in all.
"""

from dataclasses import replace
from time import process_time

import numpy as np
from numpy.typing import NDArray

from app.optimizer.problem import Problem
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.propose import propose
from app.optimizer.random_streams import NO_OBJECTIVE, generator
from app.optimizer.samples import Samples, join
from app.optimizer.search.design import initial_design
from app.optimizer.snapshot import Data, Forecasts, Snapshot
from app.optimizer.strategies.initial_phase import (
    COMMON_POINTS,
    InitialPhase,
    initial_points,
)
from app.optimizer.strategies.strategy import Strategy
from benchmarks.paper.evaluations import Evaluations, ratios
from benchmarks.problems.catalogue import Instance
from counterpoise.wire.codes import StepKind

Array = NDArray[np.float64]
BATCH = 3  # u


def optimise_by_promotion(
    instance: Instance,
    rc: int | tuple[float, ...],
    strategy: Strategy,
    seed: int,
    budget: int = 300,
) -> tuple[Array, list[float]]:
    """All values of full samples (budget, m), and the CPU time of every step."""
    declared = instance.declare(ratios(instance, rc))
    evaluations = Evaluations(instance, declared, budget)
    n = min(instance.n, budget)
    snapshot = begin(declared, evaluations, n, seed, budget, strategy.initial)
    seconds = []
    while len(snapshot.X) < budget:
        rng = generator(seed, StepKind.SEARCH, NO_OBJECTIVE, snapshot.step)
        before = process_time()
        proposal = propose(declared, snapshot, strategy, rng)
        seconds.append(process_time() - before)
        snapshot = tell(evaluations, snapshot, proposal)
    if not evaluations.are_used_up():
        raise ValueError(
            f"{evaluations.counts.tolist()} evaluations; {evaluations.allowed.tolist()} were to be made"
        )
    return snapshot.F, seconds


def begin(
    declared: Problem,
    evaluations: Evaluations,
    n: int,
    seed: int,
    budget: int,
    initial: InitialPhase = COMMON_POINTS,
) -> Snapshot:
    """The snapshot after the initial phase."""
    X = initial_design(declared, n, generator(seed, StepKind.INITIAL, NO_OBJECTIVE, 0))
    rng = generator(seed, StepKind.STREAM, NO_OBJECTIVE, 0)
    points = initial_points(declared, len(X), X, rng, initial.generation)
    F = evaluations.all(X)
    pool = evaluate_cheap(evaluations, points, step=0)
    batch = min(BATCH, budget - len(X))
    return with_cheap_values(Snapshot(1, len(X), budget, batch, X, F, pool=pool), pool)


def evaluate_cheap(
    evaluations: Evaluations, points: tuple[Array, ...], step: int
) -> Samples:
    """Cheap-only samples; a point of several objectives is one sample."""
    m = len(points)
    X, rows = join_points(points)
    F, known = np.zeros((len(X), m)), np.zeros((len(X), m), dtype=np.bool_)
    for j, own in enumerate(rows):
        F[own, j] = evaluations.some(X[own], [j])[:, 0]
        known[own, j] = True
    return Samples(X, F, known, np.full(len(X), step, dtype=np.int64))


def join_points(points: tuple[Array, ...]) -> tuple[Array, list[NDArray[np.int64]]]:
    """Every point once, (N, d), in the order in which they first appear, and the rows
    of each list.
    """
    stacked = np.vstack(points)
    _, first, number = np.unique(
        stacked, axis=0, return_index=True, return_inverse=True
    )
    place = np.argsort(np.argsort(first))  # of each distinct point
    ends = np.cumsum([len(own) for own in points])[:-1]
    return stacked[np.sort(first)], np.split(place[number.ravel()], ends)


def with_cheap_values(snapshot: Snapshot, pool: Samples) -> Snapshot:
    """The snapshot with this pool, whose values are also what the models learn from."""
    extra, steps = [], []
    for j in range(snapshot.F.shape[1]):
        rows = pool.known[:, j]
        extra.append(Data(pool.X[rows], pool.F[rows, j]))
        steps.append(pool.steps[rows])
    return replace(snapshot, pool=pool, extra=tuple(extra), extra_steps=tuple(steps))


def tell(evaluations: Evaluations, snapshot: Snapshot, proposal: Proposal) -> Snapshot:
    """The snapshot of the step after, once all that was proposed has been evaluated."""
    promoted = complete(evaluations, snapshot.pool.rows(proposal.promoted))
    X = np.vstack([snapshot.X, snapshot.pool.X[proposal.promoted], proposal.full])
    new = np.vstack([promoted, evaluations.all(proposal.full)])
    left = np.setdiff1d(np.arange(len(snapshot.pool)), proposal.promoted)
    extras = evaluate_cheap(evaluations, proposal.cheap, snapshot.step)
    after = replace(
        snapshot,
        step=snapshot.step + 1,
        settled=len(X),
        batch=min(BATCH, snapshot.budget - len(X)),
        X=X,
        F=np.vstack([snapshot.F, new]),
        warm_starts=proposal.warm_starts,
        full_steps=np.append(snapshot.steps_of_full, np.full(len(new), snapshot.step)),
        forecasts=forecasts(snapshot, proposal, new),
    )
    return with_cheap_values(after, join(snapshot.pool.rows(left), extras))


def complete(evaluations: Evaluations, samples: Samples) -> Array:
    """All values of the samples, (N, m); only unknown ones are evaluated."""
    F = samples.F.copy()
    for j in range(F.shape[1]):
        missing = ~samples.known[:, j]
        F[missing, j] = evaluations.some(samples.X[missing], [j])[:, 0]
    return F


def forecasts(
    snapshot: Snapshot, proposal: Proposal, told: Array
) -> tuple[Forecasts, ...]:
    """The record of the two models of each expensive objective, with the newest full
    samples.
    """
    reports = proposal.diagnostics.full_samples
    records = []
    for i, record in enumerate(snapshot.forecasts):
        if proposal.diagnostics.co_models[i] is None:
            records.append(record)
            continue
        plain = [report.plain[i] for report in reports]
        co = [report.co[i] for report in reports]
        records.append(
            Forecasts(
                np.append(record.told, told[:, i]),
                np.append(record.plain, np.array(plain, dtype=np.float64)),
                np.append(record.co, np.array(co, dtype=np.float64)),
            )
        )
    return tuple(records)
