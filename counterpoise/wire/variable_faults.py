"""Faults between the fields of one variable.

Reads raw data, so that a fault of one field hides no other.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

WIDEST_INTEGER = 2**31  # levels of a range
LARGEST_INTEGER = 2**52  # beyond it a float has no halves
MOST_CHOICES, MOST_LEVELS = 100, 10_000
Record = dict[Any, Any]
FieldFault = tuple[str, str]  # field, detail
Location = tuple[str | int, ...]
# The fields that a type of variable needs, and those that it can have besides
FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "float": (("low", "high"), ("scale",)),
    "int": (("low", "high"), ("scale",)),
    "discrete": (("values",), ()),
    "categorical": (("choices",), ()),
}
OWN_FIELDS = ("low", "high", "scale", "values", "choices")


def variable_faults(variable: Record) -> Iterator[tuple[Location, str]]:
    """Where in the variable, and what."""
    kind = variable.get("type", "float")
    if not isinstance(kind, str) or kind not in FIELDS:
        return
    yield from _field_faults(kind, variable)
    if kind in ("float", "int"):
        for field, detail in _range_faults(variable):
            yield (field,), detail
    elif kind == "discrete":
        yield from _value_faults(variable.get("values"))
    else:
        yield from _choice_faults(variable.get("choices"))


def has_numbers(variable: Record) -> bool:
    """Whether requirements can compute with its values."""
    choices = variable.get("choices")
    if variable.get("type") != "categorical" or not isinstance(choices, list | tuple):
        return True
    return not any(isinstance(choice, str) for choice in choices)


def as_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _field_faults(kind: str, variable: Record) -> Iterator[tuple[Location, str]]:
    needed, possible = FIELDS[kind]
    for field in needed:
        if variable.get(field) is None:
            yield (field,), "is required"
    for field in OWN_FIELDS:
        is_default = field == "scale" and variable.get(field) == "linear"
        if field in (*needed, *possible) or is_default:
            continue
        if variable.get(field) is not None:
            article = "an" if kind == "int" else "a"
            yield (
                (field,),
                f"{article} {kind} variable has no {field}; it has {', '.join(needed)}",
            )


def _range_faults(variable: Record) -> Iterator[FieldFault]:
    low = as_number(variable.get("low"))
    high = as_number(variable.get("high"))
    is_integer = variable.get("type") == "int"
    is_log = variable.get("scale") == "log"
    if is_integer:
        yield from _integer_faults("low", low)
        yield from _integer_faults("high", high)
    if low is not None and low <= 0 and is_log:
        yield "low", f"a log scale needs low > 0, not {low:g}"
    if low is None or high is None:
        return
    if low >= high:
        yield "low", f"low ({low:g}) must be less than high ({high:g})"
    elif not math.isfinite(high - low):
        yield "high", "high - low is too large for a number; choose another unit"
    elif is_integer and high - low > WIDEST_INTEGER:
        yield (
            "high",
            f"an integer variable's range is at most 2**31, not {high - low:.0f}",
        )
    elif is_log and low > 0 and math.log(high) <= math.log(low):
        yield (
            "high",
            "low and high are the same on a log scale; choose them further apart",
        )


def _integer_faults(field: str, bound: float | None) -> Iterator[FieldFault]:
    if bound is None:
        return
    if not bound.is_integer():
        yield field, f"an integer variable needs integer bounds, not {bound:g}"
    elif abs(bound) > LARGEST_INTEGER:
        yield (
            field,
            "beyond 2**52 integers are not exact; choose another origin or unit",
        )


def _value_faults(values: object) -> Iterator[tuple[Location, str]]:
    if not isinstance(values, list | tuple):
        return
    if not 2 <= len(values) <= MOST_LEVELS:
        yield (
            ("values",),
            f"{len(values)} values; there must be at least 2 and at most {MOST_LEVELS}",
        )
        return
    for index, value in enumerate(values):
        if isinstance(value, str | bool):
            yield ("values", index), "a value is a number; texts are choices"
    numbers = [as_number(value) for value in values]
    for index, (before, number) in enumerate(pairwise(numbers), start=1):
        if before is not None and number is not None and number <= before:
            yield (
                ("values", index),
                f"{number:g} comes after {before:g}; list the values in ascending order, each once",
            )


def _choice_faults(choices: object) -> Iterator[tuple[Location, str]]:
    if not isinstance(choices, list | tuple):
        return
    if not 2 <= len(choices) <= MOST_CHOICES:
        yield (
            ("choices",),
            f"{len(choices)} choices; there must be at least 2 and at most {MOST_CHOICES}",
        )
        return
    kinds = {_kind_of(choice) for choice in choices} - {None}
    if len(kinds) > 1:
        yield (
            ("choices",),
            f"there are {' and '.join(sorted(map(str, kinds)))}; choices are all of one kind",
        )
        return
    yield from _repeated_choices(choices)


def _repeated_choices(choices: Sequence[object]) -> Iterator[tuple[Location, str]]:
    first: dict[object, int] = {}
    for index, choice in enumerate(choices):
        if _kind_of(choice) is not None and first.setdefault(choice, index) != index:
            yield (
                ("choices", index),
                f"{choice!r} is already choice {first[choice]}",
            )


def _kind_of(choice: object) -> str | None:
    if isinstance(choice, bool):
        return "booleans"
    if isinstance(choice, int | float):
        return "numbers"
    return "texts" if isinstance(choice, str) else None
