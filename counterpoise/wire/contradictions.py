"""Faults between the fields of a specification.

Reads raw data, so that a fault of one field hides no other.
"""

from collections.abc import Iterator
from typing import Any

from counterpoise.wire.problems import Fault, did_you_mean, fault_at
from counterpoise.wire.requirements.check import check_requirement
from counterpoise.wire.requirements.tokens import RequirementInvalid
from counterpoise.wire.variable_faults import as_number, has_numbers, variable_faults

MOST_FAULTS = 1000
MOST_REQUIREMENTS = 50
# Strategies whose models can be chosen
WITH_EVIDENCE = ("sbp-bo", "bo-aaf", "counterpoise")
# Of a run, not of one of its outputs
RUN_FIELDS = (
    "evaluation_time_s",
    "lease_s",
    "timeout_s",
)
Record = dict[Any, Any]
FieldFault = tuple[str, str]  # field, detail
Place = tuple[str, int]  # list, index


def initial_count(variables: int, initial_samples: int | None) -> int:
    return 11 * variables - 1 if initial_samples is None else initial_samples


def contradictions(raw: Record) -> Iterator[Fault]:
    """Values of a wrong type are skipped here: the fault of their field is found
    elsewhere.
    """
    variables = _records(raw, "variables")
    outputs = _outputs(raw)
    yield from _repeated_names([(("variables", i), record) for i, record in variables])
    yield from _repeated_names(outputs)
    for index, variable in variables:
        for location, detail in variable_faults(variable):
            yield fault_at(("variables", index, *location), detail)
    yield from _requirement_faults(raw, variables)
    named = [output for _, output in outputs if isinstance(output.get("name"), str)]
    run_of = {output["name"]: output.get("same_run_as") for output in named}
    for place, output in outputs:
        faults = [
            *_run_faults(output, run_of),
            *_lease_faults(output, raw),
            *_limit_faults(output, is_constraint=place[0] == "constraints"),
        ]
        for field, detail in faults:
            yield fault_at((*place, field), detail)
    yield from _ratio_faults(raw, run_of)
    yield from _budget_faults(raw)
    yield from _model_faults(raw)


def _outputs(raw: Record) -> list[tuple[Place, Record]]:
    """Objectives and constraints with their places."""
    found: list[tuple[Place, Record]] = []
    for kind in ("objectives", "constraints"):
        found += [((kind, index), record) for index, record in _records(raw, kind)]
    return found


def _repeated_names(records: list[tuple[Place, Record]]) -> Iterator[Fault]:
    first: dict[str, Place] = {}
    for place, record in records:
        name = record.get("name")
        if isinstance(name, str) and first.setdefault(name, place) != place:
            kind, index = first[name]
            yield fault_at(
                (*place, "name"), f"{name!r} is already the name of {kind}/{index}"
            )


def _run_faults(output: Record, run_of: dict[str, Any]) -> Iterator[FieldFault]:
    run = output.get("same_run_as")
    if not isinstance(run, str):
        return
    detail = _run_fault(output.get("name"), run, run_of)
    if detail:
        yield "same_run_as", detail
    for field in RUN_FIELDS:
        if output.get(field) is not None:
            yield (
                field,
                f"belongs to the run: declare it for {_short(run)}, not for one with same_run_as",
            )


def _run_fault(name: object, run: str, run_of: dict[str, Any]) -> str | None:
    path = _follow(run, run_of)
    if run == name:
        return "an output cannot be in its own run; leave same_run_as out"
    if run not in run_of:
        others = [other for other in run_of if other != name]
        return f"there is no objective or constraint {_short(run)}{did_you_mean(run, others)}"
    if name in path:
        circle = [str(name), *path[: path.index(str(name)) + 1]]
        return f"goes in a circle: {' -> '.join(circle)}"
    if len(path) > 1:
        last = path[-1]
        has_jobs = last in run_of and run_of[last] is None
        hint = f"; write {last!r} here" if has_jobs else ""
        return f"{run!r} has no jobs of its own, as it is in the run of {_short(path[1])}{hint}"
    return None


def _follow(name: str, run_of: dict[str, Any]) -> list[str]:
    """The output, the one in whose run it is, and so on."""
    path = [name]
    while isinstance(following := run_of.get(path[-1]), str) and following not in path:
        path.append(following)
    return path


def _lease_faults(output: Record, raw: Record) -> Iterator[FieldFault]:
    if output.get("same_run_as") is not None:
        return
    timeout = as_number(output.get("timeout_s"))
    own = as_number(output.get("lease_s"))
    lease = as_number(raw.get("lease_s")) if own is None else own
    if timeout is not None and lease is not None and timeout < lease:
        field = "the study's lease_s" if own is None else "lease_s"
        yield (
            "timeout_s",
            f"timeout_s ({timeout:g}) must be at least {field} ({lease:g})",
        )


def _limit_faults(output: Record, *, is_constraint: bool) -> Iterator[FieldFault]:
    lower, upper = as_number(output.get("lower")), as_number(output.get("upper"))
    if lower is not None and upper is not None and lower >= upper:
        yield "upper", f"upper ({upper:g}) must be more than lower ({lower:g})"
    is_open = output.get("lower") is None and output.get("upper") is None
    if is_constraint and is_open:
        yield (
            "upper",
            "a constraint needs lower or upper, or both: the limit that its value must keep",
        )


def _requirement_faults(
    raw: Record, variables: list[tuple[int, Record]]
) -> Iterator[Fault]:
    requirements = raw.get("requirements")
    if not isinstance(requirements, list | tuple):
        return
    if len(requirements) > MOST_REQUIREMENTS:
        yield fault_at(
            ("requirements",),
            f"{len(requirements)} requirements; there can be at most {MOST_REQUIREMENTS}",
        )
    is_number = {
        variable["name"]: has_numbers(variable)
        for _, variable in variables
        if isinstance(variable.get("name"), str)
    }
    for index, text in enumerate(requirements[:MOST_REQUIREMENTS]):
        if isinstance(text, str):
            try:
                check_requirement(text, is_number)
            except RequirementInvalid as error:
                yield fault_at(("requirements", index), str(error))


def _ratio_faults(raw: Record, run_of: dict[str, Any]) -> Iterator[Fault]:
    ratios = raw.get("ratios")
    if not isinstance(ratios, dict):
        return
    names = [name for name in ratios if isinstance(name, str)]
    for name in names[:MOST_FAULTS]:
        if name not in run_of:
            yield fault_at(
                ("ratios", name),
                f"there is no objective or constraint {_short(name)}{did_you_mean(name, run_of)}",
            )
        elif isinstance(run_of[name], str):
            yield fault_at(
                ("ratios", name),
                f"the ratio is that of the run: declare it for {_short(run_of[name])}",
            )


def _model_faults(raw: Record) -> Iterator[Fault]:
    strategy = raw.get("strategy", "sbp-bo")
    if raw.get("models") == "evidence" and strategy not in WITH_EVIDENCE:
        names = ", ".join(WITH_EVIDENCE)
        detail = f"strategy {_short(strategy)} has its own models; those by evidence are for {names}"
        yield fault_at(("models",), detail)


def _budget_faults(raw: Record) -> Iterator[Fault]:
    budget = as_number(raw.get("budget"))
    initial, origin = _initial_samples(raw)
    if budget is not None and initial is not None and budget < initial:
        detail = f"the budget ({budget:g}) is below the initial design of {initial:g} samples ({origin})"
        yield fault_at(("budget",), detail)


def _initial_samples(raw: Record) -> tuple[float | None, str]:
    """The size of the initial design, if it can be known, and where it comes from."""
    declared = raw.get("initial_samples")
    if declared is not None:
        return as_number(declared), "initial_samples"
    variables = raw.get("variables")
    if not (isinstance(variables, list) and variables):
        return None, ""
    count = len(variables)
    return initial_count(count, None), f"11 d - 1 with d = {count}"


def _records(raw: Record, key: str) -> list[tuple[int, Record]]:
    """The objects of a list with their places."""
    items = raw.get(key)
    if not isinstance(items, list):
        return []
    numbered = enumerate(items[:MOST_FAULTS])
    return [(index, item) for index, item in numbered if isinstance(item, dict)]


def _short(name: object) -> str:
    text = str(name)
    return repr(text if len(text) <= 100 else text[:97] + "…")
