"""Designs of the front that stand out, over HTTP."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.api.wing import SPEC, Wing, check_problem


def by_title(choices: dict[str, Any]) -> dict[tuple[str, str | None], Any]:
    return {(item["code"], item["objective"]): item for item in choices["items"]}


def test_an_empty_front_has_no_choices(wing: Wing) -> None:
    assert wing.get("/choices") == {"study": "wing", "items": []}


def test_choices_are_extremes_of_the_front_in_their_directions(wing: Wing) -> None:
    wing.plan()
    wing.work()
    front = wing.get("/front")["items"]
    found = by_title(wing.get("/choices", target="mass:0,lift:1e3"))
    assert set(found) == {
        ("best", "mass"),
        ("best", "drag"),
        ("best", "lift"),
        ("knee", None),
        ("nearest", None),
    }
    lightest = min(front, key=lambda item: item["values"]["mass"])
    most_lift = max(front, key=lambda item: item["values"]["lift"])
    assert found["best", "mass"]["sample"] == lightest["sample"]
    assert found["best", "lift"]["sample"] == most_lift["sample"]
    assert found["best", "lift"]["values"] == most_lift["values"]


def test_designs_may_have_choices_without_an_order(client: TestClient) -> None:
    alloy = {"name": "alloy", "type": "categorical", "choices": ["steel", "alu"]}
    spec = {**SPEC, "variables": [*SPEC["variables"], alloy]}
    assert client.post("/studies?paused=true", json=spec).status_code == 201
    rows = "span,ribs,alloy,mass,drag,lift\n1.5,7,steel,1,2,3\n1.2,9,alu,2,1,4\n"
    csv = {"content-type": "text/csv"}
    path = "/studies/wing"
    assert client.post(f"{path}/import", content=rows, headers=csv).status_code == 200
    found = by_title(client.get(f"{path}/choices").json())
    assert found["best", "mass"]["x"] == {"span": 1.5, "ribs": 7, "alloy": "steel"}


def test_one_objective_needs_no_compromise(client: TestClient) -> None:
    spec = {**SPEC, "objectives": [{"name": "mass"}]}
    assert client.post("/studies?paused=true", json=spec).status_code == 201
    rows = "span,ribs,mass\n1.5,7,1\n1.2,9,2\n"
    csv = {"content-type": "text/csv"}
    path = "/studies/wing"
    assert client.post(f"{path}/import", content=rows, headers=csv).status_code == 200
    assert set(by_title(client.get(f"{path}/choices").json())) == {("best", "mass")}


def test_a_target_must_name_objectives_and_numbers(
    client: TestClient, wing: Wing
) -> None:
    path = f"/studies/{wing.spec['name']}/choices"
    check_problem(client.get(path, params={"target": "mass"}), 422, "invalid-request")
    unknown = client.get(path, params={"target": "mas:1"})
    problem = check_problem(unknown, 404, "objective-unknown")
    assert "'mass'" in problem["detail"]


@pytest.mark.parametrize(
    "number", [".5", "+1", "-.5e-3", "1.", "100000000000000000000"]
)
def test_a_target_may_be_any_number(
    client: TestClient, wing: Wing, number: str
) -> None:
    path = f"/studies/{wing.spec['name']}/choices"
    assert client.get(path, params={"target": f"mass:{number}"}).status_code == 200
    refused = client.get(path, params={"target": f"mass:{number}x"})
    check_problem(refused, 422, "invalid-request")
