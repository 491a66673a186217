"""Designs of the front that stand out, over HTTP."""

from typing import Any

from fastapi.testclient import TestClient

from tests.api.wing import Wing, check_problem


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


def test_a_wish_must_name_objectives_and_numbers(
    client: TestClient, wing: Wing
) -> None:
    path = f"/studies/{wing.spec['name']}/choices"
    check_problem(client.get(path, params={"target": "mass"}), 422, "invalid-request")
    unknown = client.get(path, params={"target": "mas:1"})
    problem = check_problem(unknown, 404, "objective-unknown")
    assert "'mass'" in problem["detail"]
