"""A study's specification: its defaults, every fault with its place, and nothing but
faults whatever the input.
"""

import copy
import json
from typing import Any, get_args
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.optimizer import problem
from app.optimizer.strategies.catalogue import STRATEGIES
from app.service.planning.user_units import optimizer_variables
from counterpoise.wire import contradictions, specification
from counterpoise.wire.problems import Fault, did_you_mean
from counterpoise.wire.specification import (
    BENCHMARK_ONLY,
    EXAMPLE,
    NAME_RULE,
    Specification,
    SpecificationInvalid,
    Strategy,
    example,
    parse_specification,
)

MINIMAL: dict[str, Any] = {
    "name": "s",
    "variables": [{"name": "a", "low": 0, "high": 1}],
    "objectives": [{"name": "f"}],
    "budget": 10,
}
ABSENT = object()


def changed(path: str, value: object) -> dict[str, Any]:
    """The example with another value at a place such as variables/0/low; ABSENT removes
    it.
    """
    raw = copy.deepcopy(EXAMPLE)
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("/"))
    place: Any = raw
    for part in parents:
        place = place[part]
    if value is ABSENT:
        del place[last]
    else:
        place[last] = value
    return raw


def faults(raw: object) -> list[tuple[str, str]]:
    with pytest.raises(SpecificationInvalid) as caught:
        parse_specification(raw)
    return [(fault.pointer, fault.detail) for fault in caught.value.faults]


def test_the_example_is_that_of_the_documents() -> None:
    wing = example()
    assert [variable.type for variable in wing.variables] == ["float", "int", "float"]
    assert (wing.initial_count, wing.runs, wing.declared_times) == (
        32,
        ("mass", "drag", "stiffness"),
        True,
    )
    assert (wing.also("drag"), wing.also("mass")) == (("lift",), ())
    assert Specification.model_json_schema()["examples"] == [EXAMPLE]


def test_defaults() -> None:
    study = parse_specification(MINIMAL)
    assert json.loads(study.model_dump_json()) == {
        "name": "s",
        "variables": [
            {
                "name": "a",
                "type": "float",
                "low": 0,
                "high": 1,
                "scale": "linear",
                "values": None,
                "choices": None,
            }
        ],
        "objectives": [
            {
                "name": "f",
                "lower": None,
                "upper": None,
                "direction": "minimize",
                "evaluation_time_s": None,
                "unit": None,
                "noise": False,
                "same_run_as": None,
                "lease_s": None,
                "timeout_s": None,
            }
        ],
        "constraints": [],
        "budget": 10,
        "requirements": [],
        "strategy": "sbp-bo",
        "models": None,
        "initial_samples": None,
        "batch_size": 3,
        "overlap": "auto",
        "cheap_first": None,
        "generations": 20,
        "cheap_threshold": 1,
        "ratios": None,
        "max_ratio": 20,
        "lease_s": None,
        "max_attempts": 3,
        "max_losses": 10,
        "seed": None,
        "notes": "",
    }
    assert (study.initial_count, study.runs, study.declared_times) == (
        10,
        ("f",),
        False,
    )


def test_what_it_writes_it_reads() -> None:
    for raw in (EXAMPLE, MINIMAL):
        study = parse_specification(raw)
        assert parse_specification(study.model_dump(mode="json")) == study


def test_it_is_frozen() -> None:
    with pytest.raises(ValidationError):
        example().budget = 3  # type: ignore[misc]


def test_strategies_are_those_of_the_optimiser() -> None:
    assert {*get_args(Strategy), BENCHMARK_ONLY} <= set(STRATEGIES)


def test_initial_samples_replace_the_usual_design() -> None:
    assert (
        parse_specification(
            {**MINIMAL, "initial_samples": 4, "budget": 4}
        ).initial_count
        == 4
    )


def test_declared_times_need_every_run_but_not_those_in_another_run() -> None:
    assert not parse_specification(
        changed("objectives/0/evaluation_time_s", ABSENT)
    ).declared_times
    assert example().objectives[2].evaluation_time_s is None


def test_one_kind_of_number() -> None:
    """JSON does not tell 60.0 from 60; the schema's `integer` allows both."""
    assert type(parse_specification({**MINIMAL, "budget": 60.0}).budget) is int
    assert type(parse_specification(MINIMAL).variables[0].low) is float


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("ratios", {"mass": 20, "drag": 1}),
        ("ratios", {}),
        ("seed", 2**63 - 1),
        ("seed", None),
        ("budget", 32),
        ("objectives/3/timeout_s", 120),
        ("variables/1/high", 3 + 2**31),
        ("name", "A1.b_c-d" + "e" * 92),
        ("objectives", [{"name": f"f{i}"} for i in range(20)]),
        ("notes", "line\nline \N{GREEK SMALL LETTER ALPHA}"),
    ],
)
def test_at_the_edge_of_what_is_possible(path: str, value: object) -> None:
    parse_specification(changed(path, value))


# Where the example is changed, to what, where the fault must be, and what it must say.
SINGLE: list[tuple[str, object, str, str]] = [
    # names
    ("name", "a/b", "#/name", NAME_RULE),
    ("name", "", "#/name", NAME_RULE),
    ("name", "-a", "#/name", NAME_RULE),
    ("name", "wing\n", "#/name", NAME_RULE),
    ("name", "é", "#/name", NAME_RULE),
    ("name", "a" * 101, "#/name", NAME_RULE),
    ("name", 7, "#/name", "valid string"),
    ("variables/0/name", "a b", "#/variables/0/name", NAME_RULE),
    ("objectives/0/name", "..", "#/objectives/0/name", NAME_RULE),
    (
        "variables/1/name",
        "span",
        "#/variables/1/name",
        "'span' is already the name of variables/0",
    ),
    (
        "objectives/3/name",
        "mass",
        "#/objectives/3/name",
        "'mass' is already the name of objectives/0",
    ),
    # fields
    ("name", ABSENT, "#/name", "is required"),
    ("budget", ABSENT, "#/budget", "is required"),
    ("variables", ABSENT, "#/variables", "is required"),
    ("objectives", ABSENT, "#/objectives", "is required"),
    ("variables/0/low", ABSENT, "#/variables/0/low", "is required"),
    ("budgt", 60, "#/budgt", "no such field; did you mean 'budget'?"),
    ("zzz", 60, "#/zzz", "there are name, variables, objectives, constraints, budget"),
    ("keep_extra", "all", "#/keep_extra", "no such field"),
    ("variables/0/hi", 60, "#/variables/0/hi", "no such field; did you mean 'high'?"),
    (
        "objectives/0/directon",
        "x",
        "#/objectives/0/directon",
        "did you mean 'direction'?",
    ),
    # kinds of values
    ("variables", {}, "#/variables", "must be a list"),
    (
        "variables",
        [],
        "#/variables",
        "0 variables; there must be at least 1 and at most 100",
    ),
    (
        "objectives",
        [],
        "#/objectives",
        "0 objectives; there must be at least 1 and at most 20",
    ),
    (
        "objectives",
        [{"name": f"f{i}"} for i in range(21)],
        "#/objectives",
        "21 objectives",
    ),
    ("variables/0", 3, "#/variables/0", "must be an object"),
    ("variables/0/low", True, "#/variables/0/low", "valid number"),
    ("variables/0/low", "1", "#/variables/0/low", "valid number"),
    ("variables/0/high", True, "#/variables/0/high", "valid number"),
    ("variables/0/low", float("nan"), "#/variables/0/low", "finite"),
    ("variables/0/high", float("inf"), "#/variables/0/high", "finite"),
    ("variables/0/high", 10**400, "#/variables/0/high", "valid number"),
    ("max_ratio", float("inf"), "#/max_ratio", "finite"),
    ("budget", "60", "#/budget", "valid integer"),
    ("budget", True, "#/budget", "valid integer"),
    ("budget", 60.5, "#/budget", "valid integer"),
    ("budget", None, "#/budget", "valid integer"),
    ("notes", "\x00", "#/notes", "control characters"),
    ("notes", "\ud800", "#/notes", "valid string"),
    ("objectives/0/unit", "\n", "#/objectives/0/unit", "control characters"),
    (
        "objectives/0/direction",
        "minimise",
        "#/objectives/0/direction",
        "did you mean 'minimize'?",
    ),
    ("variables/0/type", "integer", "#/variables/0/type", "must be one of float, int"),
    # ranges of variables
    ("variables/0/low", 4.0, "#/variables/0/low", "low (4) must be less than high (4)"),
    ("variables/0/low", 5.0, "#/variables/0/low", "low (5) must be less than high (4)"),
    ("variables/1/low", 3.5, "#/variables/1/low", "integer bounds, not 3.5"),
    ("variables/1/high", 11.5, "#/variables/1/high", "integer bounds, not 11.5"),
    ("variables/1/high", 4 + 2**31, "#/variables/1/high", "at most 2**31"),
    ("variables/2/low", 0, "#/variables/2/low", "a log scale needs low > 0, not 0"),
    ("variables/2/low", -1.0, "#/variables/2/low", "a log scale needs low > 0, not -1"),
    (
        "variables/0",
        {"name": "x", "low": -1e308, "high": 1e308},
        "#/variables/0/high",
        "too large",
    ),
    (
        "variables/2",
        {"name": "x", "low": 1e300, "high": 1.0000000000000002e300, "scale": "log"},
        "#/variables/2/high",
        "the same on a log scale",
    ),
    # strategy
    (
        "strategy",
        "sbpbo",
        "#/strategy",
        "must be one of sbp-bo, counterpoise, bo-aaf, sbp-bo-r, sbp-bo-c, k-rvea, hk-rvea, rvea,"
        " parego, random, mht, fast-first, brood-interleaving, speculative-interleaving,"
        " t-saea, tr-saea, tc-saea; did you mean 'sbp-bo'?",
    ),
    ("strategy", BENCHMARK_ONLY, "#/strategy", "for benchmarks only"),
    # runs
    (
        "objectives/2/same_run_as",
        "drga",
        "#/objectives/2/same_run_as",
        "no objective or constraint 'drga'; did you mean 'drag'?",
    ),
    (
        "objectives/2/same_run_as",
        "lift",
        "#/objectives/2/same_run_as",
        "cannot be in its own run",
    ),
    (
        "objectives/2/evaluation_time_s",
        1.0,
        "#/objectives/2/evaluation_time_s",
        "declare it for 'drag'",
    ),
    (
        "objectives/2/lease_s",
        100.0,
        "#/objectives/2/lease_s",
        "declare it for 'drag'",
    ),
    (
        "objectives/2/timeout_s",
        1.0,
        "#/objectives/2/timeout_s",
        "declare it for 'drag'",
    ),
    ("objectives/0/same_run_as", 3, "#/objectives/0/same_run_as", "valid string"),
    # limits
    ("constraints", [{"name": "s"}], "#/constraints/0/upper", "needs lower or upper"),
    (
        "constraints",
        [{"name": "s", "lower": 2, "upper": 2}],
        "#/constraints/0/upper",
        "upper (2) must be more than lower (2)",
    ),
    (
        "constraints",
        [{"name": "mass", "upper": 2}],
        "#/constraints/0/name",
        "'mass' is already the name of objectives/0",
    ),
    (
        "constraints",
        [{"name": "s", "upper": 2, "same_run_as": "drga"}],
        "#/constraints/0/same_run_as",
        "did you mean 'drag'?",
    ),
    (
        "constraints",
        [{"name": "s", "uper": 2, "lower": 1}],
        "#/constraints/0/uper",
        "did you mean 'upper'?",
    ),
    ("objectives/0/upper", "light", "#/objectives/0/upper", "valid number"),
    ("constraints", "stress", "#/constraints", "must be a list"),
    # times
    (
        "objectives/0/evaluation_time_s",
        0,
        "#/objectives/0/evaluation_time_s",
        "greater than 0",
    ),
    ("objectives/0/lease_s", 0, "#/objectives/0/lease_s", "greater than 0"),
    ("objectives/0/timeout_s", -1, "#/objectives/0/timeout_s", "greater than 0"),
    (
        "objectives/3/timeout_s",
        119,
        "#/objectives/3/timeout_s",
        "timeout_s (119) must be at least lease_s (120)",
    ),
    (
        "objectives/0/timeout_s",
        59,
        "#/objectives/0/timeout_s",
        "must be at least the study's lease_s (60)",
    ),
    ("lease_s", 0, "#/lease_s", "greater than 0"),
    ("lease_s", 86_401, "#/lease_s", "less than or equal to 86400"),
    # budget and other numbers
    (
        "budget",
        31,
        "#/budget",
        "the budget (31) is below the initial design of 32 samples (11 d - 1 with d = 3)",
    ),
    (
        "initial_samples",
        61,
        "#/budget",
        "the budget (60) is below the initial design of 61 samples (initial_samples)",
    ),
    ("initial_samples", 1, "#/initial_samples", "greater than or equal to 2"),
    ("budget", 0, "#/budget", "greater than or equal to 1"),
    ("budget", 1_000_001, "#/budget", "less than or equal to 1000000"),
    ("batch_size", 0, "#/batch_size", "greater than or equal to 1"),
    ("batch_size", 1001, "#/batch_size", "less than or equal to 1000"),
    ("generations", 0, "#/generations", "greater than or equal to 1"),
    ("generations", 1001, "#/generations", "less than or equal to 1000"),
    ("seed", -1, "#/seed", "greater than or equal to 0"),
    ("seed", 2**63, "#/seed", "less than or equal to"),
    ("max_ratio", 0.5, "#/max_ratio", "greater than or equal to 1"),
    ("cheap_threshold", 0.5, "#/cheap_threshold", "greater than or equal to 1"),
    ("max_attempts", 0, "#/max_attempts", "greater than or equal to 1"),
    ("max_losses", 0, "#/max_losses", "greater than or equal to 1"),
    (
        "constraints",
        [{"name": "stress", "upper": 1.0, "noise": True}],
        "#/constraints/0/noise",
        "always estimated",
    ),
    # ratios
    ("ratios", [1, 2], "#/ratios", "must be an object"),
    (
        "ratios",
        {"mas": 2},
        "#/ratios/mas",
        "no objective or constraint 'mas'; did you mean 'mass'?",
    ),
    ("ratios", {"lift": 2}, "#/ratios/lift", "declare it for 'drag'"),
    ("ratios", {"mass": 0.5}, "#/ratios/mass", "greater than or equal to 1"),
    ("ratios", {"mass": True}, "#/ratios/mass", "valid number"),
]


@pytest.mark.parametrize(
    ("path", "value", "pointer", "says"),
    SINGLE,
    ids=[f"{path} {str(value)[:15]!a}" for path, value, _, _ in SINGLE],
)
def test_one_fault_is_said_once_and_where_it_is(
    path: str, value: object, pointer: str, says: str
) -> None:
    [(where, detail)] = faults(changed(path, value))
    assert where == pointer
    assert says in detail


def test_integers_that_floats_cannot_tell_apart() -> None:
    variable = {"name": "i", "type": "int", "low": 2**53, "high": 2**53 + 2}
    assert [pointer for pointer, _ in faults(changed("variables/1", variable))] == [
        "#/variables/1/low",
        "#/variables/1/high",
    ]


def test_odd_names_of_fields_are_escaped() -> None:
    assert [pointer for pointer, _ in faults({**MINIMAL, "a/b~c": 1})] == ["#/a~1b~0c"]
    assert [
        pointer for pointer, _ in faults({**MINIMAL, "ratios": {"\ud800/": 1}})
    ] == ["#/ratios/?~1"]


def co_objectives(**same_run_as: str | None) -> dict[str, Any]:
    return {
        **MINIMAL,
        "objectives": [
            {"name": name, "same_run_as": run} for name, run in same_run_as.items()
        ],
    }


def test_a_chain_of_runs_says_the_way_out() -> None:
    assert faults(co_objectives(a="b", b="c", c=None)) == [
        (
            "#/objectives/0/same_run_as",
            "'b' has no jobs of its own, as it is in the run of 'c'; write 'c' here",
        )
    ]


def test_a_circle_of_runs_is_shown_for_each_of_its_members() -> None:
    assert faults(co_objectives(a="b", b="c", c="a")) == [
        ("#/objectives/0/same_run_as", "goes in a circle: a -> b -> c -> a"),
        ("#/objectives/1/same_run_as", "goes in a circle: b -> c -> a -> b"),
        ("#/objectives/2/same_run_as", "goes in a circle: c -> a -> b -> c"),
    ]


def test_a_chain_into_a_circle_ends() -> None:
    found = dict(faults(co_objectives(a="b", b="c", c="b")))
    assert (
        found["#/objectives/0/same_run_as"]
        == "'b' has no jobs of its own, as it is in the run of 'c'"
    )


def test_all_faults_at_once_whatever_their_kind() -> None:
    raw = {
        "name": "a b",
        "variables": [
            {"name": "x", "low": 2, "high": 1, "scale": "lgo"},
            {"name": "x", "type": "int", "low": "0", "high": 1.5},
            17,
        ],
        "objectives": [
            {"name": "f", "same_run_as": "g"},
            {"name": "h", "evaluation_time_s": -1},
        ],
        "budget": 5,
        "strategy": "sbp",
        "ratios": {"q": 0},
        "sed": 1,
    }
    assert {pointer for pointer, _ in faults(raw)} == {
        "#/name",
        "#/variables/0/low",
        "#/variables/0/scale",
        "#/variables/1/name",
        "#/variables/1/low",
        "#/variables/1/high",
        "#/variables/2",
        "#/objectives/0/same_run_as",
        "#/objectives/1/evaluation_time_s",
        "#/budget",
        "#/strategy",
        "#/ratios/q",
        "#/sed",
    }


def test_too_many_items_hide_no_fault_and_invent_none() -> None:
    objectives = [{"name": f"f{i}"} for i in range(25)]
    objectives[0]["same_run_as"] = "f24"
    objectives[1]["unt"] = "N"
    assert [
        pointer for pointer, _ in faults({**MINIMAL, "objectives": objectives})
    ] == [
        "#/objectives",
        "#/objectives/1/unt",
    ]


def test_more_than_a_hundred_variables() -> None:
    variables = [{"name": f"x{i}", "low": 0, "high": 1} for i in range(101)]
    assert faults({**MINIMAL, "variables": variables, "budget": 2000}) == [
        ("#/variables", "101 variables; there must be at least 1 and at most 100")
    ]


def test_of_too_many_items_only_the_possible_ones_are_looked_at() -> None:
    assert len(faults({**MINIMAL, "objectives": [1] * 25})) == 1 + 20


def test_a_flood_of_faults_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = Mock(return_value="")
    for module in (specification, contradictions):
        monkeypatch.setattr(module, "did_you_mean", look_up)
    flood = {f"k{i}": 1 for i in range(3000)}
    assert len(faults({**MINIMAL, **flood, "ratios": flood})) == 1000
    assert look_up.call_count == 2000  # it is slow: of a million, no more


def test_an_objective_is_not_offered_itself() -> None:
    assert faults(changed("objectives/2/same_run_as", "lif")) == [
        ("#/objectives/2/same_run_as", "there is no objective or constraint 'lif'")
    ]


def test_outputs_are_objectives_then_constraints() -> None:
    constraints = [
        {"name": "stress", "upper": 2.5e8, "unit": "Pa", "same_run_as": "drag"},
        {"name": "clearance", "lower": 0.1, "upper": 0.5, "evaluation_time_s": 1},
    ]
    study = parse_specification({**EXAMPLE, "constraints": constraints})
    assert study.output_names[-2:] == ("stress", "clearance")
    assert study.runs == ("mass", "drag", "stiffness", "clearance")
    assert study.also("drag") == ("lift", "stress")
    assert (study.is_limited, example().is_limited) == (True, False)
    values = {"stress": 2.6e8, "clearance": 0.5, "mass": 1e9}
    assert study.broken_limits(values) == ["stress"]
    clearance = study.constraints[1]
    assert [clearance.excess(value) for value in (0.05, 0.1, 0.5, 0.75)] == [
        0.05,
        0.0,
        0.0,
        0.25,
    ]


@pytest.mark.parametrize("raw", [None, [], "wing", 3, True])
def test_not_an_object(raw: object) -> None:
    assert [pointer for pointer, _ in faults(raw)] == ["#"]


def test_did_you_mean() -> None:
    assert did_you_mean("crsh", ["mass", "crash"]) == "; did you mean 'crash'?"
    assert did_you_mean("zzz", ["mass", "crash"]) == ""


# Half surrogates, control characters, huge and non-finite numbers: all that a JSON
# parser can give.
TEXT = st.text(st.characters(exclude_categories=()), max_size=5)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXT
    | st.sampled_from(["f", "g", "int", "log", 10**400])
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
    ),
)


def object_of(
    *fields: str, **known: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {}, optional={**dict.fromkeys(fields, JSON), **known, "ü/~": JSON}
    )


NAMES = st.sampled_from(["f", "g", "h"]) | JSON
VARIABLES = object_of(
    "low",
    "high",
    name=NAMES,
    type=st.sampled_from(["int", "float"]),
    scale=st.just("log") | JSON,
)
OBJECTIVES = object_of(
    "direction",
    "evaluation_time_s",
    "unit",
    "lease_s",
    "timeout_s",
    name=NAMES,
    same_run_as=NAMES | st.none(),
)
SPECIFICATIONS = object_of(
    *Specification.model_fields,
    name=NAMES,
    variables=st.lists(VARIABLES, max_size=3) | JSON,
    objectives=st.lists(OBJECTIVES, max_size=4) | JSON,
    ratios=st.dictionaries(st.sampled_from(["f", "g"]) | TEXT, JSON, max_size=3) | JSON,
)


def parsed_or_faults(raw: object) -> Specification | list[Fault]:
    try:
        return parse_specification(raw)
    except SpecificationInvalid as error:
        return error.faults


@given(JSON | SPECIFICATIONS)
def test_whatever_comes_is_a_specification_or_a_list_of_faults(raw: object) -> None:
    result = parsed_or_faults(raw)
    if isinstance(result, Specification):
        assert parse_specification(result.model_dump(mode="json")) == result
    else:
        assert result
        assert all(fault.pointer.startswith("#") and fault.detail for fault in result)
        assert json.dumps(
            [fault.model_dump() for fault in result], ensure_ascii=False
        ).encode()


@given(st.data())
def test_a_damaged_example_is_still_consistent_or_refused(data: st.DataObject) -> None:
    raw = copy.deepcopy(EXAMPLE)
    parts = [raw, *raw["variables"], *raw["objectives"]]
    for _ in range(data.draw(st.integers(1, 3))):
        part = data.draw(st.sampled_from(parts))
        key = data.draw(st.sampled_from(sorted(part)))
        part[key] = data.draw(
            st.integers(-5, 5000)
            | st.floats()
            | st.none()
            | st.sampled_from(["mass", "drag", "log"])
        )
    result = parsed_or_faults(raw)
    if isinstance(result, Specification):
        # The optimiser checks once more, and must find nothing.
        variables = optimizer_variables(result.variables)
        objectives = tuple(
            problem.Objective(o.name, o.direction) for o in result.objectives
        )
        problem.Problem(variables, objectives, (1.0,) * len(objectives))
        assert result.initial_count <= result.budget
        assert sum(1 + len(result.also(run)) for run in result.runs) == len(objectives)
    else:
        assert result
