"""How each objective of a study is evaluated on this machine: the `run` keys of a study
file.

They belong to the machine, not to the study: no server ever sees them.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from counterpoise.wire.problems import Fault, did_you_mean, fault_at
from counterpoise.wire.specification import SpecificationInvalid

RUN = "run"
LISTS = ("objectives", "constraints")  # whose items may have the key
FIELDS = ("function", "command", "format", "slots")
FORMATS = ("dakota", "dakota-aprepro")
MOST_SLOTS = 1000
FUNCTION = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")
FORM = (
    "write a function (module:function), a command, or"
    " {command: ..., slots: 2} or {function: ..., slots: 2}"
)
Function = str | Callable[..., Any]
Document = Mapping[Any, Any]


@dataclass(frozen=True, slots=True)
class Simulation:
    """What evaluates the jobs of one objective: a function or a command."""

    objective: str
    function: Function | None = None  # module:function, or the function itself
    command: tuple[str, ...] = ()
    slots: int = 1
    form: str | None = None  # of the command's files, if they are another tool's


def without_run(document: Any) -> Any:
    """The specification: the document without its `run` keys."""
    if not isinstance(document, dict):
        return document
    specification = dict(document)
    for key in LISTS:
        items = document.get(key)
        if isinstance(items, list):
            specification[key] = [_without_run(item) for item in items]
    return specification


def _without_run(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    return {key: value for key, value in item.items() if key != RUN}


def read_simulations(document: Document) -> list[Simulation]:
    """What the `run` keys say; raises SpecificationInvalid, with every fault."""
    found: list[Simulation] = []
    faults: list[Fault] = []
    for location, item in _items_with_run(document):
        try:
            found.append(_simulation(item))
        except ValueError as error:
            faults.append(fault_at((*location, RUN), str(error)))
    if faults:
        raise SpecificationInvalid(faults)
    return found


def without_simulation(
    document: Document, simulations: list[Simulation]
) -> list[tuple[tuple[int | str, ...], str]]:
    """Place and name of each objective that has jobs and no `run`."""
    known = {simulation.objective for simulation in simulations}
    missing = []
    for location, item in _items(document):
        if item.get("same_run_as") is None and item.get("name") not in known:
            missing.append((location, str(item.get("name"))))
    return missing


def with_slots(
    simulations: list[Simulation], slots: Mapping[str, int], default: int | None
) -> list[Simulation]:
    """The number of slots by objective, or for all others; ValueError for an unknown
    name.
    """
    names = [simulation.objective for simulation in simulations]
    for name in slots:
        if name not in names:
            raise ValueError(
                f"objective {name!r} has no `run` in this study"
                f"{did_you_mean(name, names)}"
            )
    return [
        replace(
            simulation,
            slots=slots.get(simulation.objective, default or simulation.slots),
        )
        for simulation in simulations
    ]


def _items(document: Document) -> Iterator[tuple[tuple[int | str, ...], Document]]:
    for key in LISTS:
        items = document.get(key)
        for index, item in enumerate(items if isinstance(items, list) else []):
            if isinstance(item, dict):
                yield (key, index), item


def _items_with_run(
    document: Document,
) -> Iterator[tuple[tuple[int | str, ...], Document]]:
    return ((location, item) for location, item in _items(document) if RUN in item)


def _simulation(item: Document) -> Simulation:
    name, run = str(item.get("name")), item[RUN]
    if item.get("same_run_as") is not None:
        raise ValueError(
            "has no jobs of its own: write `run` for the objective that"
            " same_run_as names"
        )
    if callable(run):
        return Simulation(name, function=run)
    if isinstance(run, str):
        return _of_text(name, run)
    if not isinstance(run, dict):
        raise ValueError(FORM)
    return _of_mapping(name, run)


def _of_text(name: str, text: str) -> Simulation:
    if FUNCTION.fullmatch(text.strip()):
        return Simulation(name, function=text.strip())
    return Simulation(name, command=_split(text))


def _of_mapping(name: str, run: Document) -> Simulation:
    for field in run:
        if field not in FIELDS:
            hint = (
                did_you_mean(str(field), FIELDS) or f"; there are {', '.join(FIELDS)}"
            )
            raise ValueError(f"there is no field {field!r}{hint}")
    function, command = run.get("function"), run.get("command")
    if (function is None) == (command is None):
        raise ValueError(f"needs either `function` or `command`; {FORM}")
    slots = run.get("slots", 1)
    is_number = isinstance(slots, int) and not isinstance(slots, bool)
    if not is_number or not 1 <= slots <= MOST_SLOTS:
        raise ValueError(f"slots is a number from 1 to {MOST_SLOTS}, not {slots!r}")
    form = run.get("format")
    if form is not None and (form not in FORMATS or command is None):
        raise ValueError(f"format is {' or '.join(FORMATS)}, of a command")
    if command is not None:
        return Simulation(name, command=_split(command), slots=slots, form=form)
    if isinstance(function, str) and not FUNCTION.fullmatch(function):
        raise ValueError(f"{function!r} is not a function; write module:function")
    if not (isinstance(function, str) or callable(function)):
        raise ValueError("function is a text such as mypackage.simulation:mass")
    return Simulation(name, function=function, slots=slots)


def _split(command: Any) -> tuple[str, ...]:
    """A command line as a shell would split it, or a list of its parts."""
    if isinstance(command, list) and all(isinstance(part, str) for part in command):
        parts = command
    elif isinstance(command, str):
        try:
            parts = shlex.split(command)
        except ValueError as error:
            raise ValueError(f"the command cannot be split: {error}") from None
    else:
        raise ValueError(f"command is a text or a list of texts, not {command!r}")
    if not parts:
        raise ValueError(f"the command is empty; {FORM}")
    return tuple(parts)
