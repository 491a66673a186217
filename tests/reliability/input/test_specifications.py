"""A specification is refused with every fault named, or its study is planned and
finishes.
"""

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.store.database import Database
from tests.api.wing import SPEC, Wing
from tests.reliability.input.refusals import check_refusal
from tests.reliability.input.stored_rows import unchanged

Place = tuple[str | int, ...]
JSON = {"Content-Type": "application/json"}
LONG = [pytest.mark.slow, pytest.mark.timeout(3600)]
FORCE = {"force": True}
PARTS = ("variables", "objectives")
# What a field may be given: extreme numbers, other types, names that no URL and no
# database accepts.
NUMBERS = [
    float("nan"),
    float("inf"),
    -0.0,
    0,
    -1,
    1.5,
    1e308,
    5e-324,
    10**400,
    2**63,
    1e23,
    True,
    "7",
]
NAMES = [
    "",
    "a b",
    "é",
    "e\u0301",
    "\u202eabc",
    "👩",
    "\x00",
    "\ud800",
    "a" * 101,
    ".",
    "..",
    "-a",
    "a/b",
    "a\n",
    7,
]
SHAPES: list[Any] = [
    None,
    [],
    {},
    [[]],
    {"a": {}},
    [None],
    "x",
    json.loads("[" * 500 + "]" * 500),
]
ODD_VALUES = st.sampled_from([*NUMBERS, *NAMES, *SHAPES])
PLACES: list[Place] = [
    *((key,) for key in SPEC),
    *(
        ("variables", 0, key)
        for key in ("name", "type", "low", "high", "scale", "strange")
    ),
    *(
        ("objectives", 2, key)
        for key in ("name", "direction", "unit", "same_run_as", "lease_s", "timeout_s")
    ),
    *(
        (key,)
        for key in (
            "strategy",
            "cheap_threshold",
            "ratios",
            "max_ratio",
            "max_losses",
            "notes",
            "strange",
        )
    ),
    *(("variables", 1), ("objectives", 1), ("ratios", "drag"), ("ratios", "\ud800")),
]
CHANGES = st.lists(
    st.tuples(st.sampled_from(PLACES), ODD_VALUES), min_size=1, max_size=2
)


def put(spec: dict[str, Any], place: Place, value: Any) -> None:
    """Change this place, unless another change has removed it."""
    inner: Any = spec
    with suppress(LookupError, TypeError, AttributeError):
        for key in place[:-1]:
            inner = inner.setdefault(key, {}) if isinstance(inner, dict) else inner[key]
        inner[place[-1]] = value


def check_kept(spec: dict[str, Any], kept: dict[str, Any]) -> None:
    """The stored specification has everything that was sent, beside its defaults."""
    for key, value in spec.items():
        is_drawn = key == "seed" and value is None
        if key not in PARTS and not is_drawn:
            assert kept[key] == value
    for part in PARTS:
        for sent, stored in zip(spec[part], kept[part], strict=True):
            assert sent.items() <= stored.items()


@pytest.mark.parametrize("examples", [60, pytest.param(3000, marks=LONG)])
def test_specification_is_refused_with_its_places_or_kept(
    client: TestClient, database: Database, examples: int
) -> None:
    @settings(
        max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(CHANGES)
    def create(changes: list[tuple[Place, Any]]) -> None:
        spec = copy.deepcopy(SPEC)
        for place, value in changes:
            put(spec, place, value)
        content = json.dumps(spec).encode()
        client.delete("/studies/wing", params=FORCE)
        with unchanged(database):
            response = client.post("/studies", content=content, headers=JSON)
            if response.status_code != 201:
                problem = check_refusal(response)
                assert problem["errors"] or problem["status"] == 400
                return
            check_kept(spec, response.json()["spec"])
            assert (
                client.post("/studies", content=content, headers=JSON).status_code
                == 200
            )
            assert (
                client.delete(f"/studies/{spec['name']}", params=FORCE).status_code
                == 204
            )

    create()


BOUNDS = st.sampled_from(
    [
        -1e308,
        -1e23,
        -1.0,
        -5e-324,
        0.0,
        5e-324,
        1e-300,
        1.0,
        1.0 + 2**-52,
        1e16,
        1e23,
        7e307,
    ]
)
RANGES = st.tuples(BOUNDS, BOUNDS).filter(lambda pair: pair[0] != pair[1])
INTEGER_LOWS = st.sampled_from([-(2**52), -1, 0, 2**31])
INTEGER_WIDTHS = st.sampled_from([1, 2, 1000, 2**31])
DIRECTIONS = st.sampled_from(["minimize", "maximize"])
VALUES = st.lists(
    st.sampled_from([0.0, 1.0, -1.0, 5e-324, 1e100, -1e100, 1e23, 1e-300]),
    min_size=1,
    max_size=4,
)


@st.composite
def variables(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["float", "log", "int"]))
    if kind == "int":
        low = draw(INTEGER_LOWS)
        return {"type": "int", "low": low, "high": low + draw(INTEGER_WIDTHS)}
    lower, upper = sorted(draw(RANGES))
    return {
        "low": lower,
        "high": upper,
        "scale": "log" if kind == "log" and lower > 0 else "linear",
    }


@st.composite
def small_studies(draw: st.DrawFn) -> dict[str, Any]:
    """Well formed, with ranges and numbers of every kind."""
    drawn = draw(st.lists(variables(), min_size=1, max_size=3))
    directions = draw(st.lists(DIRECTIONS, min_size=1, max_size=3))
    names = [f"f{number}" for number in range(len(directions))]
    return {
        "name": "odd",
        "variables": [
            {"name": f"v{number}", **variable} for number, variable in enumerate(drawn)
        ],
        "objectives": [
            {"name": name, "direction": way}
            for name, way in zip(names, directions, strict=True)
        ],
        "ratios": {name: draw(st.sampled_from([1, 2, 1e23])) for name in names},
        "budget": 5,
        "initial_samples": 3,
        "batch_size": 1,
        "generations": 1,
        "max_ratio": 2,
        "seed": 2**63 - 1,
    }


@pytest.mark.parametrize("examples", [6, pytest.param(300, marks=LONG)])
def test_accepted_study_finishes(
    client: TestClient, database: Database, examples: int
) -> None:
    """With any range and any values the study is never stuck, or its ending states why."""

    @settings(
        max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(small_studies(), VALUES)
    def run(spec: dict[str, Any], values: list[float]) -> None:
        client.delete("/studies/odd", params=FORCE)
        response = client.post("/studies", json=spec)
        if response.status_code != 201:
            check_refusal(response)
            return
        evaluate_to_the_end(Wing(client, database, spec), values)
        check_finished(client)
        assert client.post("/studies", json=spec).status_code == 200  # the same study

    run()


def evaluate_to_the_end(wing: Wing, values: list[float]) -> None:
    ask = {"worker": "w", "studies": ["odd"], "objectives": ["*"], "max_jobs": 256}
    for _ in range(40):
        planned = wing.plan()
        jobs = wing.client.post("/ask", json=ask).json()["jobs"]
        items = []
        for job in jobs:
            check_in_range(wing.spec, job["x"])
            value = values[job["sample"] % len(values)]
            items.append({"job": job["job"], "lease": job["lease"], "value": value})
        if items:
            responses = wing.client.post("/tell", json=items).json()
            assert {response["status"] for response in responses} == {200}
        elif not planned:
            break


def check_in_range(spec: dict[str, Any], x: dict[str, float]) -> None:
    for variable in spec["variables"]:
        assert variable["low"] <= x[variable["name"]] <= variable["high"]


def check_finished(client: TestClient) -> None:
    study = client.get("/studies/odd").json()
    assert study["phase"] == "finished", study
    assert study["evaluated_full"] == 5 or study["ending"] == "space_exhausted"
    steps = client.get("/studies/odd/steps", params={"limit": 1000}).json()["items"]
    assert {(step["state"], step["fault"]) for step in steps} == {("done", None)}
    assert client.get("/studies/odd/front").json()["items"]
