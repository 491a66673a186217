"""Whatever a specification says: every fault is named and nothing changes, or the study is planned and finishes."""

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
from tests.reliability.untouched import check_refusal, untouched

JSON = {"Content-Type": "application/json"}
LONG = [pytest.mark.slow, pytest.mark.timeout(3600)]
LENIENT = {"deadline": None, "suppress_health_check": list(HealthCheck)}
# Whatever a field may be given: numbers beyond all bounds, other types, names that no URL and no database takes.
NUMBERS = [float("nan"), float("inf"), -0.0, 0, -1, 1.5, 1e308, 5e-324, 10**400, 2**63, 1e23, True, "7"]
NAMES = ["", "a b", "é", "e\u0301", "\u202eabc", "👩", "\x00", "\ud800", "a" * 101, ".", "..", "-a", "a/b", "a\n", 7]
SHAPES: list[Any] = [None, [], {}, [[]], {"a": {}}, [None], "x", json.loads("[" * 500 + "]" * 500)]
ODD = st.sampled_from([*NUMBERS, *NAMES, *SHAPES])
PLACES: list[tuple[str | int, ...]] = [(key,) for key in SPEC]
PLACES += [("variables", 0, key) for key in ("name", "type", "low", "high", "scale", "strange")]
PLACES += [("objectives", 2, key) for key in ("name", "direction", "unit", "same_run_as", "lease_s", "timeout_s")]
PLACES += [(key,) for key in ("strategy", "cheap_threshold", "ratios", "max_ratio", "max_losses", "notes", "strange")]
PLACES += [("variables", 1), ("objectives", 1), ("ratios", "drag"), ("ratios", "\ud800")]


def put(spec: dict[str, Any], place: tuple[str | int, ...], value: Any) -> None:
    """At this place, if another change has left it there."""
    inner: Any = spec
    with suppress(LookupError, TypeError, AttributeError):
        for key in place[:-1]:
            inner = inner.setdefault(key, {}) if isinstance(inner, dict) else inner[key]
        inner[place[-1]] = value


@pytest.mark.parametrize("examples", [60, pytest.param(3000, marks=LONG)])
def test_a_specification_is_refused_with_its_places_or_kept(
    client: TestClient, database: Database, examples: int
) -> None:
    @settings(max_examples=examples, **LENIENT)  # type: ignore[arg-type]
    @given(st.lists(st.tuples(st.sampled_from(PLACES), ODD), min_size=1, max_size=2))
    def attack(changes: list[tuple[tuple[str | int, ...], Any]]) -> None:
        spec = copy.deepcopy(SPEC)
        for place, value in changes:
            put(spec, place, value)
        client.delete("/studies/wing", params={"force": True})
        with untouched(database):
            answer = client.post("/studies", content=json.dumps(spec).encode(), headers=JSON)
            if answer.status_code != 201:
                problem = check_refusal(answer)
                assert problem["errors"] or problem["status"] == 400
                return
            kept = answer.json()["spec"]
            assert {key: kept[key] for key in spec if key not in ("variables", "objectives")} == {
                key: value for key, value in spec.items() if key not in ("variables", "objectives")
            }
            for part in ("variables", "objectives"):
                for said, found in zip(spec[part], kept[part], strict=True):
                    assert said.items() <= found.items()
            assert client.post("/studies", content=json.dumps(spec).encode(), headers=JSON).status_code == 200
            assert client.delete(f"/studies/{spec['name']}", params={"force": True}).status_code == 204

    attack()


BOUNDS = st.sampled_from([-1e308, -1e23, -1.0, -5e-324, 0.0, 5e-324, 1e-300, 1.0, 1.0 + 2**-52, 1e16, 1e23, 7e307])
WORTH = st.sampled_from([0.0, 1.0, -1.0, 5e-324, 1e100, -1e100, 1e23, 1e-300])


@st.composite
def sane(draw: st.DrawFn) -> dict[str, Any]:
    """A small study with ranges and numbers of every kind."""
    variables: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 3))):
        low, high = sorted(draw(st.tuples(BOUNDS, BOUNDS).filter(lambda pair: pair[0] != pair[1])))
        kind = draw(st.sampled_from(["float", "log", "int"]))
        if kind == "int":
            low = draw(st.sampled_from([-(2**52), -1, 0, 2**31]))
            variable = {"type": "int", "low": low, "high": low + draw(st.sampled_from([1, 2, 1000, 2**31]))}
        else:
            variable = {"low": low, "high": high, "scale": "log" if kind == "log" and low > 0 else "linear"}
        variables.append({"name": f"v{number}", **variable})
    objectives = [
        {"name": f"f{number}", "direction": draw(st.sampled_from(["minimize", "maximize"]))}
        for number in range(draw(st.integers(1, 3)))
    ]
    ratios = {objective["name"]: draw(st.sampled_from([1, 2, 1e23])) for objective in objectives}
    extra = {"budget": 5, "initial_samples": 3, "batch_size": 1, "generations": 1, "max_ratio": 2, "seed": 2**63 - 1}
    return {"name": "odd", "variables": variables, "objectives": objectives, "ratios": ratios, **extra}


@pytest.mark.parametrize("examples", [6, pytest.param(300, marks=LONG)])
def test_a_study_that_is_taken_finishes(client: TestClient, database: Database, examples: int) -> None:
    """With any range and any values, it is never stuck: the design is made, every step happens, or it says why."""

    @settings(max_examples=examples, **LENIENT)  # type: ignore[arg-type]
    @given(sane(), st.lists(WORTH, min_size=1, max_size=4))
    def attack(spec: dict[str, Any], worth: list[float]) -> None:
        client.delete("/studies/odd", params={"force": True})
        answer = client.post("/studies", json=spec)
        if answer.status_code != 201:
            check_refusal(answer)
            return
        wing = Wing(client, database, spec)
        for _ in range(40):
            planned = wing.plan()
            ask = {"worker": "w", "studies": ["odd"], "objectives": ["*"], "max_jobs": 256}
            jobs = client.post("/ask", json=ask).json()["jobs"]
            for job in jobs:
                for variable in spec["variables"]:
                    assert variable["low"] <= job["x"][variable["name"]] <= variable["high"]
            told = [
                {"job": job["job"], "lease": job["lease"], "value": worth[job["sample"] % len(worth)]} for job in jobs
            ]
            if told:
                assert {one["status"] for one in client.post("/tell", json=told).json()} == {200}
            elif not planned:
                break
        study = client.get("/studies/odd").json()
        assert study["phase"] == "finished", study
        assert study["evaluated_full"] == 5 or study["ending"] == "space_exhausted"
        steps = client.get("/studies/odd/steps", params={"limit": 1000}).json()["items"]
        assert [(step["state"], step["fault"]) for step in steps] == [("done", None)] * len(steps)
        assert client.get("/studies/odd/front").json()["items"]
        assert client.post("/studies", json=spec).status_code == 200  # the same study

    attack()
