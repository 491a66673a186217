"""Workers over HTTP: their list, and draining one while it waits."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.api.wing import Wing, check_problem

UNUSUAL_NAME = "rack 3/node 7?#%2F ü"
ASK = {"studies": ["wing"], "objectives": ["*"], "wait_s": 60}
PATIENCE_S = 50.0


def test_the_list_shows_what_workers_hold_and_how_their_jobs_ended(wing: Wing) -> None:
    job = wing.ask("drag", worker=UNUSUAL_NAME)["jobs"][0]
    wing.ask("mass", max_jobs=2, worker="node8")
    assert wing.tell(job, failure={"kind": "error"}).status_code == 200
    page = wing.client.get("/workers").json()
    assert page["next"] is None
    first, second = page["items"]
    assert (first["worker"], first["jobs"], first["done"]) == (UNUSUAL_NAME, [], 0)
    assert first["failures"] == {
        "infeasible": 0,
        "error": 1,
        "infrastructure": 0,
        "lost": 0,
    }
    assert (second["worker"], len(second["jobs"])) == ("node8", 2)
    assert (second["objectives"], second["slots"]) == (["mass"], 2)
    assert first["alive"] is second["alive"] is True


def test_the_list_has_pages(wing: Wing) -> None:
    held = wing.ask("mass", max_jobs=2, worker="node1")["jobs"]
    wing.ask("mass", worker="node2")
    first = wing.client.get("/workers", params={"limit": 1}).json()
    assert [worker["worker"] for worker in first["items"]] == ["node1"]
    assert first["items"][0]["jobs"] == [job["job"] for job in held]
    second = wing.client.get(
        "/workers", params={"limit": 1, "cursor": first["next"]}
    ).json()
    assert [worker["worker"] for worker in second["items"]] == ["node2"]


def test_a_worker_of_any_name_can_be_drained_and_undrained(wing: Wing) -> None:
    wing.ask("drag", worker=UNUSUAL_NAME)
    drained = wing.client.post("/workers/drain", json={"worker": UNUSUAL_NAME})
    assert drained.status_code == 200
    assert drained.json()["drained"] is True
    assert len(drained.json()["jobs"]) == 1
    empty = wing.ask("drag", worker=UNUSUAL_NAME)
    assert (empty["jobs"], empty["reason"]) == ([], "drained")
    assert wing.client.get("/workers").json()["items"][0]["drained"] is True
    assert (
        wing.client.post("/workers/undrain", json={"worker": UNUSUAL_NAME}).json()[
            "drained"
        ]
        is False
    )
    assert len(wing.ask("drag", worker=UNUSUAL_NAME)["jobs"]) == 1


def test_unknown_and_invalid_names_are_refused(wing: Wing) -> None:
    check_problem(
        wing.client.post("/workers/drain", json={"worker": "unknown"}),
        404,
        "worker-unknown",
    )
    for body in (
        {},
        {"worker": ""},
        {"worker": "a\x00"},
        {"worker": "x" * 201},
        {"worker": 3},
        {"wroker": "w"},
    ):
        check_problem(
            wing.client.post("/workers/drain", json=body), 422, "invalid-request"
        )


def test_draining_ends_the_workers_wait_and_no_other(wing: Wing) -> None:
    held = wing.ask(max_jobs=256, worker="holds all")["jobs"]

    def ask(worker: str) -> Any:
        return wing.client.post("/ask", json={**ASK, "worker": worker}).json()

    with ThreadPoolExecutor(2) as pool:
        drained, other = pool.submit(ask, "old"), pool.submit(ask, "new")
        wait_until(lambda: {"old", "new"} <= known_workers(wing))
        wing.client.post("/workers/drain", json={"worker": "old"})
        assert drained.result(PATIENCE_S)["reason"] == "drained"
        assert not other.done()
        wing.client.post("/release", json={"leases": [held[0]["lease"]]})
        assert len(other.result(PATIENCE_S)["jobs"]) == 1


def test_the_ask_of_a_drained_worker_does_not_wait(wing: Wing) -> None:
    wing.ask("drag", worker="old")
    wing.client.post("/workers/drain", json={"worker": "old"})
    with ThreadPoolExecutor(1) as pool:
        response = pool.submit(wing.client.post, "/ask", json={**ASK, "worker": "old"})
        assert response.result(PATIENCE_S).json()["reason"] == "drained"


def known_workers(wing: Wing) -> set[str]:
    return {worker["worker"] for worker in wing.client.get("/workers").json()["items"]}


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
