"""One run in the paper's protocol: predictions of its models for the final populations,
and the true values.

mu, v predicted means and variances of a final population · F its true values · a range
is that of the observed D^t
"""

from collections import Counter
from collections.abc import Callable, Iterable
from statistics import fmean
from typing import Any

import numpy as np
from rich.table import Table

from app.optimizer.arrays import Floats
from app.optimizer.models.fit_task import FrozenModels
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.propose import propose
from app.optimizer.random_streams import NO_OBJECTIVE, generator
from app.optimizer.snapshot import Snapshot
from benchmarks.paper.protocol import begin, choose, tell, truths
from benchmarks.paper.results import Spec
from benchmarks.problems.catalogue import Instance, problem
from counterpoise.wire.codes import StepKind

Row = dict[str, Any]


def inspect(
    spec: Spec, every: int = 10, progress: Callable[[int], None] = lambda _: None
) -> list[Row]:
    """The same steps as `protocol.run` takes; a row for the first, for every so many,
    and for the last.
    """
    instance, strategy = (
        problem(spec.problem, spec.m),
        choose(spec.strategy, spec.settings),
    )
    declared, snapshot = begin(instance, spec.rc, spec.seed, spec.budget)
    truth = truths(instance, declared)
    frozen: FrozenModels = ()
    rows = []
    while len(snapshot.X) < spec.budget:
        rng = generator(spec.seed, StepKind.SEARCH, NO_OBJECTIVE, snapshot.step)
        proposal = propose(
            declared, snapshot, strategy, rng, truth=truth, frozen=frozen
        )
        after = tell(instance, snapshot, proposal)
        if (
            snapshot.step == 1
            or snapshot.step % every == 0
            or len(after.X) == spec.budget
        ):
            rows.append(row_of(instance, snapshot, proposal, after))
        frozen = proposal.models.frozen
        progress(len(after.X) - len(snapshot.X))
        snapshot = after
    return rows


def row_of(
    instance: Instance, snapshot: Snapshot, proposal: Proposal, after: Snapshot
) -> Row:
    models, X = proposal.models, proposal.population
    mu, v = models.means_and_variances(X)  # (N, m), (N, m)
    F = instance.evaluate(X)  # (N, m)
    reports, diagnostics = proposal.diagnostics.models, proposal.diagnostics
    spread = np.where(models.spread > 0.0, models.spread, 1.0)  # (m,)
    return {
        "problem": instance.name,
        "m": instance.m,
        "step": snapshot.step,
        "full": len(after.X),
        "igd_plus": instance.igd_plus(after.F),
        "population": len(X),
        "sources": Counter(diagnostics.full_sources),
        "alpha": diagnostics.alpha,
        "sbp": diagnostics.sbp,
        "skill": [report and report.skill for report in reports],
        "calibration": [report and report.calibration for report in reports],
        # Of the final population, as calibration is of the data: how many true values
        # lie within 2 deviations.
        "within": (np.abs(F - mu) <= 2.0 * np.sqrt(v)).mean(axis=0).tolist(),
        "error": _errors(mu - F, spread),
        "model_error": [
            _member(each.model, X, F[:, i], spread[i])
            for i, each in enumerate(models.surrogates)
        ],
        "frozen_error": [
            _member(each.frozen, X, F[:, i], spread[i])
            for i, each in enumerate(models.surrogates)
        ],
        "predicted_sum": float(np.median(mu.sum(axis=1))),
        "true_sum": float(np.median(F.sum(axis=1))),
        "told_sum": np.sort(after.F[len(snapshot.F) :].sum(axis=1)).tolist(),
        "lowest_sum": float(after.F.sum(axis=1).min()),
    }


def _errors(residuals: Floats, spread: Floats) -> list[float]:
    """Root mean squares, in ranges."""
    errors: list[float] = (np.sqrt(np.mean(residuals**2, axis=0)) / spread).tolist()
    return errors


def _member(member: Any, X: Floats, f: Floats, spread: float) -> float | None:
    return (
        None
        if member is None
        else float(np.sqrt(np.mean((member.mean(X) - f) ** 2)) / spread)
    )


def table(rows: Iterable[Row]) -> Table:
    shown = Table(title="Final populations: what was predicted, and what was true")
    shown.caption = (
        "Q2, in 2 sd: leave-one-out, means over objectives; population in 2 sd: the same of the truth there; errors in"
        " ranges of the data, means over objectives: of the model, of the frozen one, of both; sums: of all objectives,"
        " medians"
    )
    columns = (
        "step",
        "FE",
        "IGD+",
        "points",
        "alpha",
        "Q2",
        "in 2 sd",
        "population in 2 sd",
    )
    for column in (
        *columns,
        "error model",
        "frozen",
        "both",
        "sum predicted",
        "true",
        "lowest told",
    ):
        shown.add_column(column, justify="right")
    for row in rows:
        shown.add_row(
            *(
                str(row["step"]),
                str(row["full"]),
                f"{row['igd_plus']:.4g}",
                str(row["population"]),
            ),
            f"{row['alpha']:.2f}",
            *(
                _mean(row[key])
                for key in (
                    "skill",
                    "calibration",
                    "within",
                    "model_error",
                    "frozen_error",
                    "error",
                )
            ),
            *(f"{row[key]:.4g}" for key in ("predicted_sum", "true_sum", "lowest_sum")),
        )
    return shown


def _mean(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{fmean(known):.2f}" if known else ""
