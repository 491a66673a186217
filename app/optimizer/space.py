"""Conversion between the user's units and the unit cube.

A variable's range is warped (log scale), then stretched to [0, 1]. An integer's reaches
half a level beyond its bounds, so that on a linear scale k = low + floor(u (high - low
+ 1)); its code is the centre of that bin, which is all that models see. A categorical
variable has one coordinate per choice: 1 for its value, 0 for the others.

d: number of variables. D: number of coordinates, d and more where a variable is
categorical.
"""

from collections.abc import Iterator

import numpy as np

from app.optimizer.arrays import Floats, Ints
from app.optimizer.problem import Variable, Variables, width_of


def blocks(variables: Variables) -> Iterator[tuple[int, Variable, slice]]:
    """Each variable with its number and its coordinates."""
    start = 0
    for k, variable in enumerate(variables):
        yield k, variable, slice(start, start + variable.width)
        start += variable.width


def categories(variables: Variables) -> list[slice]:
    """The coordinates of each categorical variable."""
    return [
        block
        for _, variable, block in blocks(variables)
        if variable.kind == "categorical"
    ]


def encode(variables: Variables, X: Floats) -> Floats:
    """Points in the user's units, (n, d), as points of the unit cube, (n, D)."""
    U = np.empty((len(X), width_of(variables)))  # (n, D)
    for k, variable, block in blocks(variables):
        if variable.kind == "categorical":
            U[:, block] = indicator(X[:, k].astype(np.int64), variable.width)
        else:
            U[:, block.start] = _encode_column(variable, X[:, k])
    return snap(variables, U)


def decode(variables: Variables, U: Floats) -> Floats:
    """Points of the unit cube, (n, D), in the user's units, (n, d); integers are whole
    numbers, choices their numbers.
    """
    X = np.empty((len(U), len(variables)))  # (n, d)
    for k, variable, block in blocks(variables):
        inside = np.clip(U[:, block], 0.0, 1.0)
        if variable.kind == "categorical":
            X[:, k] = inside.argmax(axis=1)
        else:
            X[:, k] = _decode_column(variable, inside[:, 0])
    return X


def snap(variables: Variables, U: Floats) -> Floats:
    """The nearest feasible codes: inside the cube, integers at the centres of their
    bins, of a category the choice with the largest coordinate.

    A float whose range has few numbers gets the code of one of them: else one number
    could be proposed twice.
    """
    snapped = np.clip(U, 0.0, 1.0)  # (n, D)
    for _, variable, block in blocks(variables):
        if variable.kind == "categorical":
            largest = snapped[:, block].argmax(axis=1)
            snapped[:, block] = indicator(largest, variable.width)
        elif variable.coarse:
            numbers = _decode_column(variable, snapped[:, block.start])
            snapped[:, block.start] = _encode_column(variable, numbers)
    return snapped


def from_unit(variables: Variables, T: Floats) -> Floats:
    """Feasible codes (n, D) of one number in [0, 1] per variable, (n, d): equal parts
    of [0, 1] belong to the choices of a category.
    """
    U = np.empty((len(T), width_of(variables)))  # (n, D)
    for k, variable, block in blocks(variables):
        if variable.kind == "categorical":
            U[:, block] = indicator(level_of(T[:, k], variable.width), variable.width)
        else:
            U[:, block.start] = T[:, k]
    return snap(variables, U)


def level_of(u: Floats, count: int) -> Ints:
    """Of `count` equal parts of [0, 1] the one that each number lies in."""
    level = np.floor(u * count).astype(np.int64)
    return np.minimum(level, count - 1)


def indicator(levels: Ints, count: int) -> Floats:
    """1 in the column of each row's level, else 0; (n, count)."""
    return np.equal(levels[:, None], np.arange(count)).astype(np.float64)


def integers(variables: Variables) -> list[int]:
    """Which coordinates are integers."""
    return [
        block.start
        for _, variable, block in blocks(variables)
        if variable.kind == "int"
    ]


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
