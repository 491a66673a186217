"""Workers over HTTP: the overview, and draining one while it waits."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.api.wing import Wing, check_problem

ODD = "rack 3/node 7?#%2F ü"


def test_the_overview(wing: Wing) -> None:
    job = wing.ask("drag", worker=ODD)["jobs"][0]
    wing.ask("mass", max_jobs=2, worker="node8")
    assert wing.tell(job, failure={"kind": "error"}).status_code == 200
    body = wing.client.get("/workers").json()
    assert body["next"] is None
    first, second = body["items"]
    assert (first["worker"], first["jobs"], first["done"]) == (ODD, [], 0)
    assert first["failures"] == {"infeasible": 0, "error": 1, "infrastructure": 0, "lost": 0}
    assert (second["worker"], len(second["jobs"]), second["objectives"], second["slots"]) == ("node8", 2, ["mass"], 2)
    assert first["alive"] is second["alive"] is True


def test_drain_and_undrain_by_any_name(wing: Wing) -> None:
    wing.ask("drag", worker=ODD)
    answer = wing.client.post("/workers/drain", json={"worker": ODD})
    assert (answer.status_code, answer.json()["drained"], len(answer.json()["jobs"])) == (200, True, 1)
    refused = wing.ask("drag", worker=ODD)
    assert (refused["jobs"], refused["reason"]) == ([], "drained")
    assert wing.client.get("/workers").json()["items"][0]["drained"] is True
    assert wing.client.post("/workers/undrain", json={"worker": ODD}).json()["drained"] is False
    assert len(wing.ask("drag", worker=ODD)["jobs"]) == 1


def test_bad_names_change_nothing(wing: Wing) -> None:
    check_problem(wing.client.post("/workers/drain", json={"worker": "nobody"}), 404, "worker-unknown")
    for body in ({}, {"worker": ""}, {"worker": "a\x00"}, {"worker": "x" * 201}, {"worker": 3}, {"wroker": "w"}):
        check_problem(wing.client.post("/workers/drain", json=body), 422, "invalid-request")


def test_a_worker_that_waits_learns_at_once_that_it_is_drained(wing: Wing) -> None:
    """Those who wait beside it go on waiting."""
    held = wing.ask(max_jobs=256, worker="holds all")["jobs"]
    ask = {"studies": ["wing"], "objectives": ["*"], "wait_s": 60}
    with ThreadPoolExecutor(2) as pool:
        drained, other = (
            pool.submit(lambda name=name: wing.client.post("/ask", json={**ask, "worker": name}).json())  # type: ignore[misc]
            for name in ("old", "new")
        )
        until(lambda: {"old", "new"} <= {w["worker"] for w in wing.client.get("/workers").json()["items"]})
        wing.client.post("/workers/drain", json={"worker": "old"})
        assert drained.result(50)["reason"] == "drained"
        assert not other.done()
        wing.client.post("/release", json={"leases": [held[0]["lease"]]})
        assert len(other.result(50)["jobs"]) == 1


def test_a_drained_worker_that_comes_to_wait_is_answered_at_once(wing: Wing) -> None:
    wing.ask("drag", worker="old")
    wing.client.post("/workers/drain", json={"worker": "old"})
    ask = {"worker": "old", "studies": ["wing"], "objectives": ["*"], "wait_s": 60}
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(wing.client.post, "/ask", json=ask).result(50).json()["reason"] == "drained"


def until(true: Callable[[], bool], patience_s: float = 50.0) -> None:
    deadline = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)
