"""What workers call: ask, tell, heartbeat, release."""

import itertools
import json
import threading
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.errors import DatabaseUnusable
from app.store.database import Database
from tests.api.wing import NEVER_ISSUED, Wing, check_problem, evaluate

ASK: dict[str, Any] = {"worker": "w", "studies": ["wing"], "objectives": ["mass"]}
TELL: dict[str, Any] = {"job": 1, "lease": NEVER_ISSUED, "value": 1.0}


def test_a_job_has_all_that_a_worker_needs(wing: Wing) -> None:
    job = wing.job("drag")
    identity = {"job", "lease", "study", "sample", "objective", "also", "x"}
    terms = {"attempt", "seed", "expires_at", "heartbeat_s", "timeout_s"}
    assert job.keys() == identity | terms
    assert (job["study"], job["objective"], job["also"], job["attempt"]) == (
        "wing",
        "drag",
        ["lift"],
        1,
    )
    assert 1.0 <= job["x"]["span"] <= 2.0
    assert isinstance(job["x"]["ribs"], int)
    assert 0 < job["heartbeat_s"] <= 20
    assert job["expires_at"].endswith("Z")


def test_no_job_is_leased_twice_and_the_oldest_come_first(wing: Wing) -> None:
    jobs = (
        wing.ask("mass", max_jobs=256)["jobs"] + wing.ask("mass", max_jobs=256)["jobs"]
    )
    numbers = [job["job"] for job in jobs]
    # The initial design; streams begin when half of it is settled
    assert len(set(numbers)) == len(numbers) == 4
    assert numbers == sorted(numbers)


def test_an_empty_ask_has_a_reason(wing: Wing) -> None:
    wing.ask("mass", max_jobs=256)
    for change, reason, hint in (
        ({"studies": ["wnig"]}, "no_such_study", "did you mean 'wing'"),
        ({"objectives": ["mas"]}, "no_such_objective", "did you mean 'mass'"),
        ({"objectives": ["lift"]}, "no_such_objective", "no jobs of its own"),
        ({"objectives": ["mass"]}, "all_leased", ""),
    ):
        empty = wing.client.post("/ask", json=ASK | change).json()
        assert (empty["jobs"], empty["reason"]) == ([], reason)
        assert hint in empty["detail"]
        assert empty["retry_after_s"] > 0


def test_asks_of_a_paused_or_finished_study_are_empty(wing: Wing) -> None:
    wing.post("/pause")
    assert wing.ask("mass")["reason"] == "paused"
    wing.post("/resume")
    assert wing.ask("mass")["jobs"]
    wing.post("/stop")
    assert wing.ask("drag")["reason"] == "finished"


def test_asks_without_studies_are_empty(client: TestClient) -> None:
    assert (
        client.post("/ask", json=ASK | {"studies": ["*"]}).json()["reason"]
        == "no_studies"
    )


def test_asks_before_the_first_step_are_empty(
    client: TestClient, database: Database
) -> None:
    wing = Wing(client, database)
    client.post("/studies", json=wing.spec)
    assert wing.ask()["reason"] == "planning"


def test_a_waiting_ask_gets_the_job_that_becomes_ready(wing: Wing) -> None:
    held = wing.ask("mass", max_jobs=256)["jobs"]
    results: list[Any] = []

    def wait() -> None:
        results.append(wing.client.post("/ask", json=ASK | {"wait_s": 30}).json())

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.3)
    assert results == []
    wing.client.post("/release", json={"leases": [held[0]["lease"]]})
    thread.join(20)
    assert [job["job"] for job in results[0]["jobs"]] == [held[0]["job"]]


def test_a_wait_ends_with_the_reason(wing: Wing) -> None:
    wing.ask("mass", max_jobs=256)
    assert (
        wing.client.post("/ask", json=ASK | {"wait_s": 0.2}).json()["reason"]
        == "all_leased"
    )


def test_even_the_shortest_wait_gets_ready_jobs(wing: Wing) -> None:
    assert wing.client.post("/ask", json=ASK | {"wait_s": 1e-9}).json()["jobs"]


def test_a_tell_is_recorded_and_may_be_repeated(wing: Wing) -> None:
    job = wing.job("drag")
    for _ in range(2):
        response = wing.tell(
            job, value=0.5, also={"lift": 3}, duration_s=0.2, metadata={"cells": 10}
        )
        assert response.status_code == 200
        assert response.json() == {
            "job": job["job"],
            "status": 200,
            "state": "done",
            "detail": "recorded",
        }
    samples = wing.get("/samples")["items"]
    sample = next(sample for sample in samples if sample["sample"] == job["sample"])
    assert sample["values"] == {"drag": 0.5, "lift": 3.0}


def test_another_value_on_the_same_lease_is_a_conflict_and_changes_nothing(
    wing: Wing,
) -> None:
    told = wing.job("mass")
    wing.tell(told, value=0.5)
    problem = check_problem(wing.tell(told, value=0.6), 409, "result-conflict")
    assert "0.5" in problem["detail"]
    values = {job["job"]: job["value"] for job in wing.get("/jobs")["items"]}
    assert values[told["job"]] == 0.5


def test_a_lease_that_was_never_issued_for_the_job_is_unknown(wing: Wing) -> None:
    job, other = wing.job("mass"), wing.job("mass")
    check_problem(
        wing.tell(job | {"lease": NEVER_ISSUED}, value=1), 404, "lease-unknown"
    )
    check_problem(
        wing.tell(job | {"lease": other["lease"]}, value=1), 404, "lease-unknown"
    )
    check_problem(wing.tell(job | {"job": 10**9}, value=1), 404, "lease-unknown")


def test_a_tell_that_does_not_fit_its_job_is_invalid(wing: Wing) -> None:
    problem = check_problem(
        wing.tell(wing.job("drag"), value=1, also={"lfit": 1.0}), 422, "tell-invalid"
    )
    assert "did you mean 'lift'" in problem["detail"]
    check_problem(
        wing.tell(wing.job("mass"), value=1, metadata={"log": "x" * 20_000}),
        422,
        "tell-invalid",
    )


# Messages are tested on purpose here: what, where, and what is possible instead.
INVALID_TELLS: list[tuple[dict[str, Any], str, str]] = [
    ({}, "#", "either `value` or `failure`"),
    ({"value": 1, "failure": {"kind": "error"}}, "#", "either `value` or `failure`"),
    (
        {"failure": {"kind": "error"}, "also": {"lift": 1}},
        "#",
        "`also` goes with a `value`",
    ),
    (
        {"failure": {"kind": "eror"}},
        "#/failure/kind",
        "must be one of infeasible, error, infrastructure; did you mean 'error'?",
    ),
    ({"failure": {"message": "x"}}, "#/failure/kind", "`kind` is required"),
    (
        {"failure": {"kind": "error", "mesage": "x"}},
        "#/failure/mesage",
        "'message'? There are kind, message",
    ),
    ({"failure": 3}, "#/failure", "must be an object"),
    ({"value": "1"}, "#/value", "valid number"),
    ({"value": True}, "#/value", "valid number"),
    (
        {"value": 1, "valeu": 2},
        "#/valeu",
        "no such field; did you mean 'value'? There are job, lease, value, failure, also, duration_s, metadata",
    ),
    (
        {"value": 1, "color": 2},
        "#/color",
        "there is no such field; there are job, lease, value",
    ),
    ({"value": 1, "also": {"a/b~c": "x"}}, "#/also/a~1b~0c", "valid number"),
    ({"value": 1, "duration_s": -1}, "#/duration_s", "greater than or equal to 0"),
    ({"value": 1, "duration_s": 1e300}, "#/duration_s", "less than or equal to"),
]


def test_an_invalid_tell_is_refused_with_its_fault(wing: Wing) -> None:
    job = wing.job("mass")
    for tell, pointer, message in INVALID_TELLS:
        (fault,) = check_problem(wing.tell(job, **tell), 422, "invalid-request")[
            "errors"
        ]
        assert fault["pointer"] == pointer
        assert message in fault["detail"]
    assert wing.tell(job, value=1).status_code == 200


def test_missing_and_misspelt_fields_are_named(wing: Wing) -> None:
    ask = {"worker": "w", "study": ["wing"], "objectives": ["mass"]}
    faults = check_problem(wing.client.post("/ask", json=ask), 422, "invalid-request")[
        "errors"
    ]
    assert {fault["pointer"]: fault["detail"] for fault in faults} == {
        "#/studies": "`studies` is required",
        "#/study": "there is no such field; did you mean 'studies'?"
        " There are worker, studies, objectives, instance, max_jobs, wait_s",
    }
    empty = wing.client.post("/ask", headers={"content-type": "application/json"})
    assert check_problem(empty, 422, "invalid-request")["errors"] == [
        {"pointer": "#", "detail": "a body is required"}
    ]
    (result,) = wing.client.post(
        "/tell", json=[{"job": 1, "lease": NEVER_ISSUED, "valeu": 1}]
    ).json()
    assert result["detail"].startswith(
        "#/0/valeu: there is no such field; did you mean 'value'?"
    )


def test_the_number_of_listed_faults_is_limited(wing: Wing) -> None:
    body = {f"f{number}": 1 for number in range(5000)}
    problem = check_problem(wing.client.post("/ask", json=body), 422, "invalid-request")
    assert len(problem["errors"]) == 1000
    assert problem["detail"].startswith("5003 faults")


def test_a_list_of_tells_is_processed_item_by_item(wing: Wing) -> None:
    first, second, third = wing.ask("mass", max_jobs=3)["jobs"]
    items: list[tuple[Any, int]] = [
        (evaluate(first), 200),
        ({**evaluate(second), "value": "x"}, 422),
        ({**evaluate(second), "lease": NEVER_ISSUED}, 404),
        (None, 422),
        ({"job": 10**400, "lease": 7}, 422),
        ({**evaluate(third), "also": {"lift": 1}}, 422),
        ({**evaluate(first), "value": -1.0}, 409),
        (evaluate(first), 200),
        ({"job": second["job"], "lease": second["lease"]}, 422),
        (evaluate(third), 200),
    ]
    response = wing.client.post("/tell", json=[item for item, _ in items])
    assert response.status_code == 200
    results = response.json()
    assert [result["status"] for result in results] == [status for _, status in items]
    assert [result["job"] for result in results[:2]] == [first["job"], second["job"]]
    assert results[1]["detail"].startswith("#/1/value: ")
    assert results[8]["detail"].startswith("#/8: ")
    states = {
        job["job"]: job["state"] for job in wing.get("/jobs", objective="mass")["items"]
    }
    assert [states[job["job"]] for job in (first, second, third)] == [
        "done",
        "leased",
        "done",
    ]


def test_a_list_of_tells_has_1_to_256_items(client: TestClient) -> None:
    for count in (0, 257):
        problem = check_problem(
            client.post("/tell", json=[TELL] * count), 422, "tell-invalid"
        )
        assert "1 to 256" in problem["detail"]


def test_failures_are_retried_or_final(wing: Wing) -> None:
    job = wing.job("mass")
    first = wing.tell(
        job, failure={"kind": "error", "message": "licence\x00 😀"}
    ).json()
    assert (first["status"], first["state"]) == (200, "ready")
    again = wing.job("mass")
    assert (again["job"], again["attempt"], again["seed"]) == (
        job["job"],
        2,
        job["seed"],
    )
    # Max_attempts is 2
    assert wing.tell(again, failure={"kind": "error"}).json()["state"] == "failed"
    assert (
        wing.tell(wing.job("drag"), failure={"kind": "infeasible"}).json()["state"]
        == "infeasible"
    )
    assert (
        wing.tell(wing.job("drag"), failure={"kind": "infrastructure"}).json()["state"]
        == "ready"
    )
    failed = [item for item in wing.get("")["health"] if item["code"] == "jobs_failed"]
    assert [item["objective"] for item in failed] == ["mass"]


def test_a_heartbeat_returns_deadlines_and_lost_leases(wing: Wing) -> None:
    job = wing.job("mass")
    leases = [job["lease"], NEVER_ISSUED, job["lease"]]
    current, unknown = wing.client.post("/heartbeat", json={"leases": leases}).json()[
        "leases"
    ]
    assert (current["lease"], current["cancel"], current["reason"]) == (
        job["lease"],
        False,
        None,
    )
    assert current["expires_at"] >= job["expires_at"]
    assert (unknown["expires_at"], unknown["cancel"], unknown["reason"]) == (
        None,
        True,
        "lease_unknown",
    )
    wing.tell(job, value=1)
    (ended,) = wing.client.post("/heartbeat", json={"leases": [job["lease"]]}).json()[
        "leases"
    ]
    assert (ended["cancel"], ended["reason"]) == (True, "lease_ended")


def test_a_stopped_study_advises_workers_to_cancel(wing: Wing) -> None:
    job = wing.job("mass")
    wing.post("/stop", cancel_running=True)
    (lease,) = wing.client.post("/heartbeat", json={"leases": [job["lease"]]}).json()[
        "leases"
    ]
    assert (lease["cancel"], lease["reason"]) == (True, "study_stopped")
    assert wing.tell(job, value=1).status_code == 200


def test_a_released_job_is_ready_again(wing: Wing) -> None:
    job = wing.job("mass")
    body = {"leases": [job["lease"], NEVER_ISSUED]}
    assert wing.client.post("/release", json=body).json() == {
        "released": [job["lease"]]
    }
    assert wing.client.post("/release", json=body).json() == {"released": []}
    assert wing.job("mass")["job"] == job["job"]


NUL, HALF, DEEP = "a\x00b", "\ud800", "[" * 5000 + "]" * 5000
BODIES: list[Any] = [
    [None],
    [[]],
    [HALF],
    [{HALF: 1}],
    {HALF: 1},
    {NUL: 1},
    ASK | {"worker": NUL},
    ASK | {"worker": HALF},
    ASK | {"worker": "a\x1b[2J"},
    ASK | {"worker": "a\x9b2J"},
    ASK | {"worker": "a\u202eb"},
    ASK | {"worker": "a\nb"},
    ASK | {"studies": ["a\x1b[2J"]},
    ASK | {"worker": 10**30},
    ASK | {"studies": [NUL]},
    ASK | {"studies": [HALF]},
    ASK | {"studies": ["*"], "objectives": [NUL]},
    ASK | {"studies": "wing"},
    ASK | {"max_jobs": 10**30},
    ASK | {"max_jobs": float("nan")},
    ASK | {"wait_s": float("inf")},
    ASK | {"wait_s": float("nan")},
    TELL | {"job": 10**30},
    TELL | {"job": -1},
    TELL | {"job": 1.5},
    TELL | {"lease": NUL},
    TELL | {"value": float("nan")},
    TELL | {"value": float("-inf")},
    TELL | {"value": 10**400},
    TELL | {"also": {NUL: 1}},
    TELL | {"also": {HALF: "x"}},
    TELL | {"metadata": {HALF: 1}},
    TELL | {"metadata": {"a": [float("nan")]}},
    [TELL | {HALF: 1}, TELL | {"also": {HALF: "x"}}],
    {"leases": [NUL]},
    {"leases": [HALF]},
    {"leases": [1]},
    {"leases": [NEVER_ISSUED] * 1001},
    ASK | {"studies": ["*"], "objectives": ["o"] * 101},
    {"budget": 10**30},
    {"budget": True},
    {"budget": "7"},
    {"objectives": [NUL]},
    {"objectives": [HALF]},
    {"cancel_runing": True},
    {"name": NUL, "variables": [HALF], "objectives": {}, "budget": float("nan")},
]
HOSTILE = [
    b"",
    b"null",
    b"3",
    b'"x"',
    b"[]",
    b"{",
    b"\xff\xfe",
    b"NaN",
    DEEP.encode(),
    b'{"job": 1' + b"0" * 5000 + b"}",
    *[json.dumps(body).encode() for body in BODIES],
]
PATHS = ["/ask", "/tell", "/heartbeat", "/release", "/studies"]
PATHS += [f"/studies/wing/{verb}" for verb in ("extend", "retry", "stop")]


def test_no_body_breaks_the_server(wing: Wing) -> None:
    for path, content_type, body in itertools.product(
        PATHS, ("application/json", "text/plain"), HOSTILE
    ):
        response = wing.client.post(
            path, content=body, headers={"content-type": content_type}
        )
        assert response.status_code < 500, (body[:100], response.text)
        if response.status_code >= 400:
            assert response.headers["content-type"] == "application/problem+json", (
                body[:100],
                response.text,
            )
        assert "Traceback" not in response.text
    assert wing.client.post("/ask", json=ASK).status_code == 200
    assert (
        wing.client.get("/studies").json()["items"][0]["budget"] == wing.spec["budget"]
    )


def test_metadata_that_cannot_be_stored_are_refused(wing: Wing) -> None:
    job = wing.job("mass")
    deep = json.loads("[" * 900 + "]" * 900)
    for metadata in (
        {"a": NUL},
        {NUL: 1},
        {"a": HALF},
        {"a": float("nan")},
        {"a": deep},
    ):
        content = json.dumps(
            {
                "job": job["job"],
                "lease": job["lease"],
                "value": 1.0,
                "metadata": metadata,
            }
        )
        response = wing.client.post(
            "/tell", content=content, headers={"content-type": "application/json"}
        )
        faults = check_problem(response, 422, "invalid-request")["errors"]
        assert faults[0]["pointer"].startswith("#/metadata")
    assert (
        wing.tell(
            job, value=2.0, metadata={"a": "ä 😀", "deep": [[{"b": None}]]}
        ).status_code
        == 200
    )


@pytest.mark.parametrize(
    ("error", "status", "slug"),
    [
        (RuntimeError("a confidential detail"), 500, "internal"),
        (DatabaseUnusable("the database was unplugged"), 503, "database-unusable"),
    ],
)
def test_an_error_fails_new_asks_and_later_ones_are_served(
    wing: Wing,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    status: int,
    slug: str,
) -> None:
    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("app.api.batching.ask_batcher.serve_asks", fail)
        response = wing.client.post("/ask", json=ASK | {"wait_s": 10})
    check_problem(response, status, slug)
    assert "confidential" not in response.text
    assert wing.client.post("/ask", json=ASK).json()["jobs"]
