"""Conversion between the user's units and the optimiser's numbers: of a discrete or
categorical variable, the number of the level.
"""

from collections.abc import Sequence

import numpy as np

from app.domain.samples import Coordinate
from app.optimizer.arrays import Floats
from app.optimizer.problem import Variable
from app.optimizer.problem import Variables as OptimizerVariables
from app.optimizer.space import decode
from counterpoise.wire.requirements.parser import parse_requirement
from counterpoise.wire.requirements.tree import Requirement
from counterpoise.wire.specification import Choice, Specification
from counterpoise.wire.specification import Variable as DeclaredVariable

Declared = Sequence[DeclaredVariable]


def optimizer_variables(declared: Declared) -> tuple[Variable, ...]:
    return tuple(_optimizer_variable(variable) for variable in declared)


def optimizer_requirements(spec: Specification) -> tuple[Requirement, ...]:
    return tuple(parse_requirement(text) for text in spec.requirements)


def to_numbers(declared: Declared, points: Sequence[Sequence[Coordinate]]) -> Floats:
    """(n, d)"""
    columns = []
    for k, variable in enumerate(declared):
        column = [point[k] for point in points]
        if variable.levels:
            numbers = {level: n for n, level in enumerate(_ordered_levels(variable))}
            column = [numbers[value] for value in column]
        columns.append(np.array(column, dtype=np.float64))
    return np.stack(columns, axis=1)


def from_cube(
    declared: Declared, variables: OptimizerVariables, U: Floats
) -> list[list[Coordinate]]:
    """Points of the unit cube (n, D) as a worker gets them."""
    points: list[list[Coordinate]] = decode(variables, U).tolist()
    for k, variable in enumerate(declared):
        levels = _ordered_levels(variable)
        for point in points:
            if levels:
                point[k] = levels[int(point[k])]
            elif variable.type == "int":
                point[k] = int(point[k])
    return points


def _optimizer_variable(variable: DeclaredVariable) -> Variable:
    if variable.type == "float" or variable.type == "int":
        assert variable.low is not None and variable.high is not None  # noqa: S101, PT018
        return Variable(
            variable.name, variable.low, variable.high, variable.type, variable.scale
        )
    levels = _ordered_levels(variable)
    numbers = None
    if not any(isinstance(level, str) for level in levels):
        numbers = tuple(float(level) for level in levels)
    last = len(levels) - 1
    if variable.type == "discrete":
        return Variable(variable.name, 0, last, "int", numbers=numbers)
    return Variable(variable.name, 0, last, "categorical", numbers=numbers)


def _ordered_levels(variable: DeclaredVariable) -> tuple[Choice, ...]:
    """Choices are sorted, so that the order in which they are listed has no effect on
    what is proposed.
    """
    if variable.type == "categorical":
        return tuple(sorted(variable.levels))  # of one kind
    return variable.levels
