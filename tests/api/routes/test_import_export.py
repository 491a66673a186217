"""Import and export over HTTP: an exported file can be imported again."""

import csv
import io
import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from app.main import create_app
from app.settings import load_settings
from app.store.database import Database
from tests.api.wing import LOCAL, SPEC, Wing, check_problem

CSV = "span,ribs,mass,drag,lift\r\n1.5,7,2.5,0.25,10\r\n1.25,8,,0.5,\r\n"
MEDIA_TYPES = {"csv": "text/csv", "json": "application/json"}
MESSAGE = 'it said "no",\nthen exited'
Table = list[dict[str, str]]


def send(
    client: TestClient,
    content: str,
    media_type: str = "text/csv",
    study: str = "wing",
    **query: Any,
) -> Response:
    return client.post(
        f"/studies/{study}/import",
        content=content.encode(),
        params=query,
        headers={"Content-Type": media_type},
    )


def create_paused(client: TestClient, **changes: Any) -> None:
    spec = {**SPEC, **changes}
    response = client.post("/studies", params={"paused": True}, json=spec)
    assert response.status_code == 201


def fetch(
    client: TestClient, what: str, file_format: str = "csv", study: str = "wing"
) -> str:
    url = f"/studies/{study}/export/{what}"
    response = client.get(url, params={"format": file_format})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith(MEDIA_TYPES[file_format])
    disposition = f'attachment; filename="{study}-{what}.{file_format}"'
    assert response.headers["content-disposition"] == disposition
    return response.text


def fetch_items(client: TestClient, what: str, study: str = "wing") -> Any:
    page = json.loads(fetch(client, what, "json", study))
    assert page["next"] is None
    return page["items"]


def fetch_table(client: TestClient, what: str, study: str = "wing") -> Table:
    text = fetch(client, what, study=study)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def pointers(problem: dict[str, Any]) -> list[str]:
    return [fault["pointer"] for fault in problem["errors"]]


def test_a_paused_study_is_filled_and_resumed(
    client: TestClient, database: Database
) -> None:
    create_paused(client)
    wing = Wing(client, database)
    assert wing.get("")["state"] == "paused"
    response = send(client, CSV)
    assert response.status_code == 200, response.text
    assert response.json() == {
        "rows": 2,
        "complete": 1,
        "partial": 1,
        "values_added": 0,
        "jobs": 0,
        "unchanged": 0,
        "ignored": 0,
        "dry_run": False,
    }
    assert wing.plan() == 0
    assert wing.post("/resume").json()["imported"] == 2
    wing.finish()
    assert wing.get("")["evaluated_full"] == 6
    assert send(client, CSV).json()["unchanged"] == 2


def test_all_invalid_rows_are_listed_and_nothing_is_written(client: TestClient) -> None:
    create_paused(client)
    text = "span,ribs,mass\n1.5,7,2.5\n1.5,7.5,2.5\n9,8,x\n"
    for dry_run in (True, False):
        response = send(client, text, dry_run=dry_run)
        problem = check_problem(response, 422, "import-invalid")
        assert pointers(problem) == ["line 3, ribs", "line 4, span", "line 4, mass"]
    items = '[{"x": {"span": 1.5}}]'
    response = send(client, items, "application/json")
    problem = check_problem(response, 422, "import-invalid")
    assert pointers(problem) == ["#/0/x/ribs"]
    assert client.get("/studies/wing").json()["imported"] == 0


def test_a_dry_run_writes_nothing(client: TestClient) -> None:
    create_paused(client)
    imported = send(client, CSV, dry_run=True).json()
    assert (imported["complete"], imported["dry_run"]) == (1, True)
    assert client.get("/studies/wing").json()["imported"] == 0


def test_missing_values_become_jobs_on_request(
    client: TestClient, database: Database
) -> None:
    create_paused(client)
    imported = send(client, CSV, evaluate=True).json()
    assert imported["jobs"] == 1  # none for `lift`: a value of its run is known
    wing = Wing(client, database)
    wing.post("/resume")
    assert wing.job("mass")["x"] == {"span": 1.25, "ribs": 8}


def test_other_media_types_are_refused(client: TestClient) -> None:
    create_paused(client)
    for media_type in ("application/xml", ""):
        response = send(client, CSV, media_type)
        problem = check_problem(response, 415, "unsupported-media-type")
        assert "text/csv or application/json" in problem["detail"]
    check_problem(send(client, CSV, study="wong"), 404, "study-unknown")
    with_parameters = "TEXT/CSV; charset=utf-8; header=present"
    assert send(client, CSV, with_parameters).status_code == 200


def test_an_import_over_the_limit_is_refused(database_url: str) -> None:
    app = create_app(load_settings(database_url=database_url, max_body_bytes=2000))
    with TestClient(app, LOCAL) as client:
        create_paused(client)
        response = send(client, CSV + "1.5,7,2.5,0.25,10\n" * 200)
        check_problem(response, 413, "content-too-large")


@pytest.fixture
def finished(wing: Wing) -> Wing:
    failure = {"kind": "infeasible", "message": MESSAGE}
    wing.tell(wing.job("drag"), failure=failure)
    wing.finish()
    return wing


def test_exports_have_the_items_of_the_lists(finished: Wing) -> None:
    client = finished.client
    for what in ("samples", "steps", "front"):
        listed = client.get(f"/studies/wing/{what}", params={"limit": 1000}).json()
        assert fetch_items(client, what) == listed["items"]
        assert len(fetch_table(client, what)) == len(listed["items"]) > 0
    (step, *_) = fetch_table(client, "steps")
    listed_step = finished.get("/steps")["items"][0]
    assert json.loads(step["record"]) == listed_step["record"]


def test_the_export_of_samples_has_a_column_for_each_name(finished: Wing) -> None:
    row = fetch_table(finished.client, "samples")[0]
    sample = finished.get("/samples")["items"][0]
    values = ["span", "ribs", "mass", "drag", "lift"]
    assert list(row) == ["sample", "step", "full", "open", *values]
    assert (row["sample"], row["step"], row["full"]) == ("1", "initial", "true")
    assert (float(row["span"]), int(row["ribs"])) == tuple(sample["x"].values())
    assert row["mass"] == ""  # withdrawn, because drag had ruled the point out
    assert (row["drag"], row["lift"]) == ("infeasible", "infeasible")


def test_the_export_of_jobs_has_a_row_for_each_attempt(finished: Wing) -> None:
    rows = fetch_table(finished.client, "jobs")
    expected: list[str] = []
    for job in finished.get("/jobs", limit=1000)["items"]:
        row_count = max(job["attempts"], 1)
        expected += [str(job["job"])] * row_count
    assert [row["job"] for row in rows] == expected

    failed = next(row for row in rows if row["failure"])
    assert (failed["objective"], failed["state"]) == ("drag", "infeasible")
    assert (failed["outcome"], failed["failure"]) == ("failed", "infeasible")
    assert failed["message"] == MESSAGE

    of_drag = [row for row in rows if row["objective"] == "drag"]
    done = next(row for row in of_drag if row["outcome"] == "done")
    assert (done["worker"], done["attempt"], done["duration_s"]) == ("w", "1", "0.1")
    assert "lift" in json.loads(done["details"])["also"]
    assert done["leased_at"] <= done["ended_at"]

    for row in rows:
        if row["state"] == "superseded":
            assert row["attempt"] == row["worker"] == row["leased_at"] == ""

    items = fetch_items(finished.client, "jobs")
    attempts = [str(item["attempt"] or "") for item in items]
    assert attempts == [row["attempt"] for row in rows]


def test_exports_of_a_study_without_samples_are_empty(client: TestClient) -> None:
    create_paused(client)
    for what in ("samples", "jobs", "front"):
        assert fetch_items(client, what) == []
        assert fetch_table(client, what) == []


def test_unknown_exports_are_refused(client: TestClient) -> None:
    create_paused(client)
    check_problem(client.get("/studies/wong/export/samples"), 404, "study-unknown")
    check_problem(client.get("/studies/wing/export/dreams"), 422, "invalid-request")
    url = "/studies/wing/export/samples?format=xls"
    check_problem(client.get(url), 422, "invalid-request")


def known_rows(rows: Table) -> set[tuple[str, ...]]:
    """Points with their values, if they have any."""
    known: set[tuple[str, ...]] = set()
    for row in rows:
        values = (row["mass"], row["drag"], row["lift"])
        if any(values):
            known.add((row["span"], row["ribs"], *values))
    return known


def front_points(client: TestClient, study: str) -> list[Any]:
    items = fetch_items(client, "front", study)
    return [(item["x"], item["values"]) for item in items]


@pytest.mark.parametrize("file_format", ["csv", "json"])
def test_an_exported_study_can_be_imported_into_another(
    finished: Wing, file_format: str
) -> None:
    client, media_type = finished.client, MEDIA_TYPES[file_format]
    create_paused(client, name="next")
    exported = fetch(client, "samples", file_format)
    before = fetch_table(client, "samples")
    imported = send(client, exported, media_type, "next").json()
    used = imported["complete"] + imported["partial"]
    assert used + imported["ignored"] == imported["rows"] == len(before)
    after = fetch_table(client, "samples", "next")
    assert known_rows(after) == known_rows(before)
    front = front_points(client, "wing")
    assert front_points(client, "next") == front
    # The study that they come from knows them already.
    assert send(client, exported, media_type).json()["unchanged"] == used
    exported_front = fetch(client, "front", file_format)
    unchanged = send(client, exported_front, media_type).json()["unchanged"]
    assert unchanged == len(front)
    client.post("/studies/next/resume")
    assert finished.plan() == 2  # the initial design is known: search begins at once
    assert client.get("/studies/next").json()["planned_full"] == 2


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "'=1")


def test_formulas_in_texts_are_exported_as_texts(wing: Wing) -> None:
    """A spreadsheet would evaluate what a worker sent."""
    for formula in FORMULAS:
        asked = wing.ask("mass", worker=formula)
        failure = {"kind": "infeasible", "message": formula}
        wing.tell(asked["jobs"][0], failure=failure)
        if len(wing.get("/jobs", objective="mass", state="ready")["items"]) == 0:
            break
    attempts = [row for row in fetch_table(wing.client, "jobs") if row["worker"]]
    exported = [row["worker"] for row in attempts]
    assert exported == [f"'{formula}" for formula in FORMULAS[: len(exported)]]
    assert [row["message"] for row in attempts] == exported
    as_json = fetch_items(wing.client, "jobs")
    told = [item["worker"] for item in as_json if item["worker"]]
    assert told == list(FORMULAS[: len(exported)])
