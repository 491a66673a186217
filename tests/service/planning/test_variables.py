"""Categories, discrete values and requirements, from the specification to a worker."""

from typing import Any

import pytest

from app.service.files.csv_reader import read_csv
from app.service.files.export import export
from app.service.files.json_reader import read_json
from app.service.planning.replay import replay
from app.service.planning.user_units import optimizer_variables, to_numbers
from app.service.studies.lifecycle import create
from app.service.studies.listings import list_samples
from app.store.database import Database
from counterpoise.wire.specification import (
    SpecificationInvalid,
    parse_specification,
)
from tests.service.lab import SPEC, Lab

VARIABLES: list[dict[str, Any]] = [
    {"name": "a", "low": 0.0, "high": 1.0},
    {"name": "b", "type": "discrete", "values": [0, 0.25, 1]},
    {"name": "metal", "type": "categorical", "choices": ["steel", "alu", "1"]},
    {"name": "welded", "type": "categorical", "choices": [True, False]},
]
CHANGES: dict[str, Any] = {"variables": VARIABLES, "requirements": ["a + b <= 1.1"]}


def points(lab: Lab) -> list[dict[str, Any]]:
    listed = list_samples(lab.database, lab.name, 0, 1000, None)
    return [view.x for _, view in listed]


def test_a_mixed_study_runs_to_its_end_and_replays(database: Database) -> None:
    lab = Lab(database, **CHANGES)
    view = lab.run()
    assert (view.phase, view.evaluated_full) == ("finished", 10)
    found = points(lab)
    assert {x["b"] for x in found} <= {0, 0.25, 1}
    assert {x["metal"] for x in found} == {"steel", "alu", "1"}
    assert {x["welded"] for x in found} == {True, False}
    assert all(x["a"] + x["b"] <= 1.1 for x in found)
    assert len({tuple(x.values()) for x in found}) == len(found)
    assert all(again.equal for again in replay(database, lab.name, None))


def test_what_is_exported_can_be_imported(database: Database) -> None:
    lab = Lab(database, **CHANGES)
    lab.run()
    spec = parse_specification({**SPEC, **CHANGES})
    for form, read in (("csv", read_csv), ("json", read_json)):
        content = "".join(export(database, lab.name, "samples", form)).encode()  # type: ignore[arg-type]
        reading = read(spec, content)
        assert reading.faults.listed == []
        imported = [row.x for row in reading.evaluations]
        assert imported == [tuple(x.values()) for x in points(lab)]
        kinds = [[type(value) for value in x[2:]] for x in imported]
        assert kinds == [[str, bool]] * len(imported)


@pytest.mark.parametrize(
    ("column", "cell", "hint"),
    [
        ("metal", "stel", "'steel'"),
        ("welded", "1", "true, false"),
        ("b", "0.3", "0.25"),
        ("b", "x", "0.25"),
    ],
)
def test_a_value_that_is_no_choice_is_refused_where_it_is(
    column: str, cell: str, hint: str
) -> None:
    spec = parse_specification({**SPEC, **CHANGES})
    row = {"a": "0.5", "b": "0.25", "metal": "alu", "welded": "True", column: cell}
    content = f"{','.join(row)}\n{','.join(row.values())}\n".encode()
    (fault,) = read_csv(spec, content).faults.listed
    assert fault.pointer == f"line 2, {column}"
    assert hint in fault.detail


def test_the_order_of_choices_has_no_effect(database: Database) -> None:
    reversed_choices = [
        {**variable, "choices": variable["choices"][::-1]}
        if "choices" in variable
        else variable
        for variable in VARIABLES
    ]
    first = Lab(database, **CHANGES, name="first")
    second = Lab(database, **{**CHANGES, "variables": reversed_choices}, name="second")
    first.run()
    second.run()
    assert points(first) == points(second)


def test_levels_are_numbered_in_order() -> None:
    spec = parse_specification({**SPEC, **CHANGES})
    X = to_numbers(spec.variables, [[0.5, 1, "steel", True], [0.1, 0.25, "1", False]])
    assert X.tolist() == [[0.5, 2.0, 2.0, 1.0], [0.1, 1.0, 0.0, 0.0]]
    _, b, metal, welded = optimizer_variables(spec.variables)
    assert b.numbers == (0.0, 0.25, 1.0)
    assert (metal.numbers, welded.numbers) == (None, (0.0, 1.0))


def test_requirements_that_leave_nothing_are_refused_with_the_share(
    database: Database,
) -> None:
    for text, share in (("a * b > 1", "no point"), ("a < 2e-5", "a share of")):
        spec = parse_specification({**SPEC, "requirements": [text]})
        with pytest.raises(SpecificationInvalid) as error:
            create(database, spec, lease_s=60.0)
        (fault,) = error.value.faults
        assert fault.pointer == "#/requirements"
        assert share in fault.detail


def test_a_space_of_categories_is_evaluated_to_its_last_point(
    database: Database,
) -> None:
    """Points that were cheap-only become full, and the end counts samples that ran when
    no point was left.
    """
    choices = [
        {"name": "a", "type": "categorical", "choices": [0, 1, 2]},
        {"name": "b", "type": "categorical", "choices": [0, 1, 2, 3]},
    ]
    lab = Lab(
        database,
        variables=choices,
        constraints=[{"name": "lift", "lower": 1, "same_run_as": "crash"}],
        budget=30,
        overlap=2,
    )
    view = lab.run()
    assert (view.ending, view.evaluated_full) == ("space_exhausted", 12)
    assert view.feasible == 9  # b is not 0
    assert all(again.equal for again in replay(database, lab.name, None))
    lab.check_counters()


def test_samples_of_which_nothing_is_known_become_full_before_the_end(
    database: Database,
) -> None:
    choices = [
        {"name": name, "type": "categorical", "choices": [0, 1, 2, 3]} for name in "ab"
    ]
    lab = Lab(database, variables=choices, budget=30, strategy="counterpoise")
    lab.plan()
    held = lab.ask(most=8)
    for job in held[:-1]:
        lab.tell(job)
    lab.plan()  # all other points, for the cheap objective
    assert len(points(lab)) == 16
    lab.tell(held[-1])
    view = lab.run()
    assert (view.ending, view.evaluated_full) == ("space_exhausted", 16)
    assert all(again.equal for again in replay(database, lab.name, None))
    lab.check_counters()
