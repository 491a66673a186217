"""Whether a noisy point is evaluated again instead of a new one.

| symbol | here          | meaning                                                            |
|--------|---------------|--------------------------------------------------------------------|
| s_i(x) | `deviation`   | deviation of objective i at x without noise, by its model          |
| u(x)   | `uncertainty` | sum of s_i(x) / range_i over the noisy objectives                  |
"""

from dataclasses import replace

import moocore
import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.step_models import Models
from app.optimizer.problem import Problem
from app.optimizer.proposal.full_sample_report import predicted_reports
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.snapshot import Snapshot


def with_repetition(
    problem: Problem, snapshot: Snapshot, proposal: Proposal
) -> Proposal:
    """Replace the new full sample that the models predict with the smallest uncertainty
    by the sample of the front with the largest, if that one is more uncertain.
    """
    noisy = [
        i for i, objective in enumerate(problem.objectives) if objective.noise != 0.0
    ]
    if not noisy or not proposal.models.surrogates or len(proposal.full) == 0:
        return proposal
    front = front_points(problem, snapshot)
    if len(front) == 0:
        return proposal
    models = proposal.models
    of_front = uncertainty(models, front, noisy)
    of_new = uncertainty(models, proposal.full, noisy)
    known, new = int(of_front.argmax()), int(of_new.argmin())
    if of_front[known] <= of_new[new]:
        return proposal
    full = proposal.full.copy()
    full[new] = front[known]
    return _with_full(proposal, full, new)


def front_points(problem: Problem, snapshot: Snapshot) -> Floats:
    """Points of the measured front whose repetition is not awaited already, each once,
    (k, D).
    """
    F = snapshot.F[:, : problem.m]
    feasible = np.ones(len(F), dtype=np.bool_)
    for limit, y in zip(problem.limits, snapshot.F.T, strict=True):
        feasible &= limit.excess(y) == 0.0
    rows = np.flatnonzero(feasible)
    if len(rows) == 0:
        return snapshot.X[:0]
    best = rows[moocore.is_nondominated(F[rows], keep_weakly=True)]
    X: Floats = np.unique(snapshot.X[best], axis=0)
    awaited = np.vstack([snapshot.running.X, *snapshot.pending])
    is_awaited = (X[:, None, :] == awaited[None, :, :]).all(axis=2).any(axis=1)
    return np.asarray(X[~is_awaited])


def uncertainty(models: Models, X: Floats, objectives: list[int]) -> Floats:
    """u(x) of each row, (n,); an objective without a range does not count."""
    total = np.zeros(len(X))
    for i in objectives:
        if models.spread[i] > 0.0:
            _, variance = models.surrogates[i].mean_and_variance(X)
            total += np.sqrt(variance) / models.spread[i]
    return total


def _with_full(proposal: Proposal, full: Floats, row: int) -> Proposal:
    sources = list(proposal.diagnostics.full_sources)
    sources[row] = "repeated"
    reports = proposal.diagnostics.full_samples
    if reports:
        place = len(proposal.promoted) + row
        again = predicted_reports(proposal.models, full[row : row + 1])
        reports = (*reports[:place], *again, *reports[place + 1 :])
    diagnostics = replace(
        proposal.diagnostics, full_sources=tuple(sources), full_samples=reports
    )
    return replace(proposal, full=full, diagnostics=diagnostics)
