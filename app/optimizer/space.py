"""Conversion between the user's units and the unit cube.

A variable's range is warped (log scale), then stretched to [0, 1]. An integer's reaches
half a level beyond its bounds, so that on a linear scale k = low + floor(u (high - low
+ 1)); its code is the centre of that bin, which is all that models see.
"""

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.problem import Variable, Variables


def encode(variables: Variables, X: Floats) -> Floats:
    """Points in the user's units, (n, d), as points of the unit cube."""
    U = np.empty(np.shape(X))  # (n, d)
    for k, variable in enumerate(variables):
        U[:, k] = _encode_column(variable, X[:, k])
    return snap(variables, U)


def decode(variables: Variables, U: Floats) -> Floats:
    """Points of the unit cube, (n, d), in the user's units; integers are whole numbers."""
    X = np.empty(np.shape(U))  # (n, d)
    for k, variable in enumerate(variables):
        inside = np.clip(U[:, k], 0.0, 1.0)
        X[:, k] = _decode_column(variable, inside)
    return X


def snap(variables: Variables, U: Floats) -> Floats:
    """The nearest feasible codes: inside the cube, integers at the centres of their
    bins.

    A float whose range has few numbers gets the code of one of them: else one number
    could be proposed twice.
    """
    snapped = np.clip(U, 0.0, 1.0)  # (n, d)
    for k, variable in enumerate(variables):
        if variable.coarse:
            numbers = _decode_column(variable, snapped[:, k])
            snapped[:, k] = _encode_column(variable, numbers)
    return snapped


def integers(variables: Variables) -> list[int]:
    """Which columns are integers."""
    return [k for k, variable in enumerate(variables) if variable.kind == "int"]


def _encode_column(variable: Variable, x: Floats) -> Floats:
    low, high = _edges(variable)
    return (_warp(variable, x) - low) / (high - low)


def _decode_column(variable: Variable, u: Floats) -> Floats:
    low, high = _edges(variable)
    x = low + u * (high - low)
    if variable.scale == "log":
        x = np.exp(x)
    if variable.kind == "int":
        x = np.floor(x + 0.5)
    return np.clip(x, variable.low, variable.high)


def _warp(variable: Variable, x: Floats) -> Floats:
    if variable.scale == "log":
        return np.log(x)
    return np.asarray(x, dtype=np.float64)


def _edges(variable: Variable) -> tuple[float, float]:
    margin = 0.5 if variable.kind == "int" else 0.0
    bounds = np.array([variable.low - margin, variable.high + margin])
    low, high = _warp(variable, bounds)
    return float(low), float(high)
