"""Runs of a constrained problem: whole batches are waited for, full samples counted."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.domain.planning.stepping import LAMBDA
from app.optimizer.problem import Problem
from app.optimizer.propose import propose
from app.optimizer.random_streams import NO_OBJECTIVE, generator
from app.optimizer.search.design import initial_design
from app.optimizer.search.genetic_algorithm import next_generation
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.space import decode
from app.optimizer.strategies.strategy import Strategy
from counterpoise.wire.codes import StepKind

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
BATCH = 3


class BenchmarkProblem(Protocol):
    """`evaluate`: X (n, d) as `decode` returns it -> objectives (n, m), constraints."""

    @property
    def n(self) -> int: ...
    @property
    def m(self) -> int: ...
    @property
    def hidden(self) -> Callable[[Array], Bools] | None: ...
    @property
    def evaluate(self) -> Callable[[Array], tuple[Array, Array]]: ...
    def declare(self, *, limits: bool = True) -> Problem: ...


@dataclass(slots=True)
class Told:
    """What was told of each output so far; infeasible points have no values."""

    problem: BenchmarkProblem
    declared: Problem
    full: Array  # (n, d): all full samples, in order
    X: Array  # (n, d): those with all values
    F: Array  # (n, M)
    extra: list[Data] = field(default_factory=list)
    steps: list[NDArray[np.int64]] = field(default_factory=list)
    infeasible: list[Array] = field(default_factory=list)
    frozen: list[Data | None] = field(default_factory=list)

    def values(self, U: Array) -> tuple[Array, Bools]:
        """Values of all declared outputs at points of the cube, and which are
        infeasible for a run.
        """
        X = decode(self.declared.variables, U)
        F, G = self.problem.evaluate(X)
        if self.declared.constraints:
            return np.hstack([F, G]), self._hidden(X)
        return F, self._hidden(X) | (G > 0.0).any(axis=1)

    def _hidden(self, X: Array) -> Bools:
        hidden = self.problem.hidden
        return np.zeros(len(X), dtype=np.bool_) if hidden is None else hidden(X)

    @property
    def reporting(self) -> int:
        """The output whose run reports infeasible points: the first if the constraint
        is hidden, else the slow one, which computes the constraints.
        """
        return 0 if self.problem.hidden is not None else self.problem.m - 1

    def add_full(self, U: Array) -> None:
        Y, infeasible = self.values(U)
        self.full = np.vstack([self.full, U])
        self.X = np.vstack([self.X, U[~infeasible]])
        self.F = np.vstack([self.F, Y[~infeasible]])
        self.add_infeasible(U[infeasible])

    def add_extra(self, j: int, U: Array, step: int) -> None:
        y, infeasible = self.of_output(j, U)
        old = self.extra[j]
        self.extra[j] = Data(
            np.vstack([old.X, U[~infeasible]]), np.append(old.y, y[~infeasible])
        )
        steps = np.full(int((~infeasible).sum()), step, dtype=np.int64)
        self.steps[j] = np.append(self.steps[j], steps)
        self.add_infeasible(U[infeasible])

    def of_output(self, j: int, U: Array) -> tuple[Array, Bools]:
        """A cheap run only sees infeasible points that it reports itself."""
        Y, infeasible = self.values(U)
        if j != self.reporting:
            infeasible = np.zeros(len(U), dtype=np.bool_)
        return Y[:, j], infeasible

    def add_infeasible(self, U: Array) -> None:
        at = self.reporting
        self.infeasible[at] = np.vstack([self.infeasible[at], U])


def begin(problem: BenchmarkProblem, declared: Problem, seed: int) -> Told:
    d, outputs = declared.width, len(declared.outputs)
    nothing = np.empty((0, d))
    told = Told(
        problem,
        declared,
        nothing,
        nothing,
        np.empty((0, outputs)),
        extra=[Data(nothing, np.empty(0))] * outputs,
        steps=[np.empty(0, dtype=np.int64)] * outputs,
        infeasible=[nothing] * outputs,
        frozen=[None] * outputs,
    )
    rng = generator(seed, StepKind.INITIAL, NO_OBJECTIVE, 0)
    told.add_full(initial_design(declared, problem.n, rng))
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
    told = begin(problem, declared, seed)
    budget = problem.n + search
    snapshot = _snapshot(told, 1, budget)
    while len(told.full) < budget:
        rng = generator(seed, StepKind.SEARCH, NO_OBJECTIVE, snapshot.step)
        proposal = propose(declared, snapshot, strategy, rng)
        told.add_full(proposal.full)
        for j, U in enumerate(proposal.cheap):
            told.add_extra(j, U, snapshot.step)
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
        taken=(told.full,) * len(told.declared.outputs),
    )
