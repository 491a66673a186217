"""Whatever a worker tells is refused without any change, or returned to the last bit by
every list and file.
"""

import csv
import gzip
import io
import itertools
import json
import struct
from contextlib import nullcontext
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.store.database import Database
from tests.api.wing import SPEC, Wing
from tests.reliability.input.refusals import check_refusal
from tests.reliability.input.stored_rows import all_rows, unchanged
from tests.reliability.input.value_texts import (
    ANY_NUMBER_TEXT,
    ANY_TEXT,
    NOT_JSON,
    NOT_NUMBERS,
    NUL,
    NUMBERS,
    as_stored,
    is_plain,
    is_storable,
    is_value,
)

JSON = {"Content-Type": "application/json"}
LONG = pytest.param(900, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])
REUSED_FIXTURE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def bits(value: float) -> bytes:
    return struct.pack(">d", float(value))


def stored_bits(text: str) -> bytes:
    """Negative zero is stored as zero."""
    return bits(float(json.loads(text)) + 0.0)


class Worker:
    """Holds a job of `drag`, which takes two values; gets a new one when it is told."""

    def __init__(
        self,
        client: TestClient,
        database: Database,
        jobs: int,
    ) -> None:
        self.client = client
        self.wing = Wing(
            client, database, {**SPEC, "budget": 2000, "initial_samples": jobs}
        )
        assert client.post("/studies", json=self.wing.spec).status_code == 201
        self.wing.plan()
        self.told: dict[int, tuple[bytes, bytes]] = {}  # by sample: drag, lift
        self.take_job()

    def take_job(self) -> None:
        self.job = self.wing.job("drag")
        self.rows = all_rows(self.wing.database)

    def tell(self, value: str, also: str) -> None:
        lease = f'"job": {self.job["job"]}, "lease": "{self.job["lease"]}"'
        body = f'{{{lease}, "value": {value}, "also": {{"lift": {also}}}}}'.encode()
        response = self.client.post("/tell", content=body, headers=JSON)
        if not (is_value(value) and is_value(also)):
            problem = check_refusal(response)
            places = {fault["pointer"] for fault in problem["errors"]}
            assert places <= {"#", "#/value", "#/also/lift"}
            assert all_rows(self.wing.database) == self.rows
            return
        assert (response.status_code, response.json()["state"]) == (200, "done"), (
            response.text
        )
        self.told[self.job["sample"]] = (stored_bits(value), stored_bits(also))
        repeated = self.client.post("/tell", content=body, headers=JSON)
        assert repeated.json() == response.json()
        self.take_job()

    def check(self) -> None:
        """Every list and every file has the same values."""
        self.check_samples(self.wing.get("/samples", limit=1000)["items"])
        self.check_samples(exported_items(self.client, "samples"))
        text = self.client.get("/studies/wing/export/samples").text
        table = csv.DictReader(io.StringIO(text, newline=""))
        self.check_samples([{"sample": row["sample"], "values": row} for row in table])
        self.check_jobs(self.wing.get("/jobs", limit=1000, objective="drag")["items"])
        self.check_attempts(exported_items(self.client, "jobs"))

    def check_samples(self, items: list[dict[str, Any]]) -> None:
        returned = {}
        for item in items:
            drag = item["values"].get("drag")
            lift = item["values"].get("lift")
            if drag not in (None, ""):
                returned[int(item["sample"])] = (bits(drag), bits(lift))
        assert returned == self.told

    def check_jobs(self, items: list[dict[str, Any]]) -> None:
        done = [job for job in items if job["value"] is not None]
        returned = {job["sample"]: bits(job["value"]) for job in done}
        assert returned == {sample: drag for sample, (drag, _) in self.told.items()}

    def check_attempts(self, items: list[dict[str, Any]]) -> None:
        returned = {}
        for item in items:
            if item["outcome"] == "done":
                also = item["details"]["also"]
                returned[item["sample"]] = bits(also["lift"])
        assert returned == {sample: lift for sample, (_, lift) in self.told.items()}


def exported_items(client: TestClient, table: str) -> list[dict[str, Any]]:
    response = client.get(f"/studies/wing/export/{table}", params={"format": "json"})
    items: list[dict[str, Any]] = response.json()["items"]
    return items


@pytest.mark.parametrize("examples", [15, LONG])
def test_value_is_refused_or_kept_to_the_last_bit(
    client: TestClient, database: Database, examples: int
) -> None:
    worker = Worker(client, database, jobs=len(NUMBERS) + examples + 1)
    for text in [*NOT_NUMBERS, *NOT_JSON, *NUMBERS]:
        worker.tell(text, text)

    @settings(
        max_examples=examples, deadline=None, suppress_health_check=REUSED_FIXTURE
    )
    @given(ANY_NUMBER_TEXT, ANY_NUMBER_TEXT)
    @example("1.5", "NaN")
    def tell(value: str, also: str) -> None:
        worker.tell(value, also)

    tell()
    worker.check()


def test_extreme_values_reach_the_front(wing: Wing) -> None:
    """Subnormal and huge values dominate as their order says; the sign of zero makes no
    difference.
    """
    values = [(5e-324, 1e100), (-0.0, -1e100), (-5e-324, -1e100), (1e100, 1e100)]
    for mass, drag in values:
        assert wing.tell(wing.job("mass"), value=mass).status_code == 200
        assert (
            wing.tell(wing.job("drag"), value=drag, also={"lift": -0.0}).status_code
            == 200
        )
    (best,) = wing.get("/front")["items"]
    assert bits(best["values"]["mass"]) == bits(-5e-324)
    assert bits(best["values"]["drag"]) == bits(-1e100)


@settings(max_examples=20, deadline=None, suppress_health_check=REUSED_FIXTURE)
@given(ANY_TEXT)
def test_worker_name_is_refused_or_kept(wing: Wing, name: str) -> None:
    body = {"worker": name, "studies": ["wong"], "objectives": ["*"]}
    before = all_rows(wing.database)
    response = wing.client.post("/ask", content=json.dumps(body).encode(), headers=JSON)
    if not (1 <= len(name) <= 200 and is_storable(name) and is_plain(name)):
        assert [fault["pointer"] for fault in check_refusal(response)["errors"]] == [
            "#/worker"
        ]
        assert all_rows(wing.database) == before
        return
    assert response.json()["reason"] == "no_such_study"
    workers = wing.client.get("/workers", params={"limit": 1000}).json()["items"]
    assert name in [worker["worker"] for worker in workers]
    for change in ("drain", "undrain"):  # in the end the name can be used again
        changed = wing.client.post(f"/workers/{change}", json={"worker": name})
        assert changed.json()["worker"] == name


METADATA = st.dictionaries(
    ANY_TEXT,
    ANY_TEXT | st.integers(-(10**30), 10**30) | st.booleans() | st.none(),
    max_size=3,
)


@settings(max_examples=10, deadline=None, suppress_health_check=REUSED_FIXTURE)
@given(ANY_TEXT, METADATA)
def test_message_and_metadata_are_refused_or_kept(
    wing: Wing, message: str, metadata: dict[str, Any]
) -> None:
    """A failure is never refused for its message: what no database stores is replaced."""
    job = wing.job("mass")
    failure = {"kind": "error", "message": message}
    body = {
        "job": job["job"],
        "lease": job["lease"],
        "metadata": metadata,
        "failure": failure,
    }
    values = [value for value in metadata.values() if isinstance(value, str)]
    storable = all(is_storable(text) for text in [*metadata, *values])
    with nullcontext() if storable else unchanged(wing.database):
        response = wing.client.post(
            "/tell", content=json.dumps(body).encode(), headers=JSON
        )
    if not storable:
        assert check_refusal(response)["errors"][0]["pointer"].startswith("#/metadata")
        wing.client.post("/release", json={"leases": [job["lease"]]})
        return
    assert response.status_code == 200, response.text
    exported = exported_items(wing.client, "jobs")
    of_job = {item["attempt"]: item for item in exported if item["job"] == job["job"]}
    attempt = of_job[job["attempt"]]
    assert attempt["message"] == as_stored(message)
    assert (attempt["details"] or {}).get("metadata", {}) == metadata
    wing.client.post("/studies/wing/retry")


UNREADABLE = {
    "empty": b"",
    "a byte order mark only": b"\xef\xbb\xbf",
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "deep and closed": b"[" * 5000 + b"]" * 5000,
    "a number of 5000 digits": b'{"job": 1' + b"0" * 5000 + b"}",
    "cut off": b'{"worker": "w", "studies": ["wing"], "objec',
    "a NUL": b'{"worker": "' + NUL.encode() + b'"}',
    "another encoding": '{"worker": "ä"}'.encode("latin-1"),
    "compressed": gzip.compress(
        b'{"worker": "w", "studies": ["wing"], "objectives": ["*"]}'
    ),
    "many megabytes": b'"' + b"a" * 9_000_000 + b'"',
    "a form": b"worker=w&studies=wing",
}
BODY_OPTIONAL = ["/studies/wing/retry", "/studies/wing/stop"]
BODY_REQUIRED = [
    *("/ask", "/tell", "/heartbeat", "/release", "/studies", "/workers/drain"),
    *("/studies/wing/import", "/studies/wing/extend"),
]


def test_unreadable_body_changes_nothing(wing: Wing) -> None:
    with unchanged(wing.database):
        for path, (name, content) in itertools.product(
            [*BODY_REQUIRED, *BODY_OPTIONAL], UNREADABLE.items()
        ):
            if name == "empty" and path in BODY_OPTIONAL:
                continue
            headers = (
                {**JSON, "Content-Encoding": "gzip"} if name == "compressed" else JSON
            )
            problem = check_refusal(
                wing.client.post(path, content=content, headers=headers)
            )
            assert (problem["status"] == 413) == (name == "many megabytes"), problem


def test_list_of_tells_records_the_good_items(wing: Wing) -> None:
    """NaN beside a value: one item is refused by its place, the other recorded."""
    good, bad = wing.ask("mass", max_jobs=2)["jobs"]
    items = []
    for job, value in ((bad, "NaN"), (good, "1.5")):
        items.append(
            f'{{"job": {job["job"]}, "lease": "{job["lease"]}", "value": {value}}}'
        )
    content = f"[{', '.join(items)}]".encode()
    responses = wing.client.post("/tell", content=content, headers=JSON).json()
    assert [response["status"] for response in responses] == [422, 200]
    assert responses[0]["detail"].startswith("#/0/value: ")
    jobs = {job["job"]: job for job in wing.get("/jobs")["items"]}
    assert jobs[bad["job"]]["state"] == "leased"
    assert jobs[bad["job"]]["value"] is None
    assert jobs[good["job"]]["state"] == "done"
    assert jobs[good["job"]]["value"] == 1.5
    samples = wing.get("/samples")["items"]
    assert [sample["values"] for sample in samples if sample["values"]] == [
        {"mass": 1.5}
    ]
