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


def initial_count(variables: int, initial_samples: int | None) -> int:
    return 11 * variables - 1 if initial_samples is None else initial_samples


def contradictions(raw: Record) -> Iterator[Fault]:
    """Values of a wrong type are skipped here: the fault of their field is found
    elsewhere.
    """
    variables = _records(raw, "variables")
    objectives = _records(raw, "objectives")
    yield from _repeated_names("variables", variables)
    yield from _repeated_names("objectives", objectives)
    for index, variable in variables:
        for location, detail in variable_faults(variable):
            yield fault_at(("variables", index, *location), detail)
    yield from _requirement_faults(raw, variables)
    named = [
        objective
        for _, objective in objectives
        if isinstance(objective.get("name"), str)
    ]
    run_of = {objective["name"]: objective.get("same_run_as") for objective in named}
    for index, objective in objectives:
        faults = [*_run_faults(objective, run_of), *_lease_faults(objective, raw)]
        for field, detail in faults:
            yield fault_at(("objectives", index, field), detail)
    yield from _ratio_faults(raw, run_of)
    yield from _budget_faults(raw)
    yield from _model_faults(raw)


def _repeated_names(kind: str, records: list[tuple[int, Record]]) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for index, record in records:
        name = record.get("name")
        if isinstance(name, str) and first.setdefault(name, index) != index:
            yield fault_at(
                (kind, index, "name"),
                f"{name!r} is already the name of {kind}/{first[name]}",
            )


def _run_faults(objective: Record, run_of: dict[str, Any]) -> Iterator[FieldFault]:
    run = objective.get("same_run_as")
    if not isinstance(run, str):
        return
    detail = _run_fault(objective.get("name"), run, run_of)
    if detail:
        yield "same_run_as", detail
    for field in RUN_FIELDS:
        if objective.get(field) is not None:
            yield (
                field,
                f"belongs to the run: declare it for objective {_short(run)}, not for one with same_run_as",
            )


def _run_fault(name: object, run: str, run_of: dict[str, Any]) -> str | None:
    path = _follow(run, run_of)
    if run == name:
        return "an objective cannot be in its own run; leave same_run_as out"
    if run not in run_of:
        others = [other for other in run_of if other != name]
        return f"there is no objective {_short(run)}{did_you_mean(run, others)}"
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
    """The objective, the one in whose run it is, and so on."""
    path = [name]
    while isinstance(following := run_of.get(path[-1]), str) and following not in path:
        path.append(following)
    return path


def _lease_faults(objective: Record, raw: Record) -> Iterator[FieldFault]:
    if objective.get("same_run_as") is not None:
        return
    timeout = as_number(objective.get("timeout_s"))
    own = as_number(objective.get("lease_s"))
    lease = as_number(raw.get("lease_s")) if own is None else own
    if timeout is not None and lease is not None and timeout < lease:
        field = "the study's lease_s" if own is None else "lease_s"
        yield (
            "timeout_s",
            f"timeout_s ({timeout:g}) must be at least {field} ({lease:g})",
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
                f"there is no objective {_short(name)}{did_you_mean(name, run_of)}",
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
