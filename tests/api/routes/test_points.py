"""Points of an engineer's own, and samples that are left out."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from app.service.planning.replay import replay
from app.store.database import Database
from tests.api.wing import SPEC, Wing, check_problem

X = {"span": 1.234, "ribs": 7}


def request(wing: Wing, **body: Any) -> Response:
    return wing.post("/samples", **{"x": X, **body})


def sample_of(wing: Wing, number: int) -> dict[str, Any]:
    items = wing.get("/samples", limit=1000)["items"]
    (sample,) = [item for item in items if item["sample"] == number]
    return dict(sample)


def test_a_point_becomes_a_full_sample_of_the_budget(wing: Wing) -> None:
    before = wing.get("")
    response = request(wing)
    assert response.status_code == 201, response.text
    point = response.json()
    assert (len(point["jobs"]), point["outside_budget"]) == (2, False)
    after = wing.get("")
    assert after["planned_full"] == before["planned_full"] + 1
    assert after["imported"] == 0
    wing.finish()
    sample = sample_of(wing, point["sample"])
    assert (sample["x"], sample["open"], sample["step"]) == (X, 0, None)
    assert set(sample["values"]) == {"mass", "drag", "lift"}
    end = wing.get("")
    assert end["evaluated_full"] == end["planned_full"] == end["budget"] == 6


def test_outside_the_budget_nothing_is_planned(wing: Wing) -> None:
    before = wing.get("")["planned_full"]
    assert request(wing, outside_budget=True).status_code == 201
    assert wing.get("")["planned_full"] == before
    wing.finish()
    assert wing.get("")["evaluated_full"] == 6


def test_a_partial_sample_is_wanted_on_some_runs_only(wing: Wing) -> None:
    point = request(wing, objectives=["mass"]).json()
    assert (len(point["jobs"]), point["outside_budget"]) == (1, True)
    wing.work("mass")
    sample = sample_of(wing, point["sample"])
    assert set(sample["values"]) == {"mass"}
    # An objective that comes with another one's run asks for that run.
    other = wing.post("/samples", x={**X, "ribs": 8}, objectives=["lift"]).json()
    assert len(other["jobs"]) == 1
    wing.finish()
    assert set(sample_of(wing, other["sample"])["values"]) == {"drag", "lift"}


def test_a_finished_study_evaluates_outside_its_budget_only(wing: Wing) -> None:
    wing.finish()
    check_problem(request(wing), 409, "request-refused")
    assert request(wing, outside_budget=True).status_code == 201
    assert wing.work() == 2


def test_a_place_that_a_due_step_may_use_is_not_taken(wing: Wing) -> None:
    wing.work()  # the first search step is due
    check_problem(request(wing), 409, "request-refused")
    assert request(wing, outside_budget=True).status_code == 201
    wing.finish()


def test_a_known_point_and_a_wrong_one_are_refused(wing: Wing) -> None:
    first = request(wing).json()["sample"]
    problem = check_problem(request(wing), 409, "request-refused")
    assert f"sample {first}" in problem["detail"]
    problem = check_problem(
        wing.post("/samples", x={"span": 9.0}, objectives=["drga"]),
        422,
        "point-invalid",
    )
    pointers = [fault["pointer"] for fault in problem["errors"]]
    assert pointers == ["/x/span", "/x/ribs", "/objectives"]


@pytest.fixture
def finished(client: TestClient, database: Database) -> Wing:
    wing = Wing(client, database, {**SPEC, "budget": 8})
    assert client.post("/studies", json=wing.spec).status_code == 201
    wing.finish()
    return wing


def test_an_excluded_sample_leaves_the_front_until_it_is_restored(
    finished: Wing,
) -> None:
    before = finished.get("/front")["items"]
    number = before[0]["sample"]
    for _ in range(2):  # the second time nothing changes
        response = finished.post(f"/samples/{number}/exclude")
        assert response.json() == {"sample": number, "excluded": True}
    numbers = [item["sample"] for item in finished.get("/front")["items"]]
    assert number not in numbers
    assert sample_of(finished, number)["excluded"] is True
    assert finished.post(f"/samples/{number}/restore").json()["excluded"] is False
    assert finished.get("/front")["items"] == before
    assert kinds(finished)[-2:] == ["excluded", "restored"]


def kinds(wing: Wing) -> list[str]:
    response = wing.client.get(
        "/studies/wing/events", params={"after": 0, "follow": "false"}
    )
    return [
        line.removeprefix("event: ")
        for line in response.text.splitlines()
        if line.startswith("event: ") and "closed" not in line
    ]


def test_steps_leave_excluded_values_out_and_replay_is_exact(wing: Wing) -> None:
    wing.work()
    wing.plan()
    sizes = [model_size(wing, 1)]
    number = wing.get("/samples", full=True)["items"][0]["sample"]
    wing.post(f"/samples/{number}/exclude")
    wing.post("/extend", budget=12)
    while wing.get("")["step"] < 2:
        assert wing.work() + wing.plan()
    sizes.append(model_size(wing, 2))
    wing.post(f"/samples/{number}/restore")
    wing.finish()
    sizes.append(model_size(wing, 3))
    assert sizes == [4, 4 + 2 - 1, 4 + 4]
    assert all(result.equal for result in replay(wing.database, "wing", None))


def model_size(wing: Wing, number: int) -> int:
    """How many values the model of drag was fitted to."""
    outputs = {output["objective"]: output for output in wing.get("/models")["outputs"]}
    (step,) = [step for step in outputs["drag"]["steps"] if step["number"] == number]
    return int(step["size"])


def test_a_sample_of_another_study_is_not_found(wing: Wing) -> None:
    assert wing.client.post("/studies", json={**SPEC, "name": "other"}).is_success
    check_problem(wing.post("/samples/999/exclude"), 404, "sample-unknown")
    response = wing.client.post("/studies/other/samples/1/exclude")
    check_problem(response, 404, "sample-unknown")
