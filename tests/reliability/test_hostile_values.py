"""Whatever a worker tells: it is refused and nothing changes, or it comes back to the last bit, everywhere."""

import csv
import gzip
import io
import itertools
import json
import math
import struct
from contextlib import nullcontext
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.store.database import Database
from tests.api.wing import SPEC, Wing
from tests.reliability.untouched import check_refusal, everything, untouched

JSON = {"Content-Type": "application/json"}
HALF, NUL = "\ud800", "\x00"
# As they stand in a body: what Python's own JSON would never write.
NO_NUMBERS = ["NaN", "Infinity", "-Infinity", "1e309", "1e308", "-1.1e100", "1" + "0" * 400, "-1" + "0" * 400]
NO_NUMBERS += ["true", "null", '"1.5"', '""', "[]", "[1.5]", "{}", '"NaN"', '"\\ud800"']
NO_JSON = ["01", "1.", ".5", "+1", "0x10", "1_000", "1,5", "", "nan", "None", "1e", "--1", "1" + "0" * 5000]
NUMBERS = ["0", "-0", "-0.0", "5e-324", "-5e-324", "2.2250738585072014e-308", "1e-400", "1e100", "-1e100", "1e23"]
NUMBERS += ["0.1", "1E2", str(2**53 + 1), "1234567890123456789", "1.2345678901234567e18", "1" + "0" * 100]
TOLD = st.sampled_from([*NO_NUMBERS, *NO_JSON, *NUMBERS]) | st.floats().map(json.dumps) | st.integers().map(str)
LONG = pytest.param(900, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])
REUSING = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def bits(value: float) -> bytes:
    return struct.pack(">d", float(value))


def is_value(text: str) -> bool:
    """Can this be told? By a rule of its own, not by the server's."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e100 <= value <= 1e100


def as_kept(text: str) -> bytes:
    """Negative zero is zero."""
    return bits(float(json.loads(text)) + 0.0)


class Worker:
    """Has a job of `drag`, which takes two values; a new one when that is told."""

    def __init__(self, client: TestClient, database: Database, jobs: int) -> None:
        self.wing = Wing(client, database, {**SPEC, "budget": 2000, "initial_samples": jobs})
        assert client.post("/studies", json=self.wing.spec).status_code == 201
        self.wing.plan()
        self.told: dict[int, tuple[bytes, bytes]] = {}
        self.next()

    def next(self) -> None:
        self.job = self.wing.job("drag")
        self.before = everything(self.wing.database)

    def tell(self, value: str, also: str) -> None:
        said = f'"job": {self.job["job"]}, "lease": "{self.job["lease"]}", "value": {value}, "also": {{"lift": {also}}}'
        body = f"{{{said}}}"
        answer = self.wing.client.post("/tell", content=body.encode(), headers=JSON)
        if not (is_value(value) and is_value(also)):
            problem = check_refusal(answer)
            places = {fault["pointer"] for fault in problem["errors"]}
            assert places <= {"#", "#/value", "#/also/lift"}
            assert everything(self.wing.database) == self.before
            return
        assert answer.json()["detail"] == "recorded", answer.text
        self.told[self.job["sample"]] = (as_kept(value), as_kept(also))
        again = self.wing.client.post("/tell", content=body.encode(), headers=JSON)
        assert again.json() == answer.json()
        self.next()

    def check(self) -> None:
        """Every list and every file says the same."""
        client = self.wing.client

        def same(items: Any) -> None:
            found = {int(item["sample"]): item["values"] for item in items if item["values"]}
            assert {one: (bits(v["drag"]), bits(v["lift"])) for one, v in found.items()} == self.told

        same(self.wing.get("/samples", limit=1000)["items"])
        same(client.get("/studies/wing/export/samples", params={"format": "json"}).json()["items"])
        table = csv.DictReader(io.StringIO(client.get("/studies/wing/export/samples").text, newline=""))
        same([{"sample": row["sample"], "values": row if row["drag"] else {}} for row in table])
        jobs = [
            job for job in self.wing.get("/jobs", limit=1000, objective="drag")["items"] if job["value"] is not None
        ]
        assert {job["sample"]: bits(job["value"]) for job in jobs} == {one: v[0] for one, v in self.told.items()}
        exported = client.get("/studies/wing/export/jobs", params={"format": "json"}).json()["items"]
        done = {item["sample"]: item for item in exported if item["outcome"] == "done"}
        assert {one: bits(item["details"]["also"]["lift"]) for one, item in done.items()} == {
            one: v[1] for one, v in self.told.items()
        }


@pytest.mark.parametrize("examples", [15, LONG])
def test_a_value_is_refused_or_kept_to_the_last_bit(client: TestClient, database: Database, examples: int) -> None:
    worker = Worker(client, database, jobs=len(NUMBERS) + examples + 1)
    for text in [*NO_NUMBERS, *NO_JSON, *NUMBERS]:
        worker.tell(text, text)

    @settings(max_examples=examples, deadline=None, suppress_health_check=REUSING)
    @given(TOLD, TOLD)
    @example("1.5", "NaN")
    def attack(value: str, also: str) -> None:
        worker.tell(value, also)

    attack()
    worker.check()


def test_extreme_values_reach_the_front(wing: Wing) -> None:
    """Subnormal and huge, and of equal ones the sign of zero decides nothing."""
    values = [("5e-324", "1e100"), ("-0.0", "-1e100"), ("-5e-324", "-1e100"), ("1e100", "1e100")]
    for mass, drag in values:
        for name, value in (("mass", mass), ("drag", drag)):
            also = {"lift": -0.0} if name == "drag" else {}
            assert wing.tell(wing.job(name), value=json.loads(value), also=also).status_code == 200
    found = [(bits(item["values"]["mass"]), bits(item["values"]["drag"])) for item in wing.get("/front")["items"]]
    assert found == [(bits(-5e-324), bits(-1e100))]


ODD = ["e\u0301", "\u00e9", "\u202eabc", "👩\u200d👧", "\ufeff", "a" * 200, "a" * 201, "ß" * 200, NUL, f"a{NUL}"]
ODD += [HALF, "\udfff\ud800", " ", "\n", "\u2028", "\U0010ffff", "'; DROP TABLE jobs; --", "%s", "{0}", "*", "\\u0000"]
TEXTS = st.sampled_from(ODD) | st.text(max_size=250)


def is_storable(text: str) -> bool:
    """No database keeps a NUL, or half a surrogate pair."""
    return NUL not in text and text == text.encode(errors="replace").decode()


@settings(max_examples=20, deadline=None, suppress_health_check=REUSING)
@given(TEXTS)
def test_a_workers_name_is_refused_or_kept_as_given(wing: Wing, name: str) -> None:
    body = {"worker": name, "studies": ["wong"], "objectives": ["*"]}
    before = everything(wing.database)
    answer = wing.client.post("/ask", content=json.dumps(body).encode(), headers=JSON)
    if 1 <= len(name) <= 200 and is_storable(name):
        assert answer.json()["reason"] == "no_such_study"
        assert name in [each["worker"] for each in wing.client.get("/workers", params={"limit": 1000}).json()["items"]]
        assert wing.client.post("/workers/drain", json={"worker": name}).json()["worker"] == name
    else:
        assert [fault["pointer"] for fault in check_refusal(answer)["errors"]] == ["#/worker"]
        assert everything(wing.database) == before


@settings(max_examples=10, deadline=None, suppress_health_check=REUSING)
@given(TEXTS, st.dictionaries(TEXTS, TEXTS | st.integers(-(10**30), 10**30) | st.booleans() | st.none(), max_size=3))
def test_words_of_a_worker_are_refused_or_kept_as_given(wing: Wing, message: str, metadata: dict[str, Any]) -> None:
    """A failure is never refused for its message: what no database keeps is replaced."""
    job = wing.job("mass")
    said = {"job": job["job"], "lease": job["lease"], "metadata": metadata}
    content = json.dumps({**said, "failure": {"kind": "error", "message": message}}).encode()
    storable = all(map(is_storable, [*metadata, *(each for each in metadata.values() if isinstance(each, str))]))
    with nullcontext() if storable else untouched(wing.database):
        answer = wing.client.post("/tell", content=content, headers=JSON)
    if not storable:
        assert check_refusal(answer)["errors"][0]["pointer"].startswith("#/metadata")
        wing.client.post("/release", json={"leases": [job["lease"]]})
        return
    assert answer.status_code == 200, answer.text
    exported = wing.client.get("/studies/wing/export/jobs", params={"format": "json"}).json()["items"]
    (mine,) = [item for item in exported if item["job"] == job["job"] and item["attempt"] == job["attempt"]]
    assert mine["message"] == message.replace(NUL, "\ufffd").encode(errors="replace").decode()
    assert (mine["details"] or {}).get("metadata", {}) == metadata
    wing.client.post("/studies/wing/retry")


UNREADABLE = {
    "empty": b"",
    "a byte order mark only": b"\xef\xbb\xbf",
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "deep and closed": b"[" * 5000 + b"]" * 5000,
    "a number of 5000 digits": b'{"job": 1' + b"0" * 5000 + b"}",
    "cut off": b'{"worker": "w", "studies": ["wing"], "objec',
    "a NUL": b'{"worker": "\x00"}',
    "another encoding": '{"worker": "ä"}'.encode("latin-1"),
    "compressed": gzip.compress(b'{"worker": "w", "studies": ["wing"], "objectives": ["*"]}'),
    "many megabytes": b'"' + b"a" * 9_000_000 + b'"',
    "a form": b"worker=w&studies=wing",
}
PATHS = ["/ask", "/tell", "/heartbeat", "/release", "/studies", "/workers/drain", "/studies/wing/import"]
PATHS += [f"/studies/wing/{verb}" for verb in ("extend", "retry", "stop")]


def test_what_cannot_be_read_changes_nothing(wing: Wing) -> None:
    with untouched(wing.database):
        for path, (what, content) in itertools.product(PATHS, UNREADABLE.items()):
            if path.endswith(("retry", "stop")) and what == "empty":
                continue  # a body is not needed there
            headers = {**JSON, "Content-Encoding": "gzip"} if what == "compressed" else JSON
            problem = check_refusal(wing.client.post(path, content=content, headers=headers))
            assert (problem["status"] == 413) == (what == "many megabytes"), problem


def test_a_list_of_tells_takes_the_good_ones(wing: Wing) -> None:
    """NaN beside a value: one is recorded, the other refused by its place."""
    good, bad = wing.ask("mass", max_jobs=2)["jobs"]
    items = [f'{{"job": {j["job"]}, "lease": "{j["lease"]}", "value": {v}}}' for j, v in ((bad, "NaN"), (good, "1.5"))]
    answer = wing.client.post("/tell", content=f"[{', '.join(items)}]".encode(), headers=JSON).json()
    assert [one["status"] for one in answer] == [422, 200]
    assert answer[0]["detail"].startswith("#/0/value: ")
    states = {job["job"]: (job["state"], job["value"]) for job in wing.get("/jobs")["items"]}
    assert (states[bad["job"]], states[good["job"]]) == (("leased", None), ("done", 1.5))
    assert not math.isnan(wing.get("/samples")["items"][0]["values"].get("mass", 0.0))
