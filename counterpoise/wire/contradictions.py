"""What a specification's fields say together, and what of it cannot be. Reads raw data: a fault hides no other."""

import math
from collections.abc import Iterator
from typing import Any

from counterpoise.wire.problems import Fault, did_you_mean, fault_at

MOST_FAULTS = 1000
WIDEST_INTEGER, LARGEST_INTEGER = 2**31, 2**52  # levels of a range; beyond the latter a float knows no halves


def initial_count(variables: int, initial_samples: int | None) -> int:
    return 11 * variables - 1 if initial_samples is None else initial_samples


def contradictions(raw: dict[Any, Any]) -> Iterator[Fault]:
    """What is wrong between fields. Whatever is of the wrong type is skipped here: its field has its fault already."""
    variables, objectives = _records(raw, "variables"), _records(raw, "objectives")
    yield from _repeated("variables", variables)
    yield from _repeated("objectives", objectives)
    for i, variable in variables:
        yield from (fault_at(("variables", i, key), detail) for key, detail in _range_faults(variable))
    run_of = {o["name"]: o.get("same_run_as") for _, o in objectives if isinstance(o.get("name"), str)}
    for i, objective in objectives:
        faults = [*_run_faults(objective, run_of), *_lease_faults(objective, raw)]
        yield from (fault_at(("objectives", i, key), detail) for key, detail in faults)
    yield from _ratio_faults(raw, run_of)
    yield from _budget_faults(raw)


def _repeated(kind: str, records: list[tuple[int, dict[Any, Any]]]) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for i, record in records:
        name = record.get("name")
        if isinstance(name, str) and first.setdefault(name, i) != i:
            yield fault_at((kind, i, "name"), f"{name!r} is already the name of {kind}/{first[name]}")


def _range_faults(variable: dict[Any, Any]) -> Iterator[tuple[str, str]]:
    low, high = _number(variable.get("low")), _number(variable.get("high"))
    if variable.get("type") == "int":
        for key, bound in (("low", low), ("high", high)):
            if bound is not None and not bound.is_integer():
                yield key, f"an integer variable needs integer bounds, not {bound:g}"
            elif bound is not None and abs(bound) > LARGEST_INTEGER:
                yield key, "beyond 2**52 integers are not exact; choose another origin or unit"
    if low is not None and low <= 0 and variable.get("scale") == "log":
        yield "low", f"a log scale needs low > 0, not {low:g}"
    if low is None or high is None:
        return
    if low >= high:
        yield "low", f"low ({low:g}) must be less than high ({high:g})"
    elif not math.isfinite(high - low):
        yield "high", "high - low is too large for a number; choose another unit"
    elif variable.get("type") == "int" and high - low > WIDEST_INTEGER:
        yield "high", f"an integer variable's range is at most 2**31, not {high - low:.0f}"
    elif variable.get("scale") == "log" and low > 0 and math.log(high) <= math.log(low):
        yield "high", "low and high are the same on a log scale; choose them further apart"


def _run_faults(objective: dict[Any, Any], run_of: dict[str, Any]) -> Iterator[tuple[str, str]]:
    run, name = objective.get("same_run_as"), objective.get("name")
    if not isinstance(run, str):
        return
    path = _follow(run, run_of)
    if run == name:
        yield "same_run_as", "an objective cannot be in its own run; leave same_run_as out"
    elif run not in run_of:
        others = [other for other in run_of if other != name]
        yield "same_run_as", f"there is no objective {_short(run)}{did_you_mean(run, others)}"
    elif name in path:
        yield "same_run_as", f"goes in a circle: {' -> '.join([name, *path[: path.index(name) + 1]])}"
    elif len(path) > 1:
        way_out = f"; say {path[-1]!r} here" if run_of.get(path[-1], "") is None else ""
        yield "same_run_as", f"{run!r} has no jobs of its own, as it is in the run of {_short(path[1])}{way_out}"
    for key in ("evaluation_time_s", "lease_s", "timeout_s"):
        if objective.get(key) is not None:
            yield key, f"belongs to the run: say it for objective {_short(run)}, not for one with same_run_as"


def _follow(name: str, run_of: dict[str, Any]) -> list[str]:
    path = [name]
    while isinstance(following := run_of.get(path[-1]), str) and following not in path:
        path.append(following)
    return path


def _lease_faults(objective: dict[Any, Any], raw: dict[Any, Any]) -> Iterator[tuple[str, str]]:
    timeout, own, of_study = (
        _number(value) for value in (objective.get("timeout_s"), objective.get("lease_s"), raw.get("lease_s"))
    )
    lease = of_study if own is None else own
    if timeout is not None and lease is not None and timeout < lease and objective.get("same_run_as") is None:
        whose = "the study's lease_s" if own is None else "lease_s"
        yield "timeout_s", f"timeout_s ({timeout:g}) must be at least {whose} ({lease:g})"


def _ratio_faults(raw: dict[Any, Any], run_of: dict[str, Any]) -> Iterator[Fault]:
    ratios = raw.get("ratios")
    names = [name for name in ratios if isinstance(name, str)] if isinstance(ratios, dict) else []
    for name in names[:MOST_FAULTS]:
        if name not in run_of:
            yield fault_at(("ratios", name), f"there is no objective {_short(name)}{did_you_mean(name, run_of)}")
        elif isinstance(run_of[name], str):
            yield fault_at(("ratios", name), f"the ratio is that of the run: say it for {_short(run_of[name])}")


def _budget_faults(raw: dict[Any, Any]) -> Iterator[Fault]:
    budget, initial, variables = _number(raw.get("budget")), raw.get("initial_samples"), raw.get("variables")
    if budget is None or (initial is None and not (isinstance(variables, list) and variables)):
        return
    n = _number(initial) if initial is not None else initial_count(len(variables or ()), None)
    if n is not None and budget < n:
        origin = "initial_samples" if initial is not None else f"11 d - 1 with d = {len(variables or ())}"
        yield fault_at(("budget",), f"the budget ({budget:g}) is below the initial design of {n:g} samples ({origin})")


def _records(raw: dict[Any, Any], key: str) -> list[tuple[int, dict[Any, Any]]]:
    items = raw.get(key)
    few = items[:MOST_FAULTS] if isinstance(items, list) else []
    return [(i, item) for i, item in enumerate(few) if isinstance(item, dict)]


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _short(name: object) -> str:
    text = str(name)
    return repr(text if len(text) <= 100 else text[:97] + "…")
