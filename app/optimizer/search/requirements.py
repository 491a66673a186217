"""Requirements: which points satisfy them, and how children that do not are pulled back."""

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np

from app.optimizer.arrays import Bools, Floats
from app.optimizer.problem import Variables, requirements_of
from app.optimizer.space import decode, snap
from counterpoise.wire.requirements.tree import (
    Call,
    Expression,
    Name,
    Negation,
    Number,
    Operation,
    Requirement,
)

HALVINGS = 20  # of the segment between a child and a parent

OPERATORS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
}
COMPARISONS: Mapping[str, Callable[[Floats, Floats], Bools]] = {
    "<=": np.less_equal,
    "<": np.less,
    ">=": np.greater_equal,
    ">": np.greater,
}
FUNCTIONS: Mapping[str, Callable[[Floats], Floats]] = {
    "abs": np.abs,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
}


def satisfied(variables: Variables, U: Floats) -> Bools:
    """Which points of the cube, (n, D), satisfy all requirements; (n,)."""
    requirements = requirements_of(variables)
    result = np.ones(len(U), dtype=np.bool_)
    if not requirements:
        return result
    columns = _columns(variables, decode(variables, U))
    for requirement in requirements:
        result &= holds(requirement, columns)
    return result


def holds(requirement: Requirement, columns: Mapping[str, Floats]) -> Bools:
    """Where the comparison holds, (n,), given the numbers of each variable.

    It does not where a side is no finite number: sqrt(-1), 1 / 0.
    """
    with np.errstate(all="ignore"):
        sides = [evaluate(operand, columns) for operand in requirement.operands]
        result = np.isfinite(sides[0])
        for side in sides[1:]:
            result = result & np.isfinite(side)
        for left, operator, right in zip(
            sides[:-1], requirement.operators, sides[1:], strict=True
        ):
            result = result & COMPARISONS[operator](left, right)
    return np.asarray(result)


def evaluate(expression: Expression, columns: Mapping[str, Floats]) -> Floats:
    """(n,), or () of an expression without variables."""
    match expression:
        case Number(value):
            return np.asarray(value)
        case Name(name, _):
            return columns[name]
        case Negation(operand):
            return np.negative(evaluate(operand, columns))
        case Operation(operator, left, right):
            return OPERATORS[operator](
                evaluate(left, columns), evaluate(right, columns)
            )
        case Call(function, arguments):
            values = [evaluate(argument, columns) for argument in arguments]
            return _call(function, values)


def pull_back(variables: Variables, children: Floats, parents: Floats) -> Floats:
    """Children (n, D) that violate a requirement are moved towards their parents, by
    bisection and only as far as needed; a parent that violates one too is returned
    instead.
    """
    if not requirements_of(variables):
        return children
    bad = np.flatnonzero(~satisfied(variables, children))
    if len(bad) == 0:
        return children
    start, direction = parents[bad], children[bad] - parents[bad]
    low, high = np.zeros(len(bad)), np.ones(len(bad))
    best = start.copy()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        points = snap(variables, start + middle[:, None] * direction)
        good = satisfied(variables, points)
        best[good] = points[good]
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    result = children.copy()
    result[bad] = best
    return result


def _columns(variables: Variables, X: Floats) -> dict[str, Floats]:
    """The numbers that requirements compute with, by name of the variable."""
    columns = {}
    for k, variable in enumerate(variables):
        column = X[:, k]
        if variable.numbers is not None:
            levels = (column - variable.low).astype(np.int64)
            column = np.asarray(variable.numbers)[levels]
        columns[variable.name] = column
    return columns


def _call(function: str, values: list[Floats]) -> Floats:
    if function == "min":
        return reduce(np.minimum, values)
    if function == "max":
        return reduce(np.maximum, values)
    return FUNCTIONS[function](values[0])
