"""Evaluations read from a file, checked against a study: the good rows, and every fault
with its place.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from app.domain.samples import Point
from app.service.files.fault_list import FaultList
from counterpoise.wire.codes import FailureKind
from counterpoise.wire.coordinates import Coordinate, coordinate_text
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.specification import Specification, Variable
from counterpoise.wire.work import LARGEST

INFEASIBLE = FailureKind.INFEASIBLE  # also what a cell or JSON value contains
MOST_ROWS = 100_000  # of a request, so that it keeps no processor busy for long
TOO_MANY_ROWS = f"a request has at most {MOST_ROWS} rows; `counterpoise study import` sends a larger file in parts"
NUMBER_FORMAT = "write decimals with a point, and nothing for what is not known"
MOST_SHOWN = 10  # values of a variable in a message
Location = Callable[[str, str], str]  # ("x" or "values", name) -> where a row has it


@dataclass(frozen=True, slots=True)
class KnownEvaluation:
    """A point in the study's units and what is known of it: a value, or None where it
    is infeasible.
    """

    row: int  # line of a CSV file, index in a JSON list
    pointer: str
    x: Point
    known: dict[str, float | None]


@dataclass(slots=True)
class Reading:
    """The good rows of a file, and the faults of the others."""

    spec: Specification
    evaluations: list[KnownEvaluation] = field(default_factory=list)
    faults: FaultList = field(default_factory=FaultList)

    def add_row(
        self,
        row: int,
        pointer: str,
        location: Location,
        x: Mapping[str, Any],
        known: Mapping[str, Any],
    ) -> None:
        """Check a row, and take it if it has no fault."""
        faults_before = self.faults.count
        for variable in self.spec.variables:
            fault = variable_fault(variable, x.get(variable.name))
            if fault:
                self.faults.add(row, partial(location, "x", variable.name), fault)
        for name, value in known.items():
            fault = _value_fault(value)
            if fault:
                self.faults.add(row, partial(location, "values", name), fault)
        if self.faults.count == faults_before:
            point = tuple(
                canonical(variable, x[variable.name])
                for variable in self.spec.variables
            )
            values = {
                name: None if value == INFEASIBLE else float(value) + 0.0
                for name, value in known.items()
            }
            self.evaluations.append(KnownEvaluation(row, pointer, point, values))


def shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def variable_fault(variable: Variable, value: Any) -> str | None:
    """Why this cannot be the variable's value."""
    if value is None:
        return (
            f"variable {variable.name!r} needs a value: a point has all its coordinates"
        )
    if variable.levels:
        return _level_fault(variable, value)
    if not _is_number(value):
        return f"{shortened(value)} is not a number; {NUMBER_FORMAT}"
    low, high = variable.low, variable.high
    if low is not None and high is not None and not low <= value <= high:
        return f"{shortened(value)} is outside {low!r} to {high!r}"
    if variable.type == "int" and not float(value).is_integer():
        return f"{variable.name!r} is an integer, {shortened(value)} is not"
    return None


def _level_fault(variable: Variable, value: Any) -> str | None:
    """Why this is none of the values of a discrete or categorical variable."""
    if _level(variable, value) is not None:
        return None
    levels = [coordinate_text(level) for level in variable.levels]
    hint = did_you_mean(str(value)[:100], levels)
    if not hint:
        more = ", …" if len(levels) > MOST_SHOWN else ""
        hint = f"; there are {', '.join(levels[:MOST_SHOWN])}{more}"
    return f"{shortened(value)} is none of the values of {variable.name!r}{hint}"


def _level(variable: Variable, value: Any) -> Coordinate | None:
    """As it was declared: 2 and 2.0 are the same number, but 1 is not true."""
    for level in variable.levels:
        if level == value and isinstance(level, bool) == isinstance(value, bool):
            return level
    return None


def _value_fault(value: Any) -> str | None:
    """Why this cannot be the value of an objective."""
    if value == INFEASIBLE:
        return None
    if not _is_number(value):
        return f"{shortened(value)} is not a number; {NUMBER_FORMAT}"
    if not abs(value) <= LARGEST:
        return (
            f"a value lies within {-LARGEST:g} and {LARGEST:g}, not {shortened(value)}"
        )
    return None


def canonical(variable: Variable, value: Any) -> Coordinate:
    """One representation of a number, so that equal points are found: -0 is 0, 3.0 of
    an integer is 3.
    """
    level = _level(variable, value)
    if level is not None:
        return level
    return int(value) if variable.type == "int" else float(value) + 0.0
