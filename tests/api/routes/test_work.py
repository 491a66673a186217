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


def test_a_job_says_all_that_a_worker_needs(wing: Wing) -> None:
    job = wing.job("drag")
    assert set(job) == {
        *("job", "lease", "study", "sample", "objective", "also", "x"),
        *("attempt", "seed", "expires_at", "heartbeat_s", "timeout_s"),
    }
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


def test_no_job_is_given_twice_and_full_ones_come_first(wing: Wing) -> None:
    jobs = (
        wing.ask("mass", max_jobs=256)["jobs"] + wing.ask("mass", max_jobs=256)["jobs"]
    )
    # The design; streams follow when half of it is settled
    assert len({job["job"] for job in jobs}) == len(jobs) == 4
    assert [job["job"] for job in jobs] == sorted(job["job"] for job in jobs)


def test_an_empty_answer_says_why(wing: Wing) -> None:
    wing.ask("mass", max_jobs=256)
    for change, reason, words in (
        ({"studies": ["wnig"]}, "no_such_study", "did you mean 'wing'"),
        ({"objectives": ["mas"]}, "no_such_objective", "did you mean 'mass'"),
        ({"objectives": ["lift"]}, "no_such_objective", "no jobs of its own"),
        ({"objectives": ["mass"]}, "all_leased", "with workers"),
    ):
        answer = wing.client.post("/ask", json=ASK | change).json()
        assert (answer["jobs"], answer["reason"]) == ([], reason)
        assert words in answer["detail"]
        assert answer["retry_after_s"] > 0


def test_an_empty_answer_says_that_the_study_rests(wing: Wing) -> None:
    wing.post("/pause")
    assert wing.ask("mass")["reason"] == "paused"
    wing.post("/resume")
    assert wing.ask("mass")["jobs"]
    wing.post("/stop")
    assert wing.ask("drag")["reason"] == "finished"


def test_without_studies_the_answer_says_so(client: TestClient) -> None:
    assert (
        client.post("/ask", json=ASK | {"studies": ["*"]}).json()["reason"]
        == "no_studies"
    )


def test_before_the_first_step_the_answer_is_planning(
    client: TestClient, database: Database
) -> None:
    wing = Wing(client, database)
    client.post("/studies", json=wing.spec)
    assert wing.ask()["reason"] == "planning"


def test_a_waiting_ask_gets_the_job_that_appears(wing: Wing) -> None:
    first = wing.ask("mass", max_jobs=256)["jobs"]
    answers: list[Any] = []

    def wait() -> None:
        answers.append(wing.client.post("/ask", json=ASK | {"wait_s": 30}).json())

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.3)
    assert answers == []
    wing.client.post("/release", json={"leases": [first[0]["lease"]]})
    thread.join(20)
    assert [job["job"] for job in answers[0]["jobs"]] == [first[0]["job"]]


def test_a_wait_ends_with_the_reason(wing: Wing) -> None:
    wing.ask("mass", max_jobs=256)
    assert (
        wing.client.post("/ask", json=ASK | {"wait_s": 0.2}).json()["reason"]
        == "all_leased"
    )


def test_even_the_shortest_wait_gets_a_look(wing: Wing) -> None:
    assert wing.client.post("/ask", json=ASK | {"wait_s": 1e-9}).json()["jobs"]


def test_a_tell_is_recorded_and_may_be_repeated(wing: Wing) -> None:
    job = wing.job("drag")
    for _ in range(2):
        answer = wing.tell(
            job, value=0.5, also={"lift": 3}, duration_s=0.2, metadata={"cells": 10}
        )
        assert answer.status_code == 200
        assert answer.json() == {
            "job": job["job"],
            "status": 200,
            "state": "done",
            "detail": "recorded",
        }
    values = [
        sample["values"]
        for sample in wing.get("/samples")["items"]
        if sample["sample"] == job["sample"]
    ]
    assert values == [{"drag": 0.5, "lift": 3.0}]


def test_another_value_on_the_same_lease_is_a_conflict_and_changes_nothing(
    wing: Wing,
) -> None:
    job = wing.job("mass")
    wing.tell(job, value=0.5)
    body = check_problem(wing.tell(job, value=0.6), 409, "result-conflict")
    assert "0.5" in body["detail"]
    assert (
        next(j["value"] for j in wing.get("/jobs")["items"] if j["job"] == job["job"])
        == 0.5
    )


def test_a_lease_that_was_never_issued_is_unknown(wing: Wing) -> None:
    job, other = wing.job("mass"), wing.job("mass")
    check_problem(
        wing.tell(job | {"lease": NEVER_ISSUED}, value=1), 404, "lease-unknown"
    )
    check_problem(
        wing.tell(job | {"lease": other["lease"]}, value=1), 404, "lease-unknown"
    )
    check_problem(wing.tell(job | {"job": 10**9}, value=1), 404, "lease-unknown")


def test_a_value_that_the_job_does_not_take_is_invalid(wing: Wing) -> None:
    body = check_problem(
        wing.tell(wing.job("drag"), value=1, also={"lfit": 1.0}), 422, "tell-invalid"
    )
    assert "did you mean 'lift'" in body["detail"]
    check_problem(
        wing.tell(wing.job("mass"), value=1, metadata={"log": "x" * 20_000}),
        422,
        "tell-invalid",
    )


UNREADABLE: list[tuple[dict[str, Any], str, str]] = [
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


def test_a_tell_that_cannot_be_read_says_where(wing: Wing) -> None:
    job = wing.job("mass")
    for said, pointer, words in UNREADABLE:
        body = check_problem(wing.tell(job, **said), 422, "invalid-request")
        assert [fault["pointer"] for fault in body["errors"]] == [pointer]
        assert words in body["errors"][0]["detail"]
    assert wing.tell(job, value=1).status_code == 200


def test_what_is_missing_or_misspelt_in_a_request_is_named(wing: Wing) -> None:
    ask = {"worker": "w", "study": ["wing"], "objectives": ["mass"]}
    faults = check_problem(wing.client.post("/ask", json=ask), 422, "invalid-request")[
        "errors"
    ]
    assert {fault["pointer"]: fault["detail"] for fault in faults} == {
        "#/studies": "`studies` is required",
        "#/study": "there is no such field; did you mean 'studies'?"
        " There are worker, studies, objectives, max_jobs, wait_s",
    }
    empty = wing.client.post("/ask", headers={"content-type": "application/json"})
    assert check_problem(empty, 422, "invalid-request")["errors"] == [
        {"pointer": "#", "detail": "a body is required"}
    ]
    (told,) = wing.client.post(
        "/tell", json=[{"job": 1, "lease": NEVER_ISSUED, "valeu": 1}]
    ).json()
    assert told["detail"].startswith(
        "#/0/valeu: there is no such field; did you mean 'value'?"
    )


def test_a_body_of_nothing_but_faults_gets_an_answer_of_sane_length(wing: Wing) -> None:
    body = check_problem(
        wing.client.post("/ask", json={f"f{i}": 1 for i in range(5000)}),
        422,
        "invalid-request",
    )
    assert len(body["errors"]) == 1000
    assert (
        body["detail"]
        == "5003 faults; the first 1000 are listed in `errors` with their places."
    )


def test_a_list_is_answered_item_by_item(wing: Wing) -> None:
    jobs = wing.ask("mass", max_jobs=3)["jobs"]
    items: list[Any] = [
        evaluate(jobs[0]),
        {**evaluate(jobs[1]), "value": "x"},
        {**evaluate(jobs[1]), "lease": NEVER_ISSUED},
        None,
        {"job": 10**400, "lease": 7},
        {**evaluate(jobs[2]), "also": {"lift": 1}},
        {**evaluate(jobs[0]), "value": -1.0},
        evaluate(jobs[0]),
        {"job": jobs[1]["job"], "lease": jobs[1]["lease"]},
        evaluate(jobs[2]),
    ]
    answer = wing.client.post("/tell", json=items)
    assert answer.status_code == 200
    told = answer.json()
    assert [one["status"] for one in told] == [
        200,
        422,
        404,
        422,
        422,
        422,
        409,
        200,
        422,
        200,
    ]
    assert [one["job"] for one in told[:2]] == [jobs[0]["job"], jobs[1]["job"]]
    assert told[1]["detail"].startswith("#/1/value: ")
    assert told[8]["detail"] == "#/8: give either `value` or `failure`"
    states = {
        job["job"]: job["state"] for job in wing.get("/jobs", objective="mass")["items"]
    }
    assert [states[job["job"]] for job in jobs] == ["done", "leased", "done"]


def test_a_list_has_its_limits(client: TestClient) -> None:
    for count in (0, 257):
        body = check_problem(
            client.post("/tell", json=[TELL] * count), 422, "tell-invalid"
        )
        assert "1 to 256" in body["detail"]


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
    # Max_attempts 2
    assert wing.tell(again, failure={"kind": "error"}).json()["state"] == "failed"
    assert (
        wing.tell(wing.job("drag"), failure={"kind": "infeasible"}).json()["state"]
        == "failed"
    )
    assert (
        wing.tell(wing.job("drag"), failure={"kind": "infrastructure"}).json()["state"]
        == "ready"
    )
    failed = [item for item in wing.get("")["health"] if item["code"] == "jobs_failed"]
    assert [item["objective"] for item in failed] == ["mass", "drag"]


def test_a_heartbeat_gives_new_deadlines_and_says_what_is_lost(wing: Wing) -> None:
    job = wing.job("mass")
    leases = [job["lease"], NEVER_ISSUED, job["lease"]]
    mine, unknown = wing.client.post("/heartbeat", json={"leases": leases}).json()[
        "leases"
    ]
    assert (mine["lease"], mine["cancel"], mine["reason"]) == (
        job["lease"],
        False,
        None,
    )
    assert mine["expires_at"] >= job["expires_at"]
    assert (unknown["expires_at"], unknown["cancel"]) == (None, True)
    assert unknown["reason"] == "lease_unknown"
    wing.tell(job, value=1)
    (ended,) = wing.client.post("/heartbeat", json={"leases": [job["lease"]]}).json()[
        "leases"
    ]
    assert (ended["cancel"], ended["reason"]) == (True, "lease_ended")


def test_a_stopped_study_advises_workers_to_cancel(wing: Wing) -> None:
    job = wing.job("mass")
    wing.post("/stop", cancel_running=True)
    (alive,) = wing.client.post("/heartbeat", json={"leases": [job["lease"]]}).json()[
        "leases"
    ]
    assert (alive["cancel"], alive["reason"]) == (True, "study_stopped")
    assert wing.tell(job, value=1).status_code == 200


def test_a_released_job_is_ready_again(wing: Wing) -> None:
    job = wing.job("mass")
    body = {"leases": [job["lease"], NEVER_ISSUED]}
    assert wing.client.post("/release", json=body).json() == {
        "released": [job["lease"]]
    }
    assert wing.client.post("/release", json=body).json() == {"released": []}
    assert wing.job("mass")["job"] == job["job"]


def test_workers_are_listed_with_what_they_hold(wing: Wing) -> None:
    held = wing.ask("mass", max_jobs=2, worker="node1")["jobs"]
    wing.ask("mass", worker="node2")
    found = wing.client.get("/workers", params={"limit": 1}).json()
    assert [(one["worker"], one["jobs"]) for one in found["items"]] == [
        ("node1", [job["job"] for job in held])
    ]
    rest = wing.client.get(
        "/workers", params={"limit": 1, "cursor": found["next"]}
    ).json()
    assert [one["worker"] for one in rest["items"]] == ["node2"]


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
    for path, kind in itertools.product(PATHS, ("application/json", "text/plain")):
        for body in HOSTILE:
            answer = wing.client.post(
                path, content=body, headers={"content-type": kind}
            )
            assert answer.status_code < 500, (body[:100], answer.text)
            if answer.status_code >= 400:
                assert answer.headers["content-type"] == "application/problem+json", (
                    body[:100],
                    answer.text,
                )
            assert "Traceback" not in answer.text
    assert wing.client.post("/ask", json=ASK).status_code == 200
    assert (
        wing.client.get("/studies").json()["items"][0]["budget"] == wing.spec["budget"]
    )


def test_metadata_that_cannot_be_stored_are_refused_before_anything_is_written(
    wing: Wing,
) -> None:
    job = wing.job("mass")
    deep = json.loads("[" * 900 + "]" * 900)
    for said in ({"a": NUL}, {NUL: 1}, {"a": HALF}, {"a": float("nan")}, {"a": deep}):
        content = json.dumps(
            {"job": job["job"], "lease": job["lease"], "value": 1.0, "metadata": said}
        )
        answer = wing.client.post(
            "/tell", content=content, headers={"content-type": "application/json"}
        )
        assert check_problem(answer, 422, "invalid-request")["errors"][0][
            "pointer"
        ].startswith("#/metadata")
    assert (
        wing.tell(
            job, value=2.0, metadata={"a": "ä 😀", "deep": [[{"b": None}]]}
        ).status_code
        == 200
    )


def test_one_broken_ask_does_not_end_the_desk(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong in one round, the next one is served."""

    def broken(*_: object) -> None:
        raise RuntimeError("a secret detail")

    with monkeypatch.context() as patched:
        patched.setattr("app.api.batching.ask_batcher.serve_asks", broken)
        answer = wing.client.post("/ask", json=ASK)
        check_problem(answer, 500, "internal")
        assert "secret" not in answer.text
    assert wing.client.post("/ask", json=ASK).json()["jobs"]


def test_a_database_that_is_away_is_said_to_the_fresh_and_waited_for_by_the_others(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise DatabaseUnusable("gone fishing")

    with monkeypatch.context() as patched:
        patched.setattr("app.api.batching.ask_batcher.serve_asks", away)
        check_problem(
            wing.client.post("/ask", json=ASK | {"wait_s": 10}),
            503,
            "database-unusable",
        )
    assert wing.client.post("/ask", json=ASK).json()["jobs"]
