"""A study file with the `run` keys that only this command reads."""

from collections.abc import Sequence

from counterpoise.commands.output import WRONG_USAGE, fail
from counterpoise.commands.study.specification_file import (
    SpecificationFile,
    read_specification,
)
from counterpoise.local.simulations import (
    FORM,
    RUN,
    Simulation,
    read_simulations,
    with_slots,
    without_run,
    without_simulation,
)
from counterpoise.wire.problems import Fault, fault_at, list_faults
from counterpoise.wire.specification import SpecificationInvalid, parse_specification


def read_study_file(
    name: str, workers: Sequence[str], *, needs_all: bool
) -> tuple[dict[str, object], list[Simulation]]:
    """The specification and what evaluates its objectives.

    Ends the program, with every fault, if the file has one. `needs_all`: an objective
    without `run` is one.
    """
    file = read_specification(name)
    specification = without_run(file.content)
    faults: list[Fault] = []
    simulations: list[Simulation] = []
    try:
        parse_specification(specification)
    except SpecificationInvalid as error:
        faults += error.faults
    if isinstance(file.content, dict):
        try:
            simulations = read_simulations(file.content)
        except SpecificationInvalid as error:
            faults += error.faults
        if needs_all and not faults:
            faults += _missing(file, simulations)
    if faults:
        listed = list_faults(file.with_lines(faults))
        fail(f"{name} is not a valid study:{listed}", WRONG_USAGE)
    return specification, _with_workers(simulations, workers)


def _missing(file: SpecificationFile, simulations: list[Simulation]) -> list[Fault]:
    return [
        fault_at(location, f"objective {name!r} has no `{RUN}`; {FORM}")
        for location, name in without_simulation(file.content, simulations)
    ]


def _with_workers(
    simulations: list[Simulation], workers: Sequence[str]
) -> list[Simulation]:
    by_name: dict[str, int] = {}
    default: int | None = None
    for text in workers:
        name, equals, number = text.rpartition("=")
        if not number.isdecimal() or int(number) < 1 or (equals and not name):
            fail(f"--workers {text!r} is neither N nor OBJECTIVE=N", WRONG_USAGE)
        if equals:
            by_name[name] = int(number)
        else:
            default = int(number)
    try:
        return with_slots(simulations, by_name, default)
    except ValueError as error:
        fail(f"--workers: {error}", WRONG_USAGE)
