"""The `run` keys of a study file."""

from typing import Any

import pytest

from counterpoise.local.simulations import (
    Simulation,
    read_simulations,
    with_slots,
    without_run,
    without_simulation,
)
from counterpoise.wire.specification import SpecificationInvalid, parse_specification


def study(*objectives: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "wing",
        "variables": [{"name": "span", "low": 1, "high": 2}],
        "objectives": list(objectives),
        "budget": 20,
    }


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("mypkg.sim:mass", Simulation("mass", function="mypkg.sim:mass")),
        (
            "./crash.sh {params} {results}",
            Simulation("mass", command=("./crash.sh", "{params}", "{results}")),
        ),
        (
            "python -m sim 'two words'",
            Simulation("mass", command=("python", "-m", "sim", "two words")),
        ),
        (
            {"command": ["./a b", "{x.span}"], "slots": 3},
            Simulation("mass", command=("./a b", "{x.span}"), slots=3),
        ),
        (
            {"function": "sim:mass", "slots": 2},
            Simulation("mass", function="sim:mass", slots=2),
        ),
    ],
)
def test_forms_of_run(run: Any, expected: Simulation) -> None:
    assert read_simulations(study({"name": "mass", "run": run})) == [expected]


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        (3, "write a function"),
        ("", "empty"),
        ("sh -c 'unclosed", "cannot be split"),
        ({"slots": 2}, "either `function` or `command`"),
        ({"command": "a", "function": "b:c"}, "either `function` or `command`"),
        ({"comand": "a"}, "did you mean 'command'?"),
        ({"command": "a", "slots": 0}, "from 1 to 1000, not 0"),
        ({"command": "a", "slots": True}, "from 1 to 1000"),
        ({"function": "no function"}, "write module:function"),
        ({"command": 5}, "a text or a list"),
    ],
)
def test_faults_of_run_have_their_place(run: Any, fault: str) -> None:
    with pytest.raises(SpecificationInvalid) as error:
        read_simulations(study({"name": "drag"}, {"name": "mass", "run": run}))
    assert error.value.faults[0].pointer == "#/objectives/1/run"
    assert fault in error.value.faults[0].detail


def test_an_output_of_another_run_has_none() -> None:
    document = study(
        {"name": "mass", "run": "a:b"},
        {"name": "lift", "same_run_as": "mass", "run": "a:c"},
    )
    with pytest.raises(SpecificationInvalid, match="no jobs of its own"):
        read_simulations(document)


def test_the_server_never_sees_run_keys() -> None:
    document = study({"name": "mass", "run": "a:b"}, {"name": "drag"})
    specification = without_run(document)
    assert parse_specification(specification).objective_names == ("mass", "drag")
    assert document["objectives"][0]["run"] == "a:b"
    assert without_run("no object") == "no object"


def test_objectives_without_run_are_found() -> None:
    document = study(
        {"name": "mass", "run": "a:b"},
        {"name": "drag"},
        {"name": "lift", "same_run_as": "mass"},
    )
    missing = without_simulation(document, read_simulations(document))
    assert missing == [(("objectives", 1), "drag")]


def test_slots_by_name_and_for_all() -> None:
    simulations = [
        Simulation("mass", function="a:b", slots=4),
        Simulation("drag", function="a:c"),
    ]
    assert [s.slots for s in with_slots(simulations, {}, None)] == [4, 1]
    assert [s.slots for s in with_slots(simulations, {"drag": 3}, None)] == [4, 3]
    assert [s.slots for s in with_slots(simulations, {"drag": 3}, 2)] == [2, 3]
    with pytest.raises(ValueError, match="did you mean 'drag'"):
        with_slots(simulations, {"drga": 3}, None)
