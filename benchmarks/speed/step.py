"""CPU time of one search step: fit, search, selection; and of the same step with
scikit-learn's regressor.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from statistics import median
from time import process_time
from typing import Any, Self

import numpy as np
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits

from app.optimizer.arrays import Floats
from app.optimizer.models.fit_task import FitTask, FrozenModels, thin
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.kriging.likelihood import EPS
from app.optimizer.models.kriging.maximise_likelihood import BOUNDS, START
from app.optimizer.models.kriging.standardise import standardise
from app.optimizer.problem import Problem
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.propose import propose
from app.optimizer.random_streams import NO_OBJECTIVE, generator
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import Strategy
from benchmarks.paper.protocol import begin, choose, tell
from benchmarks.paper.results import Settings
from benchmarks.problems.catalogue import problem
from counterpoise.wire.codes import StepKind

Row = dict[str, Any]
PARTS = ("fit", "search", "select")


def run(
    name: str = "dtlz2",
    sizes: Sequence[int] = (3, 5, 10),
    steps: int = 5,
    seed: int = 0,
    peer: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """One row per number of objectives: the first step, with its frozen fits, apart; of
    the later ones the medians.
    """
    rows = []
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for number, m in enumerate(sizes, 1):
            rows.append(
                {"problem": name, "m": m, "rc": 5, "steps": steps}
                | _measure(name, m, steps, seed, peer)
            )
            if progress:
                progress(number, len(sizes))
    return rows


def _measure(name: str, m: int, steps: int, seed: int, peer: bool) -> Row:
    instance = problem(name, m)
    ours = choose("sbp-bo", Settings())
    theirs = replace(ours, fit=fit_with_scikit_learn)
    declared, snapshot = begin(instance, 5, seed)
    proposal = timed_step(declared, snapshot, ours, seed, ())
    first, frozen = asdict(proposal.timings), proposal.models.frozen
    peers = _peers(snapshot, frozen) if peer else ()
    own, other = [], []
    for _ in range(steps):
        snapshot = tell(instance, snapshot, proposal)
        proposal = timed_step(declared, snapshot, ours, seed, frozen)
        own.append(asdict(proposal.timings))
        if peer:
            other.append(
                asdict(timed_step(declared, snapshot, theirs, seed, peers).timings)
            )
    row = {"first_s": sum(first.values()), **_medians(own, "")}
    return row | (_ratios(row, _medians(other, "peer_")) if peer else {})


def timed_step(
    declared: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    seed: int,
    frozen: FrozenModels,
) -> Proposal:
    rng = generator(seed, StepKind.SEARCH, NO_OBJECTIVE, snapshot.step)
    return propose(declared, snapshot, strategy, rng, frozen=frozen, clock=process_time)


class ScikitLearn(Kriging):
    """Scikit-learn's regressor with the same kernel, start and bounds, in the place of
    ours.
    """

    def fit(self, X: Any, y: Any) -> Self:
        Z, self.x_mean_, self.x_scale_ = standardise(X)
        t, self.y_mean_, self.y_scale_ = standardise(y)
        self.constant_ = not t.any()
        start = (
            np.full(X.shape[1], START)
            if self.theta0 is None
            else np.asarray(self.theta0) * self.x_scale_**2
        )
        lengths = tuple(1.0 / np.sqrt(2.0 * np.array(BOUNDS[::-1])))
        rbf = RBF(1.0 / np.sqrt(2.0 * np.clip(start, *BOUNDS)), lengths)
        kernel = ConstantKernel(1.0) * (rbf + WhiteKernel(EPS, "fixed"))
        optimizer = "fmin_l_bfgs_b" if self.optimize else None
        self.peer_ = GaussianProcessRegressor(
            kernel, alpha=0.0, optimizer=optimizer
        ).fit(Z, t)
        self.theta_ = 0.5 / self.peer_.kernel_.k2.k1.length_scale**2 / self.x_scale_**2
        self.log_likelihood_ = self.peer_.log_marginal_likelihood_value_
        self.y_, self.rows_ = y, np.arange(len(y))
        return self

    def mean(self, X: Floats) -> Floats:
        return np.asarray(
            self.y_mean_ + self.y_scale_ * self.peer_.predict(self._standardise(X))
        )

    def mean_and_std(self, X: Floats) -> tuple[Floats, Floats]:
        mean, std = self.peer_.predict(self._standardise(X), return_std=True)
        return self.y_mean_ + self.y_scale_ * mean, self.y_scale_ * std

    def _standardise(self, X: Floats) -> Floats:
        return np.asarray((X - self.x_mean_) / self.x_scale_)

    def leave_one_out(self) -> tuple[Floats, Floats]:
        return self.y_, np.ones(len(self.y_))  # it has none, and is not charged for it


def fit_with_scikit_learn(task: FitTask) -> Kriging:
    data = thin(task.data) if task.frozen else task.data
    return ScikitLearn(theta0=task.theta, optimize=not task.frozen).fit(data.X, data.y)


def _peers(snapshot: Snapshot, frozen: FrozenModels) -> FrozenModels:
    """Scikit-learn's frozen models with our hyperparameters: fitting them is part of no
    later step.
    """
    tasks = [
        FitTask(data, model.theta_, frozen=True)
        if isinstance(model, Kriging) and data is not None
        else None
        for model, data in zip(frozen, snapshot.frozen, strict=True)
    ]
    return tuple(
        None if task is None else fit_with_scikit_learn(task) for task in tasks
    )


def _medians(times: list[dict[str, float]], prefix: str) -> Row:
    medians: Row = {}
    for part in PARTS:
        medians[f"{prefix}{part}_s"] = median(step[part] for step in times)
    medians[f"{prefix}step_s"] = median(sum(step.values()) for step in times)
    return medians


def _ratios(ours: Row, theirs: Row) -> Row:
    ratios = {
        f"{part}_ratio": theirs[f"peer_{part}_s"] / ours[f"{part}_s"]
        for part in (*PARTS, "step")
    }
    return theirs | ratios


def table(rows: Iterable[Row]) -> Table:
    shown = Table(
        title="One search step: CPU seconds (× with scikit-learn's regressor)"
    )
    for column in ("m", "first step", "fit", "search", "selection", "later step"):
        shown.add_column(column, justify="right")
    for row in rows:
        cells = [_cell(row, part) for part in (*PARTS, "step")]
        shown.add_row(str(row["m"]), f"{row['first_s']:.3f}", *cells)
    return shown


def _cell(row: Row, part: str) -> str:
    ratio = f" (×{row[f'{part}_ratio']:.1f})" if f"{part}_ratio" in row else ""
    return f"{row[f'{part}_s']:.3f}{ratio}"
