"""How far predictions must keep from the limits: the search prefers points whose models
err to the good side, so fewer samples are feasible than the models expect.
"""

import numpy as np

from app.optimizer.feasible_view import divide
from app.optimizer.problem import Problem
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.counterpoise.settings import CounterpoiseSettings


def caution_of(
    problem: Problem, snapshot: Snapshot, settings: CounterpoiseSettings
) -> float:
    """Deviations, in proportion to the newest full samples of the search that broke a
    limit; 0 while there are few.
    """
    steps = snapshot.steps_of_full
    of_search = np.flatnonzero(steps > 0)
    order = np.argsort(steps[of_search], kind="stable")
    newest = of_search[order][-settings.record :]
    if len(newest) < settings.least_record:
        return 0.0
    _, infeasible = divide(problem, snapshot, least=0)
    share = float(np.isin(newest, infeasible).mean())
    return min(settings.caution * share, settings.most_caution)
