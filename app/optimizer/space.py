"""Between the user's units and the unit cube on which everything is minimised.

A variable's range is warped (log scale), then stretched to [0, 1]. An integer's reaches half a level beyond its bounds,
so that on a linear scale k = low + floor(u (high - low + 1)); its code is the centre of that bin, all that models see.
"""

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.problem import Variable


def encode(variables: tuple[Variable, ...], X: Floats) -> Floats:
    """Points in the user's units, (n, d), as points of the unit cube."""
    U = np.empty(np.shape(X))  # (n, d)
    for k, variable in enumerate(variables):
        low, high = _edges(variable)
        U[:, k] = (_warp(variable, X[:, k]) - low) / (high - low)
    return snap(variables, U)


def decode(variables: tuple[Variable, ...], U: Floats) -> Floats:
    """Points of the unit cube, (n, d), in the user's units; integers are whole numbers."""
    X = np.empty(np.shape(U))  # (n, d)
    for k, variable in enumerate(variables):
        X[:, k] = _decode_one(variable, np.clip(U[:, k], 0.0, 1.0))
    return X


def snap(variables: tuple[Variable, ...], U: Floats) -> Floats:
    """The nearest feasible codes: inside the cube, integers at the centres of their bins.

    A float whose range has few numbers is brought to the code of one: else one number could be proposed twice.
    """
    snapped = np.clip(U, 0.0, 1.0)  # (n, d)
    for k, variable in enumerate(variables):
        if variable.coarse:
            low, high = _edges(variable)
            snapped[:, k] = (_warp(variable, _decode_one(variable, snapped[:, k])) - low) / (high - low)
    return snapped


def integers(variables: tuple[Variable, ...]) -> list[int]:
    """Which columns are integers."""
    return [k for k, variable in enumerate(variables) if variable.kind == "int"]


def _warp(variable: Variable, x: Floats) -> Floats:
    return np.log(x) if variable.scale == "log" else np.asarray(x, dtype=np.float64)


def _edges(variable: Variable) -> tuple[float, float]:
    margin = 0.5 if variable.kind == "int" else 0.0
    low, high = _warp(variable, np.array([variable.low - margin, variable.high + margin]))
    return float(low), float(high)


def _decode_one(variable: Variable, u: Floats) -> Floats:
    low, high = _edges(variable)
    x = low + u * (high - low)
    if variable.scale == "log":
        x = np.exp(x)
    if variable.kind == "int":
        x = np.floor(x + 0.5)
    return np.clip(x, variable.low, variable.high)
