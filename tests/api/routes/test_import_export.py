"""Files in and out over HTTP: what was exported can be imported, and neither holds more
than a page.
"""

import csv
import io
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import insert

from app.errors import StateChanged
from app.main import create_app
from app.service.files.columns import columns_of
from app.service.files.csv_reader import read_csv
from app.service.files.export import export
from app.service.files.json_reader import read_json
from app.settings import load_settings
from app.store.database import Database
from app.store.studies.samples import point_hash
from app.store.tables import jobs, samples, studies
from counterpoise.wire.specification import parse_specification
from tests.api.wing import LOCAL, SPEC, Wing, check_problem

CSV = "span,ribs,mass,drag,lift\r\n1.5,7,2.5,0.25,10\r\n1.25,8,,0.5,\r\n"


def send(
    client: TestClient,
    text: str | bytes,
    kind: str = "text/csv",
    study: str = "wing",
    **query: Any,
) -> Response:
    content = text.encode() if isinstance(text, str) else text
    return client.post(
        f"/studies/{study}/import",
        content=content,
        params=query,
        headers={"Content-Type": kind},
    )


def create(client: TestClient, **changes: Any) -> None:
    assert (
        client.post(
            "/studies", params={"paused": True}, json={**SPEC, **changes}
        ).status_code
        == 201
    )


def fetch(client: TestClient, what: str, form: str = "csv", study: str = "wing") -> str:
    answer = client.get(f"/studies/{study}/export/{what}", params={"format": form})
    assert answer.status_code == 200, answer.text
    media = "text/csv; charset=utf-8" if form == "csv" else "application/json"
    assert answer.headers["content-type"] == media
    assert (
        answer.headers["content-disposition"]
        == f'attachment; filename="{study}-{what}.{form}"'
    )
    return answer.text


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_study_is_created_paused_filled_and_started(
    client: TestClient, database: Database
) -> None:
    create(client)
    wing = Wing(client, database)
    assert wing.get("")["state"] == "paused"
    answer = send(client, CSV)
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
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


def test_bad_rows_are_all_listed_and_nothing_is_written(client: TestClient) -> None:
    create(client)
    text = "span,ribs,mass\n1.5,7,2.5\n1.5,7.5,2.5\n9,8,x\n"
    for dry_run in (True, False):
        body = check_problem(send(client, text, dry_run=dry_run), 422, "import-invalid")
        assert [fault["pointer"] for fault in body["errors"]] == [
            "line 3, ribs",
            "line 4, span",
            "line 4, mass",
        ]
        assert (
            body["detail"]
            == "3 faults, each listed in `errors` with its place; nothing was imported"
        )
    assert client.get("/studies/wing").json()["imported"] == 0
    body = check_problem(
        send(client, '[{"x": {"span": 1.5}}]', "application/json"),
        422,
        "import-invalid",
    )
    assert [fault["pointer"] for fault in body["errors"]] == ["#/0/x/ribs"]


def test_a_dry_run_writes_nothing(client: TestClient) -> None:
    create(client)
    answer = send(client, CSV, dry_run=True).json()
    assert (answer["complete"], answer["dry_run"]) == (1, True)
    assert client.get("/studies/wing").json()["imported"] == 0


def test_jobs_are_made_of_what_is_missing(
    client: TestClient, database: Database
) -> None:
    create(client)
    # Of drag's run something is known
    assert send(client, CSV, evaluate=True).json()["jobs"] == 1
    wing = Wing(client, database)
    wing.post("/resume")
    assert wing.job("mass")["x"] == {"span": 1.25, "ribs": 8}


def test_other_kinds_of_bodies_are_refused(client: TestClient) -> None:
    create(client)
    for kind in ("application/xml", ""):
        body = check_problem(send(client, CSV, kind), 415, "unsupported-media-type")
        assert "text/csv or application/json" in body["detail"]
    check_problem(send(client, CSV, study="wong"), 404, "study-unknown")
    assert (
        send(client, CSV, "TEXT/CSV; charset=utf-8; header=present").status_code == 200
    )


def test_an_import_over_the_limit_is_refused(database_url: str) -> None:
    app = create_app(load_settings(database_url=database_url, max_body_bytes=2000))
    with TestClient(app, LOCAL) as client:
        create(client)
        body = check_problem(
            send(client, CSV + "1.5,7,2.5,0.25,10\n" * 200), 413, "content-too-large"
        )
        assert "send less at a time" in body["detail"]


@pytest.fixture
def finished(wing: Wing) -> Wing:
    wing.tell(
        wing.job("drag"),
        failure={"kind": "infeasible", "message": 'it said "no",\nthen left'},
    )
    wing.finish()
    return wing


def test_exports_hold_what_the_lists_hold(finished: Wing) -> None:
    client = finished.client
    for what in ("samples", "steps", "front"):
        listed = (
            finished.get(f"/{what}", limit=1000)["items"]
            if what != "front"
            else finished.get("/front")["items"]
        )
        assert json.loads(fetch(client, what, "json")) == {
            "items": listed,
            "next": None,
        }
        assert len(table(fetch(client, what))) == len(listed) > 0
    row = table(fetch(client, "samples"))[0]
    first = finished.get("/samples")["items"][0]
    assert list(row) == [
        "sample",
        "step",
        "full",
        "open",
        "span",
        "ribs",
        "mass",
        "drag",
        "lift",
    ]
    assert (row["sample"], row["step"], row["full"], row["ribs"]) == (
        "1",
        "initial",
        "true",
        str(first["x"]["ribs"]),
    )
    assert float(row["span"]) == first["x"]["span"]
    assert (float(row["mass"]), row["drag"], row["lift"]) == (
        first["values"]["mass"],
        "infeasible",
        "infeasible",
    )
    assert (
        json.loads(table(fetch(client, "steps"))[0]["record"])
        == finished.get("/steps")["items"][0]["record"]
    )


def test_the_export_of_jobs_has_a_row_for_each_attempt(finished: Wing) -> None:
    rows = table(fetch(finished.client, "jobs"))
    listed = finished.get("/jobs", limit=1000)["items"]
    assert [int(row["job"]) for row in rows] == [
        job["job"] for job in listed for _ in range(max(job["attempts"], 1))
    ]
    failed = next(row for row in rows if row["failure"])
    assert (failed["objective"], failed["state"], failed["outcome"]) == (
        "drag",
        "failed",
        "failed",
    )
    assert (failed["failure"], failed["message"]) == (
        "infeasible",
        'it said "no",\nthen left',
    )
    done = next(
        row for row in rows if row["objective"] == "drag" and row["outcome"] == "done"
    )
    assert (done["worker"], done["attempt"], float(done["duration_s"])) == (
        "w",
        "1",
        0.1,
    )
    assert "lift" in json.loads(done["details"])["also"]
    assert done["leased_at"] <= done["ended_at"]
    unheld = [row for row in rows if row["state"] == "superseded"]
    assert all(
        row["attempt"] == row["worker"] == row["leased_at"] == "" for row in unheld
    )
    same = json.loads(fetch(finished.client, "jobs", "json"))["items"]
    assert [(item["job"], item["attempt"]) for item in same] == [
        (int(row["job"]), int(row["attempt"]) if row["attempt"] else None)
        for row in rows
    ]


def test_a_study_without_samples_has_empty_files(client: TestClient) -> None:
    create(client)
    for what in ("samples", "jobs", "front"):
        assert json.loads(fetch(client, what, "json")) == {"items": [], "next": None}
        assert table(fetch(client, what)) == []
    check_problem(client.get("/studies/wong/export/samples"), 404, "study-unknown")
    check_problem(client.get("/studies/wing/export/dreams"), 422, "invalid-request")
    check_problem(
        client.get("/studies/wing/export/samples", params={"format": "xls"}),
        422,
        "invalid-request",
    )


@pytest.mark.parametrize("form", ["csv", "json"])
def test_what_was_exported_can_be_imported(finished: Wing, form: str) -> None:
    """The same data set and front, in a study that then goes on."""
    client = finished.client
    create(client, name="next")
    kind = "text/csv" if form == "csv" else "application/json"
    text = fetch(client, "samples", form)
    before = table(fetch(client, "samples"))
    answer = send(client, text, kind, "next").json()
    assert (
        answer["complete"] + answer["partial"] + answer["ignored"]
        == answer["rows"]
        == len(before)
    )

    def known(rows: list[dict[str, str]]) -> set[tuple[str, ...]]:
        names = ("span", "ribs", "mass", "drag", "lift")
        told = {tuple(row[name] for name in names) for row in rows}
        return {values for values in told if any(values[2:])}

    assert known(table(fetch(client, "samples", study="next"))) == known(before)
    fronts = [
        json.loads(fetch(client, "front", "json", study))["items"]
        for study in ("wing", "next")
    ]
    points = [[(item["x"], item["values"]) for item in items] for items in fronts]
    assert points[0] == points[1]
    # Into the study that it came from, it is nothing new.
    assert (
        send(client, text, kind).json()["unchanged"]
        == answer["rows"] - answer["ignored"]
    )
    assert send(client, fetch(client, "front", form), kind).json()["unchanged"] == len(
        points[0]
    )
    client.post("/studies/next/resume")
    assert finished.plan() == 2  # the design is known: search begins at once
    assert client.get("/studies/next").json()["planned_full"] == 2


NAMES = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,8}\Z") | st.sampled_from(
    ["sample", "step", "full", "open", "x"]
)
NUMBERS = st.floats(-1e100, 1e100) | st.integers(-10, 10).map(float)


@st.composite
def studies_with_rows(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    variables = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    objectives = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    spec = {
        **SPEC,
        "variables": [
            {"name": name, "low": -1e100, "high": 1e100} for name in variables
        ],
        "objectives": [{"name": name} for name in objectives],
        "budget": 40,
        "initial_samples": 4,
    }
    row = st.fixed_dictionaries(
        {
            "x": st.fixed_dictionaries(dict.fromkeys(variables, NUMBERS)),
            "values": st.dictionaries(st.sampled_from(objectives), NUMBERS),
        }
    )
    rows: list[dict[str, Any]] = draw(st.lists(row, max_size=5))
    return spec, rows


@given(
    studies_with_rows(),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_table_is_read_as_it_was_written(
    drawn: tuple[dict[str, Any], list[dict[str, Any]]],
    end: str,
    bom: bool,
    quoted: bool,
    spaced: bool,
) -> None:
    """Whatever names (also those of the other columns), line ends, quotes and byte
    order marks.
    """
    raw, rows = drawn
    spec = parse_specification(raw)
    columns = columns_of(spec)
    text = io.StringIO()
    writer = csv.writer(
        text, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL, lineterminator=end
    )
    writer.writerow([*("sample", "step"), *columns.headings])
    for number, row in enumerate(rows):
        cells = [
            *(row["x"][name] for name in columns.variables),
            *(row["values"].get(name, "") for name in columns.objectives),
        ]
        writer.writerow(
            [number, "search:1", *(f" {cell}" if spaced else cell for cell in cells)]
        )
        text.write(end)  # a blank line
    content = (b"\xef\xbb\xbf" if bom else b"") + text.getvalue().encode()
    read = read_csv(spec, content).evaluations
    points = [tuple(row["x"][name] for name in columns.variables) for row in rows]
    assert [(one.x, one.known) for one in read] == list(
        zip(points, [row["values"] for row in rows], strict=True)
    )
    lines = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    assert [int(one.pointer.removeprefix("line ")) for one in read] == [
        number for number, line in enumerate(lines, 1) if number > 1 and line
    ]
    same = read_json(spec, json.dumps({"items": rows}).encode()).evaluations
    assert [(one.x, one.known) for one in same] == [(one.x, one.known) for one in read]


@given(st.text(), st.sampled_from([",", ";", "\t"]))
@settings(deadline=None, max_examples=200)
def test_no_text_breaks_the_reader(text: str, separator: str) -> None:
    spec = parse_specification(SPEC)
    for content in (
        text,
        separator.join(["span", "ribs", text, text]),
        f"span,ribs,mass\n{text}",
    ):
        for read in (read_csv, read_json):
            reading = read(spec, content.encode(errors="surrogatepass"))
            assert all(
                1.0 <= one.x[0] <= 2.0 and 3 <= one.x[1] <= 40
                for one in reading.evaluations
            )
            assert all(
                fault.pointer.startswith(("line ", "#")) and fault.detail
                for fault in reading.faults
            )


def fill(database: Database, count: int) -> None:
    """Many samples with a job each, as fast as a database takes them."""

    def work(connection: Any) -> None:
        study = connection.execute(studies.select()).one().id
        for start in range(0, count, 2_000):
            x = [[1.0 + number / count, 7] for number in range(start, start + 2_000)]
            shared = {
                "study_id": study,
                "full": True,
                "open": 1,
                "created_at": 0.0,
                "imported_seq": 1,
            }
            connection.execute(
                insert(samples),
                [{**shared, "x": each, "point": point_hash(each)} for each in x],
            )
            job = {"study_id": study, "objective_id": 1, "cheap_only": False, "step": 0}
            rows = [{**job, "sample_id": start + 1 + number} for number in range(2_000)]
            connection.execute(insert(jobs), rows)

    database.write(work)


def peak(parts: Iterator[str]) -> tuple[int, int]:
    """How many lines, and the most memory that Python held meanwhile, in bytes."""
    tracemalloc.start()
    try:
        lines = sum(part.count("\r\n") for part in parts)
        return lines, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "count",
    [6_000, pytest.param(1_000_000, marks=[pytest.mark.slow, pytest.mark.timeout(0)])],
)
def test_an_export_of_many_rows_holds_a_page(
    client: TestClient, database: Database, count: int
) -> None:
    create(client)
    fill(database, count)
    lines, most = peak(export(database, "wing", "samples", "csv"))
    assert lines == count + 1
    assert most < 8e6  # a page is 4 MB
    if count > 6_000:
        assert peak(export(database, "wing", "jobs", "csv"))[1] < 20e6


def test_an_export_holds_no_connection_while_its_reader_is_slow(
    client: TestClient, database: Database
) -> None:
    create(client)
    fill(database, 4_000)
    # The pool has ten
    readers = [export(database, "wing", "samples", "csv") for _ in range(30)]
    for _ in range(3):
        assert all(next(reader) for reader in readers)
    for reader in readers:
        reader.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize("filled", [False, True])
def test_an_export_never_goes_on_in_another_study_of_the_same_name(
    client: TestClient,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    form: Literal["csv", "json"],
    filled: bool,
) -> None:
    monkeypatch.setattr("app.service.files.export.PAGE", 1)
    create(client)
    send(client, CSV)
    parts = export(database, "wing", "samples", form)
    assert next(parts)
    assert client.delete("/studies/wing").status_code == 204
    create(client, budget=99)
    if filled:
        send(client, CSV)
    with pytest.raises(StateChanged, match="created again"):
        list(parts)
