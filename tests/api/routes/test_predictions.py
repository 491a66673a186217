"""Predictions of the last step's models."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.store.database import Database
from app.store.monitoring.step_models import predicting_step
from tests.api.wing import SPEC, Wing, check_problem

MATERIALS = ["steel", "titanium"]


@pytest.fixture
def searched(client: TestClient, database: Database) -> Wing:
    """A study with a category whose first search step is done."""
    material = {"name": "material", "type": "categorical", "choices": MATERIALS}
    variables = [*SPEC["variables"], material]
    more = {"variables": variables, "initial_samples": 12, "budget": 20}
    wing = Wing(client, database, {**SPEC, **more})
    assert client.post("/studies", json=wing.spec).status_code == 201
    while wing.get("")["step"] == 0:
        assert wing.plan() + wing.work()
    return wing


def predict(wing: Wing, *points: dict[str, Any]) -> Any:
    response = wing.post("/predictions", points=list(points))
    assert response.status_code == 200, response.text
    return response.json()


def test_before_the_first_step_nothing_is_predicted(wing: Wing) -> None:
    for view in (wing.get("/predictions"), predict(wing, {"span": 1.5, "ribs": 7})):
        assert (view["step"], view["items"]) == (None, [])


def test_predictions_are_those_of_the_step(searched: Wing) -> None:
    proposed = [
        sample
        for sample in searched.get("/samples", full=True)["items"]
        if sample["step"] == "search:1"
    ]
    (step,) = [
        step for step in searched.get("/steps")["items"] if step["step"] == "search:1"
    ]
    reports = step["record"]["full_samples"]
    view = predict(searched, *(sample["x"] for sample in proposed))
    assert view["step"] == "search:1"
    for item, sample, report in zip(view["items"], proposed, reports, strict=True):
        assert item["x"] == sample["x"]
        mass, drag, lift = report["mean"]
        expected = {"mass": mass, "drag": drag, "lift": -lift}
        assert item["mean"] == pytest.approx(expected, rel=1e-6)
        assert list(item["deviation"].values()) == pytest.approx(
            report["deviation"], rel=1e-3
        )


@pytest.mark.slow_on("sqlite")
def test_the_predicted_front_is_nondominated(searched: Wing) -> None:
    view = searched.get("/predictions")
    assert view["items"]
    assert {item["x"]["material"] for item in view["items"]} <= set(MATERIALS)
    rows = [
        (item["mean"]["mass"], item["mean"]["drag"], -item["mean"]["lift"])
        for item in view["items"]
    ]
    for row in rows:
        assert not any(dominates(other, row) for other in rows)
    again = predict(searched, view["items"][0]["x"])["items"][0]
    assert again["mean"] == pytest.approx(view["items"][0]["mean"], rel=1e-6)


def dominates(left: tuple[float, ...], right: tuple[float, ...]) -> bool:
    return left != right and all(a <= b for a, b in zip(left, right, strict=True))


@pytest.mark.slow_on("sqlite")
def test_a_later_step_replaces_the_models(searched: Wing) -> None:
    point = {"span": 1.5, "ribs": 7, "material": "steel"}
    before = predict(searched, point)
    searched.finish()
    after = predict(searched, point)
    assert after["number"] > before["number"]
    assert after["items"] != before["items"]
    with searched.database.read() as connection:
        assert predicting_step(connection, 1) is not None


def test_points_that_do_not_fit_are_refused_with_all_faults(searched: Wing) -> None:
    points = [
        {"span": 9.0, "ribs": 7.5, "material": "wood"},
        {"spann": 1.5, "ribs": 7, "material": "steel"},
    ]
    response = searched.post("/predictions", points=points)
    problem = check_problem(response, 422, "point-invalid")
    pointers = [fault["pointer"] for fault in problem["errors"]]
    assert pointers == [
        "/points/0/span",
        "/points/0/ribs",
        "/points/0/material",
        "/points/1/spann",
        "/points/1/span",
    ]
    check_problem(searched.post("/predictions", points=[]), 422, "invalid-request")
