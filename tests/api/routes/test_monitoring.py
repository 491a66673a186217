"""What the dashboard draws, over HTTP."""

import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.store.database import Database
from tests.api.wing import SPEC, Wing, check_problem

PAGES = ("timeline", "speeds", "convergence", "models", "balance")


@pytest.fixture
def finished(client: TestClient, database: Database) -> Wing:
    """A study whose three search steps are done."""
    wing = Wing(client, database, {**SPEC, "budget": 10})
    assert client.post("/studies", json=wing.spec).status_code == 201
    wing.finish()
    return wing


def test_every_page_of_a_study_without_values_is_empty(wing: Wing) -> None:
    timeline = wing.get("/timeline")
    assert timeline["items"] == []
    assert timeline["next"] is None
    convergence = wing.get("/convergence")
    assert (convergence["points"], convergence["recent"]) == ([], None)
    assert convergence["assessment"] == "too_early"
    assessments = [output["assessment"] for output in wing.get("/models")["outputs"]]
    assert assessments == ["unknown"] * 3
    balance = wing.get("/balance")
    assert balance["items"] == []
    assert [total["full"] for total in balance["objectives"]] == [0, 0]


@pytest.mark.parametrize("page", PAGES)
def test_a_study_that_does_not_exist_is_named(client: TestClient, page: str) -> None:
    response = client.get(f"/studies/nothing/{page}")
    assert "nothing" in check_problem(response, 404, "study-unknown")["detail"]


def test_timeline_shows_attempts_in_their_slots(wing: Wing) -> None:
    first, second = wing.ask("drag", max_jobs=2, worker="node7")["jobs"]
    wing.tell(first, value=1.0, also={"lift": 2.0})
    wing.tell(second, failure={"kind": "error", "message": "no licence"})
    wing.ask("mass", worker="node8")
    timeline = wing.get("/timeline", resolution_s=0)
    items = {item["job"]: item for item in timeline["items"]}
    assert len(items) == 3
    done, failed = items[first["job"]], items[second["job"]]
    assert (done["worker"], done["outcome"], done["count"]) == ("node7", "done", 1)
    assert done["objectives"] == {"drag": 1}
    assert (failed["outcome"], failed["failed"]) == ("failed", 1)
    assert {done["slot"], failed["slot"]} == {0, 1}
    (running,) = [item for item in items.values() if item["end"] is None]
    assert (running["worker"], running["slot"]) == ("node8", 0)
    assert running["sample"] is not None
    assert running["cheap_only"] is False
    assert timeline["slots"] == [
        {"worker": "node7", "slot": 0},
        {"worker": "node7", "slot": 1},
        {"worker": "node8", "slot": 0},
    ]


def test_the_latest_attempts_are_the_end_of_the_timeline(finished: Wing) -> None:
    whole = finished.get("/timeline", resolution_s=0)["items"]
    last = finished.get("/timeline", resolution_s=0, latest=5)
    begun = [item["job"] for item in last["items"] if item["start"] >= last["start"]]
    assert begun[-5:] == [item["job"] for item in whole[-5:]]
    before = finished.get("/timeline", resolution_s=0, latest=5, to=last["start"])
    assert before["start"] < last["start"]
    assert all(item["start"] < last["start"] for item in before["items"])
    assert (
        finished.get("/timeline", latest=20_000)["start"]
        == finished.get("/timeline")["start"]
    )


def test_speeds_and_jobs_name_the_worker_and_why_it_failed(wing: Wing) -> None:
    first, second = wing.ask("drag", max_jobs=2, worker="node7")["jobs"]
    wing.tell(first, value=1.0, also={"lift": 2.0})
    message = "Traceback\n  solver.py\nno licence\n--- printed ---\nreading\n"
    wing.tell(second, failure={"kind": "error", "message": message})
    (speed,) = wing.get("/speeds")["items"]
    assert (speed["worker"], speed["objective"]) == ("node7", "drag")
    assert (speed["done"], speed["failed"]) == (1, 1)
    assert (speed["pace"], speed["slow"]) == (None, False)
    jobs = {job["job"]: job for job in wing.get("/jobs", objective="drag")["items"]}
    failed = jobs[second["job"]]
    assert (failed["failure"], failed["message"]) == ("error", "no licence")
    assert jobs[first["job"]]["message"] is None


def test_bursts_become_one_counted_item(finished: Wing) -> None:
    timeline = finished.get("/timeline", resolution_s=3600)
    assert all(item["job"] is None for item in timeline["items"] if item["count"] > 1)
    total = sum(item["count"] for item in timeline["items"])
    separate = finished.get("/timeline", resolution_s=0)["items"]
    assert len(separate) == total > len(timeline["items"])


def test_pages_of_a_timeline_are_the_same_as_the_whole(finished: Wing) -> None:
    whole = finished.get("/timeline", resolution_s=0)
    pages: list[dict[str, Any]] = []
    query: dict[str, Any] = {"resolution_s": 0, "limit": 5, "to": whole["end"]}
    while not pages or pages[-1]["next"]:
        cursor = {"cursor": pages[-1]["next"]} if pages else {}
        pages.append(finished.get("/timeline", **query, **cursor))
    assert len(pages) > 2
    assert [item for page in pages for item in page["items"]] == whole["items"]
    busy_s = sum(used["busy_s"] for page in pages for used in page["utilisation"])
    assert busy_s <= sum(used["busy_s"] for used in whole["utilisation"]) + 1e-6


def test_a_range_begins_with_what_was_running_then(wing: Wing) -> None:
    job = wing.ask("drag")["jobs"][0]
    now = wing.get("/timeline")["now"]
    later = wing.get("/timeline", **{"from": now})
    assert [item["job"] for item in later["items"]] == [job["job"]]
    wing.tell(job, value=1.0, also={"lift": 1.0})
    time.sleep(0.01)  # times are given in milliseconds
    after = wing.get("/timeline")["now"]
    assert wing.get("/timeline", **{"from": after})["items"] == []
    assert wing.get("/timeline", to=later["items"][0]["start"])["items"] == []


@pytest.mark.parametrize("cursor", ["nonsense", "!!!", "eJwDAAAAAAE", "W10"])
def test_an_invented_cursor_is_refused(wing: Wing, cursor: str) -> None:
    response = wing.client.get("/studies/wing/timeline", params={"cursor": cursor})
    check_problem(response, 422, "cursor-invalid")


def test_queues_say_why_jobs_wait(wing: Wing) -> None:
    def reasons() -> dict[str, Any]:
        queues = wing.get("/timeline")["queues"]
        return {queue["objective"]: queue["reason"] for queue in queues}

    assert reasons() == {"mass": "no_worker", "drag": "no_worker"}
    drag = wing.ask("drag", worker="node7")["jobs"][0]
    assert reasons() == {"mass": "no_worker", "drag": "workers_busy"}
    wing.tell(drag, value=1.0, also={"lift": 1.0})
    assert reasons()["drag"] == "next_ask"
    wing.ask("drag", worker="node7")
    wing.client.post("/workers/drain", json={"worker": "node7"})
    assert reasons()["drag"] == "workers_drained"
    wing.post("/pause")
    assert reasons() == {"mass": "paused", "drag": "paused"}
    queues = wing.get("/timeline")["queues"]
    assert [queue["ready"] for queue in queues] == [4, 2]
    assert all(queue["waiting_s"] >= 0 for queue in queues)


def test_convergence_has_a_point_for_each_step(finished: Wing) -> None:
    convergence = finished.get("/convergence")
    steps = [point["step"] for point in convergence["points"]]
    assert steps[:3] == ["search:1", "search:2", "search:3"]
    assert steps[3].startswith("closing")
    assert [point["number"] for point in convergence["points"]] == [1, 2, 3, 4]
    assert [point["evaluated_full"] for point in convergence["points"][:3]] == [4, 6, 8]
    assert [point["slow_evaluations"] for point in convergence["points"]] == [
        4,
        6,
        8,
        10,
    ]
    assert convergence["points"][-1]["slow_s"] == pytest.approx(1.0)
    assert convergence["slow_run"] == "drag"
    assert set(convergence["reference_point"]) == {"mass", "drag", "lift"}
    values = [point["hypervolume"] for point in convergence["points"]]
    assert values == sorted(values)
    assert convergence["recent"]["gain"] == pytest.approx(values[-1] - values[0])
    assert convergence["recent"]["slow_evaluations"] == 6
    gain = (values[1] - values[0]) / (0.2 / 3600)
    assert convergence["points"][1]["gain_per_slow_h"] == pytest.approx(gain)
    view = finished.get("")
    assert values[-1] == view["hypervolume"]["value"]


def test_points_of_long_studies_are_spread(finished: Wing) -> None:
    steps = [
        point["number"] for point in finished.get("/convergence", points=2)["points"]
    ]
    assert steps[:2] == [1, 3]
    models = finished.get("/models", points=2)["outputs"][0]["steps"]
    assert [step["number"] for step in models] == [1, 3]
    items = finished.get("/balance", points=2)["items"]
    assert {item["number"] for item in items} == {1, 3}


def test_models_compare_predictions_with_later_values(finished: Wing) -> None:
    mass, _, lift = finished.get("/models")["outputs"]
    samples = {
        sample["sample"]: sample
        for sample in finished.get("/samples", full=True)["items"]
    }
    assert len(mass["forecasts"]) == len(lift["forecasts"]) == 6
    for output in (mass, lift):
        for forecast in output["forecasts"]:
            sample = samples[forecast["sample"]]
            assert forecast["observed"] == sample["values"][output["objective"]]
            assert forecast["step"] == sample["step"]
    # In the user's direction: lift is maximised and positive.
    assert all(forecast["predicted"] > 0 for forecast in lift["forecasts"])
    assert mass["steps"][-1]["size"] >= 4
    assert mass["assessment"] != "unknown"
    assert 0 <= mass["within_two"] <= 1


def test_balance_counts_what_was_proposed_and_evaluated(finished: Wing) -> None:
    balance = finished.get("/balance")
    mass, drag = balance["objectives"]
    assert (drag["full"], drag["cheap_only"]) == (10, 0)
    assert mass["full"] == 10
    assert mass["cheap_only"] > 0
    first = balance["items"][0]
    assert (first["objective"], first["full"], first["cheap_only"]) == ("mass", 2, 2)
    assert sum(first["full_sources"].values()) == 2
    assert first["ratio"] == 2.0
    assert first["sbp_low"] <= first["sbp_high"]


def test_overview_lists_studies_with_what_matters(finished: Wing) -> None:
    other = {**SPEC, "name": "another"}
    finished.client.post("/studies", json=other)
    response = finished.client.get("/overview", params={"limit": 1})
    (item,) = response.json()["items"]
    assert (item["name"], item["phase"]) == ("wing", "finished")
    assert item["hypervolume"][-1] == finished.get("")["hypervolume"]["value"]
    assert item["front"] >= 1
    assert item["eta"] == {"low_s": 0.0, "high_s": 0.0, "unknown": None}
    cursor = response.json()["next"]
    rest = finished.client.get("/overview", params={"cursor": cursor}).json()
    (other_item,) = rest["items"]
    assert other_item["hypervolume"] == []
    assert other_item["eta"]["unknown"]


def test_the_overview_of_one_study_is_its_item_of_the_list(finished: Wing) -> None:
    items = finished.client.get("/overview").json()["items"]
    wing = next(item for item in items if item["name"] == "wing")
    assert finished.get("/overview") == wing
