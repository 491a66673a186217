"""What engineers call: studies, and what is in them."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from app.store.database import Database
from app.store.tables import samples
from counterpoise.wire.specification import parse_specification
from tests.api.wing import SPEC, Wing, check_problem, evaluate


def fault_details(problem: dict[str, Any]) -> dict[str, str]:
    """By pointer."""
    return {fault["pointer"]: fault["detail"] for fault in problem["errors"]}


def test_a_study_is_created_once(client: TestClient) -> None:
    first = client.post("/studies", json=SPEC)
    assert first.status_code == 201
    view = first.json()
    assert (view["name"], view["phase"], view["state"], view["budget"]) == (
        "wing",
        "initial",
        "active",
        6,
    )
    assert (view["evaluated_full"], view["planned_full"], view["step"]) == (0, 0, 0)
    assert [objective["name"] for objective in view["objectives"]] == [
        "mass",
        "drag",
        "lift",
    ]
    assert view["hypervolume"] is None
    with_default = client.post("/studies", json=SPEC | {"notes": ""})
    assert (with_default.status_code, with_default.json()["created_at"]) == (
        200,
        view["created_at"],
    )
    different = client.post("/studies", json=SPEC | {"budget": 7, "seed": 2})
    assert "budget, seed" in check_problem(different, 409, "study-exists")["detail"]
    assert client.get("/studies/wing").json()["budget"] == 6


def test_all_faults_of_a_specification_are_listed(client: TestClient) -> None:
    spec = SPEC | {
        "budget": 2,
        "strategy": "best",
        "variables": [{"name": "a b", "low": 2, "high": 1}],
        "color": 1,
    }
    problem = check_problem(
        client.post("/studies", json=spec), 422, "invalid-specification"
    )
    expected = {
        "#/budget",
        "#/strategy",
        "#/variables/0/name",
        "#/variables/0/low",
        "#/color",
    }
    assert expected <= fault_details(problem).keys()
    assert client.get("/studies").json() == {"items": [], "next": None}


def test_every_route_of_an_unknown_study_responds_with_404(client: TestClient) -> None:
    client.post("/studies", json=SPEC)
    for verb in ("pause", "resume", "stop", "extend", "retry"):
        body = {"budget": 9} if verb == "extend" else None
        problem = check_problem(
            client.post(f"/studies/wnig/{verb}", json=body), 404, "study-unknown"
        )
        assert "did you mean 'wing'" in problem["detail"]
    for path in ("", "/samples", "/jobs", "/steps", "/front"):
        check_problem(client.get(f"/studies/nothing{path}"), 404, "study-unknown")
    check_problem(client.delete("/studies/nothing"), 404, "study-unknown")


def test_unusual_names_of_studies_are_refused_or_unknown(client: TestClient) -> None:
    for name in ("%00", "a%00b", "x" * 101):
        assert check_problem(client.get(f"/studies/{name}"), 422, "invalid-request")[
            "errors"
        ]
    for name in ("%ff", "a b", "ä", "'; DROP TABLE studies"):
        check_problem(client.get(f"/studies/{name}"), 404, "study-unknown")


def test_a_finished_study(wing: Wing) -> None:
    wing.finish()
    view = wing.get("")
    assert (view["phase"], view["evaluated_full"], view["step"]) == ("finished", 6, 1)
    assert view["finished_at"] is not None
    assert view["health"] == []
    mass, drag, lift = view["objectives"]
    assert (mass["ratio"], mass["cheap"]) == (2.0, True)
    assert (drag["ratio"], drag["cheap"], drag["done"]) == (1.0, False, 6)
    assert (lift["same_run_as"], lift["direction"], lift["done"]) == (
        "drag",
        "maximize",
        6,
    )
    assert mass["done"] + mass["superseded"] > 6
    assert mass["median_duration_s"] == pytest.approx(0.1)
    assert all(
        objective["ready"] == objective["leased"] == 0
        for objective in view["objectives"]
    )
    assert view["hypervolume"]["exact"] is True
    assert set(view["hypervolume"]["reference_point"]) == {"mass", "drag", "lift"}


def test_the_front_is_one_page_with_the_best_values(wing: Wing) -> None:
    wing.finish()
    page = wing.get("/front")
    assert page["next"] is None
    assert all(
        item.keys() == {"sample", "step", "x", "values", "estimates"}
        for item in page["items"]
    )
    full = [
        sample for sample in wing.get("/samples", limit=1000)["items"] if sample["full"]
    ]
    largest_lift = max(sample["values"]["lift"] for sample in full)
    assert largest_lift in [item["values"]["lift"] for item in page["items"]]


def read_in_pages(wing: Wing, what: str, limit: int) -> list[Any]:
    items: list[Any] = []
    query: dict[str, Any] = {"limit": limit}
    while True:
        page = wing.get(f"/{what}", **query)
        assert len(page["items"]) <= limit
        items += page["items"]
        if page["next"] is None:
            return items
        query["cursor"] = page["next"]


def test_pages_hold_every_item_once(wing: Wing) -> None:
    wing.finish()
    for what, key in (("samples", "sample"), ("jobs", "job"), ("steps", "step")):
        whole = wing.get(f"/{what}", limit=1000)
        assert whole["next"] is None
        items = read_in_pages(wing, what, limit=2)
        assert items == whole["items"]
        assert len({item[key] for item in items}) == len(items) > 2


def test_lists_can_be_filtered(wing: Wing) -> None:
    wing.finish()
    all_samples = wing.get("/samples", limit=1000)["items"]
    for full in (True, False):
        expected = [sample for sample in all_samples if sample["full"] is full]
        assert wing.get("/samples", limit=1000, full=full)["items"] == expected
    all_jobs = wing.get("/jobs", limit=1000)["items"]
    done = [
        job for job in all_jobs if job["objective"] == "drag" and job["state"] == "done"
    ]
    assert (
        wing.get("/jobs", limit=1000, objective="drag", state="done")["items"] == done
    )
    assert len(done) == 6
    assert all(job["value"] is not None and job["worker"] == "w" for job in done)
    unknown = wing.client.get("/studies/wing/jobs", params={"objective": "drga"})
    assert (
        "did you mean 'drag'"
        in check_problem(unknown, 404, "objective-unknown")["detail"]
    )


def test_invalid_cursors_limits_and_states_are_refused(wing: Wing) -> None:
    for cursor in ("x", "-1", "1.5", "٣", "9" * 20):
        check_problem(
            wing.client.get("/studies/wing/jobs", params={"cursor": cursor}),
            422,
            "cursor-invalid",
        )
    for limit in (0, 1001, "x", 10**30):
        check_problem(
            wing.client.get("/studies/wing/jobs", params={"limit": limit}),
            422,
            "invalid-request",
        )
    response = wing.client.get("/studies/wing/jobs", params={"state": "dnoe"})
    details = fault_details(check_problem(response, 422, "invalid-request"))
    # The wording is tested on purpose: it lists all states.
    assert details == {
        "query parameter state": "must be one of waiting, ready, leased, done, infeasible, failed,"
        " superseded; did you mean 'done'?"
    }
    assert wing.get("/jobs", cursor=str(2**62 - 1)) == {"items": [], "next": None}


def test_studies_are_listed_in_pages(client: TestClient) -> None:
    for name in ("a", "b", "c"):
        client.post("/studies", json=SPEC | {"name": name})
    first = client.get("/studies", params={"limit": 2}).json()
    assert [study["name"] for study in first["items"]] == ["a", "b"]
    second = client.get("/studies", params={"limit": 2, "cursor": first["next"]}).json()
    assert [study["name"] for study in second["items"]] == ["c"]
    assert second["next"] is None


def test_steps_show_what_they_read(wing: Wing) -> None:
    wing.work("mass")  # only mass: its stream begins
    wing.finish()
    steps = {step["step"]: step for step in wing.get("/steps")["items"]}
    assert steps.keys() == {"initial", "stream:mass:1", "search:1", "closing:6"}
    assert steps["stream:mass:1"]["objective"] == "mass"
    search = steps["search:1"]
    assert (search["state"], search["faults"], search["fault"]) == ("done", 0, None)
    assert search["record"]["read_until"] == search["due_seq"]
    assert search["record"]["ratios"] == [2.0, 1.0, 1.0]
    assert search["record"]["timings_s"].keys() == {"fit", "search", "select", "read"}


def test_pause_and_resume(wing: Wing) -> None:
    job = wing.job("mass")
    for _ in range(2):
        assert wing.post("/pause").json()["state"] == "paused"
    assert wing.get("")["health"][0]["code"] == "paused"
    assert wing.tell(job, value=1.0).status_code == 200  # running jobs go on
    assert wing.ask("mass")["jobs"] == []
    for _ in range(2):
        assert wing.post("/resume").json()["state"] == "active"
    assert wing.ask("mass")["jobs"]


def test_stop_finishes_the_study_and_late_values_are_still_recorded(wing: Wing) -> None:
    job = wing.job("mass")
    for _ in range(2):
        view = wing.post("/stop").json()
        assert (view["phase"], view["ending"]) == ("finished", "stopped")
        assert [item["code"] for item in view["health"]] == ["finished_early"]
    mass = view["objectives"][0]
    assert (mass["superseded"], mass["leased"]) == (3, 1)
    assert wing.tell(job, value=1.0).status_code == 200
    assert wing.get("")["objectives"][0]["done"] == 1


def test_extend_reopens_a_finished_study(wing: Wing) -> None:
    wing.finish()
    for budget in (5, 6):
        check_problem(wing.post("/extend", budget=budget), 409, "request-refused")
    view = wing.post("/extend", budget=8).json()
    assert (view["phase"], view["budget"], view["finished_at"]) == ("search", 8, None)
    wing.finish()
    assert wing.get("")["evaluated_full"] == 8


def test_a_budget_has_the_same_limit_everywhere(wing: Wing) -> None:
    largest = 10**6
    assert parse_specification(SPEC | {"budget": largest}).budget == largest
    problem = check_problem(
        wing.post("/extend", budget=largest + 1), 422, "invalid-request"
    )
    assert fault_details(problem).keys() == {"#/budget"}
    check_problem(
        wing.client.post("/studies", json=SPEC | {"budget": largest + 1}),
        422,
        "invalid-specification",
    )
    assert wing.post("/extend", budget=largest).json()["budget"] == largest


def test_jobs_are_paged_from_either_end(wing: Wing) -> None:
    oldest = [job["job"] for job in wing.get("/jobs", limit=1000)["items"]]
    newest: list[int] = []
    page: dict[str, Any] = {"next": None}
    while not newest or page["next"]:
        cursor = {"cursor": page["next"]} if newest else {}
        page = wing.get("/jobs", limit=3, newest_first=True, objective="drag", **cursor)
        newest += [job["job"] for job in page["items"]]
    assert oldest == sorted(oldest)
    assert newest == sorted(newest, reverse=True)
    assert set(newest) < set(oldest)
    assert len(newest) > 3


def test_retry_returns_failed_jobs_to_ready(wing: Wing) -> None:
    for objective in ("mass", "drag"):
        wing.tell(wing.job(objective), failure={"kind": "infeasible"})
    assert wing.post("/retry").json() == {"jobs": 0}  # a result, not a failure
    for without_jobs in ("lift", "mss"):
        check_problem(
            wing.post("/retry", objectives=[without_jobs]), 404, "objective-unknown"
        )
    # With the run that was withdrawn for it
    mass = {"objectives": ["mass"], "infeasible": True}
    assert wing.post("/retry", **mass).json() == {"jobs": 2}
    assert wing.post("/retry", infeasible=True).json() == {"jobs": 2}
    assert wing.post("/retry", infeasible=True).json() == {"jobs": 0}
    assert [objective["infeasible"] for objective in wing.get("")["objectives"]] == [
        0,
        0,
        0,
    ]
    wing.finish()


def test_delete_is_refused_while_workers_hold_jobs_unless_forced(wing: Wing) -> None:
    job = wing.job("mass")
    check_problem(wing.client.delete("/studies/wing"), 409, "study-busy")
    assert (
        wing.client.delete("/studies/wing", params={"force": True}).status_code == 204
    )
    check_problem(wing.client.get("/studies/wing"), 404, "study-unknown")
    check_problem(wing.tell(job, value=1.0), 404, "lease-unknown")
    # The name is free again
    assert wing.client.post("/studies", json=SPEC | {"budget": 7}).status_code == 201
    wing.plan()
    assert wing.job("mass")["job"] > job["job"]


def test_a_misspelt_field_is_a_fault(wing: Wing) -> None:
    for verb, body, hint in (
        (
            "stop",
            {"cancel_runing": True},
            "did you mean 'cancel_running'? There is cancel_running",
        ),
        ("retry", {"objective": ["mass"]}, "did you mean 'objectives'?"),
        ("extend", {"bugdet": 9}, "did you mean 'budget'?"),
        ("extend", {"color": 9}, "there is no such field; there is budget"),
    ):
        (field,) = body
        response = wing.client.post(f"/studies/wing/{verb}", json=body)
        details = fault_details(check_problem(response, 422, "invalid-request"))
        assert hint in details[f"#/{field}"]
        # A missing budget is a fault, too
        assert details.keys() <= {
            f"#/{field}",
            "#/budget",
        }
    assert wing.get("")["phase"] == "initial"


def test_a_failed_step_is_reported_and_stops_no_other_study(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("the matrix is singular")

    wing = Wing(client, database)
    client.post("/studies", json=SPEC)
    with monkeypatch.context() as patch:
        patch.setattr("app.service.planning.compute_step.initial_design", fail)
        wing.plan()
    (item,) = wing.get("")["health"]
    assert (item["code"], item["step"]) == ("step_failed", "initial")
    assert "ValueError: the matrix is singular" in item["detail"]
    client.post("/studies", json=SPEC | {"name": "other"})
    wing.plan()
    assert client.get("/studies/other").json()["planned_full"] == 4


def test_health_reports_an_objective_without_workers(wing: Wing) -> None:
    wing.job("mass")
    assert wing.get("")["health"] == []
    three_minutes_ago = update(samples).values(created_at=samples.c.created_at - 180)
    wing.database.write(lambda connection: connection.execute(three_minutes_ago))
    (item,) = wing.get("")["health"]
    assert (item["code"], item["objective"]) == ("no_worker", "drag")
    assert "4 jobs" in item["detail"]
    assert "3 min" in item["detail"]


def test_values_are_in_the_users_directions(wing: Wing) -> None:
    job = wing.job("drag")
    wing.client.post("/tell", json=evaluate(job))
    all_samples = wing.get("/samples")["items"]
    sample = next(sample for sample in all_samples if sample["sample"] == job["sample"])
    assert sample["values"]["lift"] == job["x"]["span"] * job["x"]["ribs"] > 0
    assert sample["open"] == 1  # mass


def test_the_history_of_a_job(wing: Wing) -> None:
    job = wing.job("drag")
    story = wing.client.get(f"/jobs/{job['job']}").json()
    assert (story["study"], story["objective"], story["also"], story["state"]) == (
        "wing",
        "drag",
        ["lift"],
        "leased",
    )
    assert story["x"] == job["x"]
    assert "worker w" in story["why"][0]
    check_problem(wing.client.get("/jobs/4711"), 404, "job-unknown")
    check_problem(wing.client.get("/jobs/x"), 422, "invalid-request")
