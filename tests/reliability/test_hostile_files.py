"""Whatever a file of evaluations holds: every bad cell is named and no row is taken, or all come back exactly."""

import csv
import io
import json
from typing import Any, NamedTuple

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.store.database import Database
from tests.api.wing import SPEC
from tests.reliability.untouched import check_refusal, untouched

LONG = pytest.param(500, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])
SPAN_LOW = 1.0


class Cell(NamedTuple):
    text: str
    means: float | str | None  # a value; None: nothing is said; a word: it is bad


BAD = "bad"
GOOD = ["0.1", "5e-324", "-5e-324", "1e100", "-1e100", "1e23", "1e-400", "+1.5", "1.", ".5", "007", " 2 ", "1" * 50]
WRONG = ["NaN", "inf", "-Infinity", "1e101", "1e309", "9" * 400, "true", "1,5", "0x10", "1_000", "\u0661", "2 3", '"']
WRONG += ["null", "=1+1", "1e", "e5", "\x00", "\u202e1", "\ufeff1", "-", "½"]
CELLS = [*(Cell(text, float(text)) for text in GOOD), *(Cell(text, BAD) for text in WRONG)]
CELLS += [Cell("", None), Cell("   ", None), Cell("-0.0", 0.0), Cell("-0", 0.0)]
ROWS = st.lists(st.tuples(st.sampled_from(CELLS), st.sampled_from(CELLS)), min_size=1, max_size=4)
# Mostly good ones, or hardly a file would be taken.
SANE = st.sampled_from([cell for cell in CELLS if cell.means != BAD])
TABLES = ROWS | st.lists(st.tuples(SANE, SANE), min_size=1, max_size=6)


class Files:
    """A study that takes files; each row has a point of its own."""

    def __init__(self, client: TestClient, database: Database) -> None:
        self.client, self.database, self.rows = client, database, 0
        spec = {**SPEC, "objectives": [{"name": "mass"}, {"name": "drag"}]}
        assert client.post("/studies", json=spec, params={"paused": True}).status_code == 201

    def send(self, content: bytes, kind: str = "text/csv", **query: Any) -> Response:
        headers = {"Content-Type": kind}
        return self.client.post("/studies/wing/import", content=content, params=query, headers=headers)

    def refused(self, content: bytes, kind: str = "text/csv") -> list[str]:
        """The places of all faults; neither a dry run nor an import changes anything."""
        with untouched(self.database):
            first, second = (check_refusal(self.send(content, kind, dry_run=dry)) for dry in (True, False))
        assert first["errors"] == second["errors"]
        return [fault["pointer"] for fault in second["errors"]]

    def point(self) -> float:
        self.rows += 1
        return SPAN_LOW + self.rows / 2**20

    def check(self, wanted: dict[float, dict[str, float]]) -> None:
        exported = self.client.get("/studies/wing/export/samples", params={"format": "json"}).json()["items"]
        found = {item["x"]["span"]: item["values"] for item in exported}
        assert {span: repr(found.get(span)) for span in wanted} == {span: repr(v) for span, v in wanted.items()}
        table = csv.DictReader(io.StringIO(self.client.get("/studies/wing/export/samples").text, newline=""))
        written = {float(row["span"]): row for row in table}
        for span, values in wanted.items():
            assert {name: written[span][name] for name in values} == {name: repr(v) for name, v in values.items()}


@pytest.fixture
def files(client: TestClient, database: Database) -> Files:
    return Files(client, database)


@pytest.mark.parametrize("examples", [25, LONG])
def test_a_table_is_refused_with_every_fault_or_taken_to_the_last_bit(files: Files, examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(TABLES, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), st.booleans(), st.booleans())
    def attack(table: list[tuple[Cell, Cell]], end: str, bom: bool, quoted: bool, ends: bool) -> None:
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL, lineterminator=end)
        writer.writerow(["span", "ribs", "mass", "drag"])
        places, wanted = list[str](), dict[float, dict[str, float]]()
        for line, (mass, drag) in enumerate(table, 2):
            span = files.point()
            writer.writerow([span, 7, mass.text, drag.text])
            told = {"mass": mass, "drag": drag}
            places += [f"line {line}, {name}" for name, cell in told.items() if cell.means == BAD]
            values = {name: cell.means for name, cell in told.items() if isinstance(cell.means, float)}
            wanted |= {span: values} if values else {}
        content = text.getvalue() if ends else text.getvalue().removesuffix(end)
        body = (b"\xef\xbb\xbf" if bom else b"") + content.encode()
        if places:
            assert files.refused(body) == places
        else:
            assert files.send(body).json()["rows"] == len(table)
            files.check(wanted)
            with untouched(files.database):  # the same again is nothing new
                assert files.send(body).status_code == 200

    attack()


HEAD, ROW = b"span,ribs,mass,drag\n", b"1.5,7,2.5,0.25\n"
BROKEN = {
    b"": "line 1",
    b"\xef\xbb\xbf": "line 1",
    b"\r\n\r\n": "line 1",
    b"1.5,7,2.5,0.25\n": "line 1, 1.5",
    HEAD + ROW + b"1.6,7,2.": "line 3",  # cut off
    HEAD + ROW + b'1.6,7,2.5,"0.2': "line 3",
    HEAD + ROW + b"1.6,7,2.5,0.25,1\n": "line 3",
    HEAD + b"1.6,7,2.5,\xff\n": "line 2",
    b"\xff\xfe" + (HEAD + ROW).decode().encode("utf-16-le"): "line 1",
    b"span,ribs,mass,mass\n" + ROW: "line 1, mass",
    b"span,ribs,mass,\xf0\x9f\x98\x80\n" + ROW: "line 1, \U0001f600",
    b"span,ribs,mass,\xe2\x80\xaegard\n" + ROW: "line 1, \u202egard",
    HEAD.replace(b",", b";") + ROW: "line 1",
    HEAD + b"1.5,7," + b"9" * 200_000 + b",1\n": "line 2",
    b"\x1f\x8b\x08\x00": "line 1",
}


def test_a_broken_table_is_said_to_be_so_where_it_is(files: Files) -> None:
    for content, place in BROKEN.items():
        assert files.refused(content)[0] == place, content[:80]


X = '"x": {"span": 1.5, "ribs": 7}'
BROKEN_JSON = {
    "": "#",
    "{}": "#",
    "null": "#",
    f"[{{{X}}}": "#",  # cut off
    "[" * 100_000: "#",
    f'[{{{X}, "values": {{"mass": 1{"0" * 5000}}}}}]': "#",
    f'[{{{X}, "values": {{"mass": 1{"0" * 400}}}}}]': "#/0/values/mass",
    f'[{{{X}, "values": {{"mass": NaN}}}}]': "#/0/values/mass",
    f'[{{{X}, "values": {{"mass": true}}}}]': "#/0/values/mass",
    f'[{{{X}, "values": {{"mass": "1.5"}}}}]': "#/0/values/mass",
    f'[{{{X}, "values": {{"mass": [[[]]]}}}}]': "#/0/values/mass",
    f'[{{{X}}}, {{{X}, "values": {{"mass": 1, "mass": 2}}}}]': "#/1/values",
    '[{"x": {"span": 1.5, "span": 1.6, "ribs": 7}}]': "#/0/x",
    f'[{{{X}, {X}, "values": {{"mass": 1}}}}]': "#/0",
    f'{{"items": [{{{X}}}], "items": []}}': "#",
    f'[{{{X}, "values": {{"\\ud800": 1}}}}]': "#/0/values/?",
    '[{"x": {"span": 1.5, "ribs": 7.5}}]': "#/0/x/ribs",
    '[{"x": {"span": 1e400, "ribs": 7}}]': "#/0/x/span",
    f'[{{{X}, "values": {{"mass": 1}}}}, 3]': "#/1",
}


def test_broken_json_is_said_to_be_so_where_it_is(files: Files) -> None:
    for content, place in BROKEN_JSON.items():
        assert files.refused(content.encode(), "application/json")[0] == place, content[:80]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_hundred_thousand_rows(files: Files) -> None:
    """One bad one at the end refuses all of them; without it all are there."""
    spans = [1.0 + number / 2**17 for number in range(100_000)]
    good = HEAD + "".join(f"{span!r},7,{-span!r},\n" for span in spans).encode()
    assert files.refused(good + b"1.5,7,NaN,\n") == ["line 100002, mass"]
    assert files.send(good).json()["rows"] == len(spans)
    files.check({span: {"mass": -span} for span in spans})


def test_json_of_every_kind_is_taken_to_the_last_bit(files: Files) -> None:
    told = [5e-324, -5e-324, 1e100, 1e23, 10**22, 2**53 + 1, 0.1, 1234567890123456789]
    rows = [{"x": {"span": files.point(), "ribs": 7}, "values": {"mass": value}} for value in told]
    assert files.send(json.dumps({"items": rows}).encode(), "application/json").json()["rows"] == len(told)
    files.check({row["x"]["span"]: {"mass": float(row["values"]["mass"])} for row in rows})
