"""The point of a trust region that promises the largest descent of all objectives
([MHT]).

| symbol | here         | meaning                                                       |
|--------|--------------|---------------------------------------------------------------|
| m      | `models`     | models of the objectives, or cheap objectives themselves      |
| p      | `ideal`      | the smallest value of each in the box                         |
| r      | `drop` (m,)  | f(x_k) - p                                                    |
| t      | `change`     | smallest t with m(x) - f(x_k) <= t r for an x of the box      |
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint, minimize

from app.optimizer.arrays import Floats

DIFFERENCE = 1e-6  # of numerical derivatives
Models = Callable[[Floats], Floats]  # (N, d) -> (N, m)


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    x: Floats  # (d,)
    drop: Floats  # (m,)
    change: float  # -1: all objectives reach their ideal; 0: the centre is critical


def steepest_descent(
    models: Models, centre: Floats, values: Floats, box: Bounds, starts: Floats
) -> Descent:
    """`values` (m,): those of the centre. `starts` (N, d): points of the box."""
    starts = np.vstack([centre, starts])
    F = models(starts)  # (N, m)
    columns = range(len(values))
    ideal = np.array([_minimum(models, i, starts, F, box) for i in columns])
    drop = values - ideal
    if (drop <= 0.0).any():
        return Descent(centre, drop, 0.0)
    changes = relative_change(F, values, drop)
    best = int(changes.argmin())
    x = _balanced(models, starts[best], changes[best], values, drop, box)
    change = float(relative_change(models(x[None]), values, drop)[0])
    if change > changes[best]:
        x, change = starts[best], float(changes[best])
    return Descent(x, drop, min(change, 0.0))


def relative_change(F: Floats, values: Floats, drop: Floats) -> Floats:
    """max_i (f_i - f_i(x_k)) / r_i of each row of F (N, m): negative where all
    objectives fall; (N,). It does not depend on units.
    """
    return np.asarray(((F - values) / drop).max(axis=1))


def _minimum(models: Models, i: int, starts: Floats, F: Floats, box: Bounds) -> float:
    def objective(x: Floats) -> tuple[float, Floats]:
        value, slopes = _with_slopes(models, x)
        return float(value[i]), slopes[i]

    start = starts[F[:, i].argmin()]
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=box)
    return min(float(found.fun), float(F[:, i].min()))


def _balanced(
    models: Models,
    start: Floats,
    change: float,
    values: Floats,
    drop: Floats,
    box: Bounds,
) -> Floats:
    """The minimum of t over (x, t), subject to m(x) - f(x_k) <= t r."""
    ones = np.ones((len(values), 1))

    def slack(z: Floats) -> Floats:
        scaled = (models(z[None, :-1])[0] - values) / drop
        return np.asarray(z[-1] - scaled)

    def slack_slopes(z: Floats) -> Floats:
        _, slopes = _with_slopes(models, z[:-1])
        return np.hstack([-slopes / drop[:, None], ones])

    def t_and_slopes(z: Floats) -> tuple[float, Floats]:
        return float(z[-1]), np.eye(1, len(z), len(z) - 1)[0]

    bounds = Bounds(np.append(box.lb, -1.0), np.append(box.ub, np.inf))
    balance = NonlinearConstraint(slack, 0.0, np.inf, slack_slopes)
    found = minimize(
        t_and_slopes,
        np.append(start, change),
        jac=True,
        method="SLSQP",
        bounds=bounds,
        constraints=balance,
    )
    x = found.x[:-1] if np.isfinite(found.x).all() else start
    return np.clip(x, box.lb, box.ub)


def _with_slopes(models: Models, x: Floats) -> tuple[Floats, Floats]:
    """Values (m,) and differences inside the unit cube, (m, d), with one call of the
    models.
    """
    steps = DIFFERENCE * np.eye(len(x))
    above, below = np.minimum(x + steps, 1.0), np.maximum(x - steps, 0.0)
    F = models(np.vstack([x, above, below]))  # (2 d + 1, m)
    rise = (F[1 : len(x) + 1] - F[len(x) + 1 :]).T  # (m, d)
    return F[0], np.asarray(rise / np.diag(above - below))
