"""What is known in a run of a constrained or mixed problem."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.optimizer.problem import Problem
from app.optimizer.samples import Samples, join
from app.optimizer.snapshot import NO_SAMPLES, Data
from app.optimizer.space import decode

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


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
    full_steps: NDArray[np.int64]  # (n,): the step that asked for each row of X
    extra: list[Data] = field(default_factory=list)
    steps: list[NDArray[np.int64]] = field(default_factory=list)
    infeasible: list[Array] = field(default_factory=list)
    frozen: list[Data | None] = field(default_factory=list)
    # Cheap-only samples that can be promoted
    pool: Samples = NO_SAMPLES

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

    def add_full(self, U: Array, step: int) -> None:
        Y, infeasible = self.values(U)
        count = int((~infeasible).sum())
        self.full_steps = np.append(self.full_steps, np.full(count, step))
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

    def add_pool(self, cheap: Sequence[Array], step: int) -> None:
        """Cheap-only samples; equal points of several outputs are one sample."""
        points = np.unique(np.vstack(cheap), axis=0)
        Y, infeasible = self.values(points)
        known = np.zeros(Y.shape, dtype=np.bool_)
        for j, U in enumerate(cheap):
            known[:, j] = (points[:, None] == U[None]).all(axis=2).any(axis=1)
        kept = ~(infeasible & known[:, self.reporting])
        values = np.where(known, Y, 0.0)[kept]
        steps = np.full(int(kept.sum()), step, dtype=np.int64)
        new = Samples(points[kept], values, known[kept], steps)
        self.pool = join(self.pool, new)

    def promote(self, rows: NDArray[np.int64], step: int) -> None:
        self.add_full(self.pool.X[rows], step)
        self.pool = self.pool.rows(np.setdiff1d(np.arange(len(self.pool)), rows))

    def of_output(self, j: int, U: Array) -> tuple[Array, Bools]:
        """A cheap run only sees infeasible points that it reports itself."""
        Y, infeasible = self.values(U)
        if j != self.reporting:
            infeasible = np.zeros(len(U), dtype=np.bool_)
        return Y[:, j], infeasible

    def add_infeasible(self, U: Array) -> None:
        at = self.reporting
        self.infeasible[at] = np.vstack([self.infeasible[at], U])
