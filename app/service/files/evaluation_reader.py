"""Evaluations read from a file, checked against a study: the good rows, and every fault
with its place.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from counterpoise.wire.codes import FailureKind
from counterpoise.wire.problems import Fault
from counterpoise.wire.specification import Specification, Variable
from counterpoise.wire.text import printable
from counterpoise.wire.work import LARGEST

INFEASIBLE = FailureKind.INFEASIBLE  # also what a cell or JSON value contains
NUMBER_FORMAT = "write decimals with a point, and nothing for what is not known"
Location = Callable[[str, str], str]  # ("x" or "values", name) -> where a row has it


@dataclass(frozen=True, slots=True)
class KnownEvaluation:
    """A point in the study's units and what is known of it: a value, or None where it
    is infeasible.
    """

    row: int  # line of a CSV file, index in a JSON list
    pointer: str
    x: tuple[float, ...]
    known: dict[str, float | None]


@dataclass(slots=True)
class Reading:
    """The good rows of a file, and the faults of the others."""

    spec: Specification
    evaluations: list[KnownEvaluation] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def add_fault(self, row: int | None, pointer: str, detail: str) -> None:
        self.faults.append(
            Fault(pointer=printable(pointer), detail=printable(detail), row=row)
        )

    def add_row(
        self,
        row: int,
        pointer: str,
        location: Location,
        x: Mapping[str, Any],
        known: Mapping[str, Any],
    ) -> None:
        """Check a row, and take it if it has no fault."""
        faults_before = len(self.faults)
        for variable in self.spec.variables:
            fault = _variable_fault(variable, x.get(variable.name))
            if fault:
                self.add_fault(row, location("x", variable.name), fault)
        for name, value in known.items():
            fault = _value_fault(value)
            if fault:
                self.add_fault(row, location("values", name), fault)
        if len(self.faults) == faults_before:
            point = tuple(
                _canonical(variable, x[variable.name])
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


def _variable_fault(variable: Variable, value: Any) -> str | None:
    """Why this cannot be the variable's value."""
    if value is None:
        return (
            f"variable {variable.name!r} needs a value: a point has all its coordinates"
        )
    if not _is_number(value):
        return f"{shortened(value)} is not a number; {NUMBER_FORMAT}"
    if not variable.low <= value <= variable.high:
        return f"{shortened(value)} is outside {variable.low!r} to {variable.high!r}"
    if variable.type == "int" and not float(value).is_integer():
        return f"{variable.name!r} is an integer, {shortened(value)} is not"
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


def _canonical(variable: Variable, value: float) -> float:
    """One representation of a number, so that equal points are found: -0 is 0, 3.0 of
    an integer is 3.
    """
    return int(value) if variable.type == "int" else float(value) + 0.0
