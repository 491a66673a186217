"""What engineers call: studies, and what is in them."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from app.store.database import Database
from app.store.tables import samples
from counterpoise.wire.specification import parse_specification
from tests.api.wing import SPEC, Wing, check_problem, evaluate


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
    again = client.post("/studies", json=SPEC | {"notes": ""})  # the default, said
    assert (again.status_code, again.json()["created_at"]) == (200, view["created_at"])
    other = check_problem(
        client.post("/studies", json=SPEC | {"budget": 7, "seed": 2}),
        409,
        "study-exists",
    )
    assert "it differs in budget, seed" in other["detail"]
    assert client.get("/studies/wing").json()["budget"] == 6


def test_all_faults_of_a_specification_are_listed(client: TestClient) -> None:
    spec = SPEC | {
        "budget": 2,
        "strategy": "best",
        "variables": [{"name": "a b", "low": 2, "high": 1}],
        "color": 1,
    }
    body = check_problem(
        client.post("/studies", json=spec), 422, "invalid-specification"
    )
    pointers = {fault["pointer"] for fault in body["errors"]}
    assert {
        "#/budget",
        "#/strategy",
        "#/variables/0/name",
        "#/variables/0/low",
        "#/color",
    } <= pointers
    assert client.get("/studies").json() == {"items": [], "next": None}


@pytest.mark.parametrize("verb", ["pause", "resume", "stop", "extend", "retry"])
def test_a_study_that_is_not_there_is_unknown_to_every_verb(
    client: TestClient, verb: str
) -> None:
    client.post("/studies", json=SPEC)
    body = {"budget": 9} if verb == "extend" else None
    answer = client.post(f"/studies/wnig/{verb}", json=body)
    assert (
        "did you mean 'wing'" in check_problem(answer, 404, "study-unknown")["detail"]
    )


def test_a_study_that_is_not_there_is_unknown_to_every_page(client: TestClient) -> None:
    for page in ("", "/samples", "/jobs", "/steps", "/front"):
        check_problem(client.get(f"/studies/nothing{page}"), 404, "study-unknown")
    check_problem(client.delete("/studies/nothing"), 404, "study-unknown")
    for name in ("%00", "a%00b", "x" * 101):
        assert check_problem(client.get(f"/studies/{name}"), 422, "invalid-request")[
            "errors"
        ]
    for name in ("%ff", "a b", "ä", "'; DROP TABLE studies"):
        check_problem(client.get(f"/studies/{name}"), 404, "study-unknown")


def test_a_study_from_beginning_to_end(wing: Wing) -> None:
    wing.finish()
    view = wing.get("")
    assert (view["phase"], view["evaluated_full"], view["step"]) == ("finished", 6, 1)
    assert view["finished_at"] is not None
    assert view["health"] == []
    mass, drag, lift = view["objectives"]
    assert (mass["ratio"], mass["cheap"], drag["ratio"], drag["cheap"]) == (
        2.0,
        True,
        1.0,
        False,
    )
    assert (lift["same_run_as"], lift["direction"], lift["done"]) == (
        "drag",
        "maximize",
        drag["done"],
    )
    assert drag["done"] == 6
    assert mass["done"] + mass["superseded"] > 6
    assert mass["median_duration_s"] == pytest.approx(0.1)
    assert {
        objective["ready"] + objective["leased"] for objective in view["objectives"]
    } == {0}
    assert view["hypervolume"]["exact"] is True
    assert set(view["hypervolume"]["reference_point"]) == {"mass", "drag", "lift"}
    assert wing.get("/front")["next"] is None
    best = wing.get("/front")["items"]
    assert {frozenset(item) for item in best} == {
        frozenset({"sample", "step", "x", "values"})
    }
    assert any(
        item["values"]["lift"] == max(one["values"]["lift"] for one in best)
        for item in best
    )


def test_pages_hold_everything_once(wing: Wing) -> None:
    wing.finish()
    for what, key in (("samples", "sample"), ("jobs", "job"), ("steps", "step")):
        whole = wing.get(f"/{what}", limit=1000)
        assert whole["next"] is None
        items: list[Any] = []
        cursor: dict[str, str] = {}
        while True:
            page = wing.get(f"/{what}", limit=2, **cursor)
            items += page["items"]
            assert len(page["items"]) <= 2
            if page["next"] is None:
                break
            cursor = {"cursor": page["next"]}
        assert items == whole["items"]
        assert len({item[key] for item in items}) == len(items) > 2


def test_lists_can_be_narrowed(wing: Wing) -> None:
    wing.finish()
    everything = wing.get("/samples", limit=1000)["items"]
    assert wing.get("/samples", limit=1000, full=True)["items"] == [
        one for one in everything if one["full"]
    ]
    assert wing.get("/samples", limit=1000, full=False)["items"] == [
        one for one in everything if not one["full"]
    ]
    jobs = wing.get("/jobs", limit=1000)["items"]
    narrow = wing.get("/jobs", limit=1000, objective="drag", state="done")["items"]
    assert narrow == [
        job for job in jobs if job["objective"] == "drag" and job["state"] == "done"
    ]
    assert len(narrow) == 6
    assert all(job["value"] is not None and job["worker"] == "w" for job in narrow)
    unknown = wing.client.get("/studies/wing/jobs", params={"objective": "drga"})
    assert (
        "did you mean 'drag'"
        in check_problem(unknown, 404, "objective-unknown")["detail"]
    )


def test_wrong_pages_are_refused(wing: Wing) -> None:
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
    body = check_problem(
        wing.client.get("/studies/wing/jobs", params={"state": "dnoe"}),
        422,
        "invalid-request",
    )
    assert body["errors"] == [
        {
            "pointer": "query parameter state",
            "detail": "must be one of ready, leased, done, failed, superseded; did you mean 'done'?",
        }
    ]
    assert wing.get("/jobs", cursor=str(2**62 - 1)) == {"items": [], "next": None}


def test_studies_are_listed_in_pages(client: TestClient) -> None:
    for name in ("a", "b", "c"):
        client.post("/studies", json=SPEC | {"name": name})
    page = client.get("/studies", params={"limit": 2}).json()
    assert [item["name"] for item in page["items"]] == ["a", "b"]
    rest = client.get("/studies", params={"limit": 2, "cursor": page["next"]}).json()
    assert ([item["name"] for item in rest["items"]], rest["next"]) == (["c"], None)


def test_steps_say_what_they_read(wing: Wing) -> None:
    wing.work("mass")  # alone, so that its stream begins
    wing.finish()
    steps = {step["step"]: step for step in wing.get("/steps")["items"]}
    assert {"initial", "stream:mass:1", "search:1", "closing:6"} == set(steps)
    assert steps["stream:mass:1"]["objective"] == "mass"
    search = steps["search:1"]
    assert (search["state"], search["faults"], search["fault"]) == ("done", 0, None)
    assert search["record"]["read_until"] == search["due_seq"]
    assert search["record"]["ratios"] == [2.0, 1.0, 1.0]
    assert {"fit", "search", "select", "read"} == set(search["record"]["timings_s"])


def test_pause_and_resume(wing: Wing) -> None:
    job = wing.job("mass")
    for _ in range(2):
        assert wing.post("/pause").json()["state"] == "paused"
    assert wing.get("")["health"][0]["code"] == "paused"
    assert wing.tell(job, value=1.0).status_code == 200  # what runs goes on
    assert wing.ask("mass")["jobs"] == []
    for _ in range(2):
        assert wing.post("/resume").json()["state"] == "active"
    assert wing.ask("mass")["jobs"]


def test_stop_ends_the_study_and_late_values_are_still_recorded(wing: Wing) -> None:
    job = wing.job("mass")
    for _ in range(2):
        view = wing.post("/stop").json()
        assert (view["phase"], view["ending"]) == ("finished", "stopped")
        assert [item["code"] for item in view["health"]] == ["finished_early"]
    assert view["objectives"][0]["superseded"] == 3
    assert view["objectives"][0]["leased"] == 1
    assert wing.tell(job, value=1.0).status_code == 200
    assert wing.get("")["objectives"][0]["done"] == 1


def test_extend_reopens_a_finished_study(wing: Wing) -> None:
    wing.finish()
    for budget in (5, 6):
        body = check_problem(
            wing.post("/extend", budget=budget), 409, "request-refused"
        )
        assert "has a budget of 6 already" in body["detail"]
    view = wing.post("/extend", budget=8).json()
    assert (view["phase"], view["budget"], view["finished_at"]) == ("search", 8, None)
    wing.finish()
    assert wing.get("")["evaluated_full"] == 8


def test_a_budget_has_the_same_limit_everywhere(wing: Wing) -> None:
    assert parse_specification(SPEC | {"budget": 10**6}).budget == 10**6
    body = check_problem(wing.post("/extend", budget=10**6 + 1), 422, "invalid-request")
    assert body["errors"][0]["pointer"] == "#/budget"
    check_problem(
        wing.client.post("/studies", json=SPEC | {"budget": 10**6 + 1}),
        422,
        "invalid-specification",
    )
    assert wing.post("/extend", budget=10**6).json()["budget"] == 10**6


def test_retry_returns_failed_jobs_to_ready(wing: Wing) -> None:
    for objective in ("mass", "drag"):
        wing.tell(wing.job(objective), failure={"kind": "infeasible"})
    for wrong in ("lift", "mss"):
        check_problem(wing.post("/retry", objectives=[wrong]), 404, "objective-unknown")
    assert wing.post("/retry", objectives=["mass"]).json() == {"jobs": 1}
    assert wing.post("/retry").json() == {"jobs": 1}
    assert wing.post("/retry").json() == {"jobs": 0}
    assert [objective["failed"] for objective in wing.get("")["objectives"]] == [
        0,
        0,
        0,
    ]
    wing.finish()


def test_delete_refuses_while_workers_hold_jobs(wing: Wing) -> None:
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


def test_a_misspelt_field_is_a_fault_not_silence(wing: Wing) -> None:
    for verb, body, meant in (
        (
            "stop",
            {"cancel_runing": True},
            "did you mean 'cancel_running'? There is cancel_running",
        ),
        ("retry", {"objective": ["mass"]}, "did you mean 'objectives'?"),
        ("extend", {"bugdet": 9}, "did you mean 'budget'?"),
        ("extend", {"color": 9}, "there is no such field; there is budget"),
    ):
        answer = wing.client.post(f"/studies/wing/{verb}", json=body)
        faults = {
            one["pointer"]: one["detail"]
            for one in check_problem(answer, 422, "invalid-request")["errors"]
        }
        assert meant in faults[f"#/{next(iter(body))}"]
        assert set(faults.values()) <= {
            faults[f"#/{next(iter(body))}"],
            "`budget` is required",
        }
    assert wing.get("")["phase"] == "initial"


def test_a_step_that_fails_is_visible_and_stops_no_other_study(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("the matrix is sad")

    wing = Wing(client, database)
    client.post("/studies", json=SPEC)
    with monkeypatch.context() as patched:
        patched.setattr("app.service.planning.compute_step.initial_design", broken)
        wing.plan()
    (item,) = wing.get("")["health"]
    assert (item["code"], item["step"]) == ("step_failed", "initial")
    assert (
        item["detail"]
        == "step initial 0 failed once and will be tried again: ValueError: the matrix is sad"
    )
    client.post("/studies", json=SPEC | {"name": "other"})
    wing.plan()
    assert client.get("/studies/other").json()["planned_full"] == 4


def test_health_says_that_nobody_can_evaluate(wing: Wing) -> None:
    wing.job("mass")
    assert wing.get("")["health"] == []
    ago = update(samples).values(created_at=samples.c.created_at - 180)
    wing.database.write(lambda connection: connection.execute(ago))
    (item,) = wing.get("")["health"]
    assert (item["code"], item["objective"]) == ("no_worker", "drag")
    assert (
        item["detail"]
        == "objective drag: 4 jobs have waited 3 min and no live worker can evaluate it"
    )


def test_every_example_of_the_openapi_document_works_when_pasted(
    client: TestClient, database: Database
) -> None:
    document = client.get("/openapi.json").json()
    example = body_example(document, "/studies")
    assert client.post("/studies", json=example).status_code == 201
    assert client.post("/studies", json=example).status_code == 200
    Wing(client, database).plan()
    (job,) = client.post("/ask", json=body_example(document, "/ask")).json()["jobs"]
    for path in ("/heartbeat", "/release"):
        assert client.post(path, json=body_example(document, path)).status_code == 200
    said = body_example(document, "/tell")
    # Nobody knows a lease beforehand
    check_problem(client.post("/tell", json=said), 404, "lease-unknown")
    assert (
        client.post(
            "/tell", json=said | {"job": job["job"], "lease": job["lease"]}
        ).status_code
        == 200
    )
    for path in (
        "/studies/{name}/stop",
        "/studies/{name}/extend",
        "/studies/{name}/retry",
    ):
        answer = client.post(
            path.format(name=example["name"]), json=body_example(document, path)
        )
        assert answer.status_code == 200, (path, answer.text)


def body_example(document: dict[str, Any], path: str) -> Any:
    """What a reader of the page would paste: the example of the body, or of its parts."""
    content = document["paths"][path]["post"]["requestBody"]["content"][
        "application/json"
    ]
    return (
        content["example"]
        if "example" in content
        else example_of(content["schema"], document)
    )


def example_of(schema: dict[str, Any], document: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return example_of(
            document["components"]["schemas"][schema["$ref"].rpartition("/")[2]],
            document,
        )
    if "examples" in schema:
        return schema["examples"][0]
    if "default" in schema:
        return schema["default"]
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0], document)
    return {
        name: example_of(part, document) for name, part in schema["properties"].items()
    }


def test_every_answer_is_documented(client: TestClient) -> None:
    """Every route says what it is for, what it answers, and that errors are problems."""
    document = client.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            assert route["summary"], (method, path)
            assert route["description"], (method, path)
            assert [
                one["name"]
                for one in route.get("parameters", ())
                if not one.get("description")
            ] == [], path
            assert "4XX" in route["responses"], (method, path)
            good = [
                answer
                for status, answer in route["responses"].items()
                if status.startswith("2")
            ]
            assert good, (method, path)


def test_an_example_that_cannot_work_as_it_is_says_what_to_put_into_it(
    client: TestClient,
) -> None:
    document = client.get("/openapi.json").json()
    for path in ("/tell", "/heartbeat", "/release"):
        assert "/ask" in document["paths"][path]["post"]["description"], path
    (job,) = document["paths"]["/jobs/{job}"]["get"]["parameters"]
    assert "/ask" in job["description"]
    shapes = document["components"]["schemas"]
    for field in (
        shapes["Tell"]["properties"]["job"],
        shapes["Tell"]["properties"]["lease"],
    ):
        assert "/ask" in field["description"]
    assert "/ask" in shapes["Leases"]["properties"]["leases"]["description"]


def test_the_document_shows_that_a_list_of_tells_holds_tells_and_refuses_nothing(
    client: TestClient,
) -> None:
    content = client.get("/openapi.json").json()["paths"]["/tell"]["post"][
        "requestBody"
    ]["content"]
    one, many = content["application/json"]["schema"]["anyOf"]
    tell, anything = many["items"]["anyOf"]
    assert tell == one == {"$ref": "#/components/schemas/Tell"}
    assert anything.keys() == {"description"}  # a bad item is answered, not refused
    assert client.post("/tell", json=[3]).json()[0]["status"] == 422


def test_values_are_in_the_users_directions(wing: Wing) -> None:
    job = wing.job("drag")
    wing.client.post("/tell", json=evaluate(job))
    (sample,) = [
        one for one in wing.get("/samples")["items"] if one["sample"] == job["sample"]
    ]
    assert sample["values"]["lift"] == job["x"]["span"] * job["x"]["ribs"] > 0
    assert sample["open"] == 1  # mass


def test_a_job_explains_itself(wing: Wing) -> None:
    job = wing.job("drag")
    found = wing.client.get(f"/jobs/{job['job']}").json()
    assert (found["study"], found["objective"], found["also"], found["state"]) == (
        "wing",
        "drag",
        ["lift"],
        "leased",
    )
    assert found["x"] == job["x"]
    assert found["why"][0].startswith("worker w has had it since")
    check_problem(wing.client.get("/jobs/4711"), 404, "job-unknown")
    check_problem(wing.client.get("/jobs/x"), 422, "invalid-request")
