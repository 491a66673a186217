"""Runs of a constrained problem: whole batches are waited for, full samples counted."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from app.domain.planning.stepping import LAMBDA
from app.optimizer.problem import Problem
from app.optimizer.propose import propose
from app.optimizer.random_streams import NO_OBJECTIVE, generator
from app.optimizer.samples import no_samples
from app.optimizer.search.design import initial_design
from app.optimizer.search.genetic_algorithm import next_generation
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.space import decode
from app.optimizer.strategies.initial_phase import initial_points
from app.optimizer.strategies.strategy import Strategy
from benchmarks.constrained.told import BenchmarkProblem, Told
from counterpoise.wire.codes import StepKind

Array = NDArray[np.float64]
BATCH = 3


def begin(
    problem: BenchmarkProblem, declared: Problem, strategy: Strategy, seed: int
) -> Told:
    d, outputs = declared.width, len(declared.outputs)
    nothing = np.empty((0, d))
    told = Told(
        problem,
        declared,
        nothing,
        nothing,
        np.empty((0, outputs)),
        np.empty(0, dtype=np.int64),
        extra=[Data(nothing, np.empty(0))] * outputs,
        steps=[np.empty(0, dtype=np.int64)] * outputs,
        infeasible=[nothing] * outputs,
        frozen=[None] * outputs,
        pool=no_samples(d, outputs),
    )
    rng = generator(seed, StepKind.INITIAL, NO_OBJECTIVE, 0)
    told.add_full(initial_design(declared, problem.n, rng), 0)
    if strategy.initial.common:
        points = initial_points(declared, problem.n, told.full, rng)
        for j, U in enumerate(points):
            told.add_extra(j, U, 0)
        told.add_pool(points, 0)
        return told
    for j in declared.cheap:
        told.frozen[j] = _stream(told, j, seed)
    return told


def _stream(told: Told, j: int, seed: int) -> Data:
    """n r_j evaluations of a cheap objective, the design's own included."""
    data = Data(told.X, told.F[:, j])
    taken = told.full
    total, number = len(told.full) * int(told.declared.ratios[j]), 1
    while len(taken) < total:
        rng = generator(seed, StepKind.STREAM, j, number)
        size = min(LAMBDA, total - len(taken))
        ids = np.arange(len(data))
        children = next_generation(told.declared, data, ids, size, rng, taken)
        y, infeasible = told.of_output(j, children)
        data = Data(
            np.vstack([data.X, children[~infeasible]]),
            np.append(data.y, y[~infeasible]),
        )
        told.add_infeasible(children[infeasible])
        taken = np.vstack([taken, children])
        number += 1
    return data


def optimise(
    problem: BenchmarkProblem,
    strategy: Strategy,
    seed: int,
    search: int,
    *,
    limits: bool = True,
) -> Array:
    """All full samples in natural units: the n of the design, then those of the search,
    (n + search, d).
    """
    declared = problem.declare(limits=limits)
    told = begin(problem, declared, strategy, seed)
    budget = problem.n + search
    snapshot = _snapshot(told, 1, budget)
    while len(told.full) < budget:
        rng = generator(seed, StepKind.SEARCH, NO_OBJECTIVE, snapshot.step)
        proposal = propose(declared, snapshot, strategy, rng)
        told.promote(proposal.promoted, snapshot.step)
        told.add_full(proposal.full, snapshot.step)
        for j, U in enumerate(proposal.cheap):
            told.add_extra(j, U, snapshot.step)
        if strategy.initial.common:
            told.add_pool(proposal.cheap, snapshot.step)
        snapshot = replace(
            _snapshot(told, snapshot.step + 1, budget),
            theta=proposal.theta,
            frozen_theta=proposal.frozen_theta,
            warm_starts=proposal.warm_starts,
        )
    return decode(declared.variables, told.full)


def _snapshot(told: Told, step: int, budget: int) -> Snapshot:
    done = len(told.full)
    return Snapshot(
        step,
        done,
        budget,
        min(BATCH, budget - done),
        told.X,
        told.F,
        extra=tuple(told.extra),
        extra_steps=tuple(told.steps),
        infeasible=tuple(told.infeasible),
        frozen=tuple(told.frozen),
        pool=told.pool,
        full_steps=told.full_steps,
        taken=(told.full,) * len(told.declared.outputs),
    )
