"""Categorical and discrete variables, requirements and noise in a specification."""

from typing import Any

import pytest

from counterpoise.wire.coordinates import coordinate_text, short_coordinate
from counterpoise.wire.specification import (
    Specification,
    SpecificationInvalid,
    parse_specification,
)


def specification(*variables: dict[str, Any], **changes: Any) -> Specification:
    raw = {
        "name": "s",
        "variables": list(variables),
        "objectives": [{"name": "f"}],
        "budget": 100,
        **changes,
    }
    return parse_specification(raw)


def faults(*variables: dict[str, Any], **changes: Any) -> list[tuple[str, str]]:
    with pytest.raises(SpecificationInvalid) as error:
        specification(*variables, **changes)
    return [(fault.pointer, fault.detail) for fault in error.value.faults]


def categorical(*choices: object, **more: Any) -> dict[str, Any]:
    return {"name": "c", "type": "categorical", "choices": list(choices), **more}


def discrete(*values: object) -> dict[str, Any]:
    return {"name": "v", "type": "discrete", "values": list(values)}


def test_choices_keep_their_types() -> None:
    spec = specification(
        categorical("a", "b"),
        categorical(True, False, name="flag"),
        categorical(1, 2.5, name="number"),
        discrete(1, 2, 5.5),
    )
    levels = [variable.levels for variable in spec.variables]
    assert levels == [("a", "b"), (True, False), (1, 2.5), (1, 2, 5.5)]
    assert [type(level) for level in levels[2]] == [int, float]
    assert [type(level) for level in levels[3]] == [int, int, float]
    assert parse_specification(spec.model_dump(mode="json")) == spec


@pytest.mark.parametrize(
    ("variable", "pointer", "word"),
    [
        (categorical("a"), "choices", "at least 2"),
        (categorical(*map(str, range(101))), "choices", "at most 100"),
        (categorical("a", "b", "a"), "choices/2", "already"),
        (categorical(1, 1.0), "choices/1", "already"),
        (categorical("a", 1), "choices", "one kind"),
        (categorical(True, 1), "choices", "one kind"),
        (categorical("a", None), "choices/1", "a text, a boolean"),
        (categorical("a", ""), "choices/1", "1 to 100"),
        (categorical("a", "b\n"), "choices/1", "control"),
        (categorical(0, 1e101), "choices/1", "within"),
        (categorical("a", "b", low=1), "low", "has no low"),
        (categorical("a", "b", scale="log"), "scale", "has no scale"),
        ({"name": "c", "type": "categorical"}, "choices", "required"),
        ({"name": "c", "type": "discrete"}, "values", "required"),
        ({"name": "c", "low": 0, "high": 1, "choices": [1, 2]}, "choices", "no choice"),
        (discrete(1), "values", "at least 2"),
        (discrete(1, 3, 2), "values/2", "ascending"),
        (discrete(1, 1), "values/1", "ascending"),
        (discrete(1, "2"), "values/1", "number"),
        ({"name": "c", "type": "catgorical"}, "type", "'categorical'"),
    ],
)
def test_one_fault_with_its_place(
    variable: dict[str, Any], pointer: str, word: str
) -> None:
    ((where, detail),) = faults(variable)
    assert where == f"#/variables/0/{pointer}"
    assert word in detail


def test_requirements_are_checked_with_the_other_fields() -> None:
    found = faults(
        categorical("a", "b"),
        {"name": "x", "low": 2, "high": 1},
        requirements=["x <= 2", "y <= 1", "c < 1", "x = 1", 7],
    )
    assert [where for where, _ in found] == [
        "#/requirements/4",
        "#/variables/1/low",
        "#/requirements/1",
        "#/requirements/2",
        "#/requirements/3",
    ]


def test_too_many_requirements() -> None:
    x = {"name": "x", "low": 0, "high": 1}
    ((where, detail),) = faults(x, requirements=["x < 1"] * 51)
    assert where == "#/requirements"
    assert "at most 50" in detail


@pytest.mark.parametrize("noise", [True, False, 0.5, 2])
def test_noise_is_a_boolean_or_a_deviation(noise: object) -> None:
    x = {"name": "x", "low": 0, "high": 1}
    spec = specification(x, objectives=[{"name": "f", "noise": noise}])
    assert spec.objectives[0].noise == noise
    assert isinstance(spec.objectives[0].noise, bool) == isinstance(noise, bool)


@pytest.mark.parametrize("noise", [0, -1.0, "much", None, float("inf")])
def test_other_noise_is_refused_once(noise: object) -> None:
    x = {"name": "x", "low": 0, "high": 1}
    ((where, _),) = faults(x, objectives=[{"name": "f", "noise": noise}])
    assert where == "#/objectives/0/noise"


def test_coordinates_as_commands_and_tables_have_them() -> None:
    values = ["a b", True, False, 3, 0.1 + 0.2]
    texts = [coordinate_text(value) for value in values]
    assert texts == ["a b", "true", "false", "3", "0.30000000000000004"]
    assert [short_coordinate(value) for value in values[-2:]] == ["3", "0.3"]
