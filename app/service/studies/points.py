"""A point that an engineer gives: every variable by name, within its bounds."""

from collections.abc import Mapping

from app.service.files.evaluation_reader import canonical, variable_fault
from counterpoise.wire.coordinates import Coordinate
from counterpoise.wire.problems import Fault, did_you_mean
from counterpoise.wire.specification import Specification


def parse_point(
    spec: Specification, point: Mapping[str, Coordinate], pointer: str
) -> tuple[list[Coordinate], list[Fault]]:
    """The point in the order of the variables, and all that is wrong with it."""
    faults = []
    names = [variable.name for variable in spec.variables]
    for name in point:
        if name not in names:
            detail = f"there is no variable {name!r}{did_you_mean(name, names)}"
            faults.append(Fault(pointer=f"{pointer}/{name}", detail=detail))
    x: list[Coordinate] = []
    for variable in spec.variables:
        value = point.get(variable.name)
        place = f"{pointer}/{variable.name}"
        fault = variable_fault(variable, value)
        if fault is not None:
            faults.append(Fault(pointer=place, detail=fault))
        else:
            x.append(canonical(variable, value))
    return x, faults
