"""A file of evaluations is refused with every bad cell named, or imported and exported
to the last bit.
"""

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
from tests.reliability.input.refusals import check_refusal
from tests.reliability.input.stored_rows import unchanged

LONG = pytest.param(500, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])
SPAN_LOW = 1.0
CSV = "text/csv"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Cell(NamedTuple):
    text: str
    value: float | None = None  # None: an empty cell, or a bad one
    is_bad: bool = False


NUMBERS = [
    "0.1",
    "5e-324",
    "-5e-324",
    "1e100",
    "-1e100",
    "1e23",
    "1e-400",
    "+1.5",
    "1.",
    ".5",
    "007",
    " 2 ",
    "1" * 50,
]
NOT_NUMBERS = [
    *(
        "NaN",
        "inf",
        "-Infinity",
        "1e101",
        "1e309",
        "9" * 400,
        "true",
        "1,5",
        "0x10",
        "1_000",
        "\u0661",
        "2 3",
        '"',
    ),
    *("null", "=1+1", "1e", "e5", "\x00", "\u202e1", "\ufeff1", "-", "½"),
]
BAD_CELLS = [Cell(text, is_bad=True) for text in NOT_NUMBERS]
GOOD_CELLS = [
    *(Cell(text, float(text)) for text in NUMBERS),
    *(Cell("-0.0", 0.0), Cell("-0", 0.0), Cell(""), Cell("   ")),
]
ANY_CELL = st.sampled_from([*GOOD_CELLS, *BAD_CELLS])
GOOD_CELL = st.sampled_from(GOOD_CELLS)
Table = list[tuple[Cell, Cell]]  # mass, drag
# Half of the tables have good cells only, else hardly any file would be imported.
ANY_TABLE = st.lists(st.tuples(ANY_CELL, ANY_CELL), min_size=1, max_size=4)
GOOD_TABLE = st.lists(st.tuples(GOOD_CELL, GOOD_CELL), min_size=1, max_size=6)


class Layout(NamedTuple):
    """How a table is written."""

    line_end: str
    has_mark: bool
    is_quoted: bool
    ends_with_line_end: bool

    def dialect(self) -> type[csv.Dialect]:
        class Written(csv.excel):
            lineterminator = self.line_end
            quoting = csv.QUOTE_ALL if self.is_quoted else csv.QUOTE_MINIMAL

        return Written


LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
LAYOUTS = st.builds(Layout, LINE_ENDS, st.booleans(), st.booleans(), st.booleans())


class Importer:
    """A study that imports files; each row has a point of its own."""

    def __init__(self, client: TestClient, database: Database) -> None:
        self.client = client
        self.database = database
        self.rows = 0
        spec = {**SPEC, "objectives": [{"name": "mass"}, {"name": "drag"}]}
        assert (
            client.post("/studies", json=spec, params={"paused": True}).status_code
            == 201
        )

    def send(self, content: bytes, kind: str = CSV, **query: Any) -> Response:
        headers = {"Content-Type": kind}
        return self.client.post(
            "/studies/wing/import", content=content, params=query, headers=headers
        )

    def refused_places(self, content: bytes, kind: str = CSV) -> list[str]:
        """The places of all faults; neither a dry run nor an import changes anything."""
        with unchanged(self.database):
            dry_run = check_refusal(self.send(content, kind, dry_run=True))
            real = check_refusal(self.send(content, kind, dry_run=False))
        assert dry_run["errors"] == real["errors"]
        return [fault["pointer"] for fault in real["errors"]]

    def new_span(self) -> float:
        self.rows += 1
        return SPAN_LOW + self.rows / 2**20

    def check_exports(self, expected: dict[float, dict[str, float]]) -> None:
        export = "/studies/wing/export/samples"
        items = self.client.get(export, params={"format": "json"}).json()["items"]
        in_json = {item["x"]["span"]: item["values"] for item in items}
        table = csv.DictReader(io.StringIO(self.client.get(export).text, newline=""))
        in_table = {float(row["span"]): row for row in table}
        for span, values in expected.items():
            assert repr(in_json[span]) == repr(values)
            for name, value in values.items():
                assert in_table[span][name] == repr(value)


@pytest.fixture
def importer(client: TestClient, database: Database) -> Importer:
    return Importer(client, database)


def write_table(table: Table, spans: list[float], layout: Layout) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, layout.dialect())
    writer.writerow(["span", "ribs", "mass", "drag"])
    for span, (mass, drag) in zip(spans, table, strict=True):
        writer.writerow([span, 7, mass.text, drag.text])
    content = text.getvalue()
    if not layout.ends_with_line_end:
        content = content.removesuffix(layout.line_end)
    return (BYTE_ORDER_MARK if layout.has_mark else b"") + content.encode()


def bad_places(table: Table) -> list[str]:
    places = []
    for line, (mass, drag) in enumerate(table, 2):
        for name, cell in (("mass", mass), ("drag", drag)):
            if cell.is_bad:
                places.append(f"line {line}, {name}")
    return places


def values_of(mass: Cell, drag: Cell) -> dict[str, float]:
    values = {"mass": mass.value, "drag": drag.value}
    return {name: value for name, value in values.items() if value is not None}


@pytest.mark.parametrize("examples", [25, LONG])
def test_table_is_refused_with_every_fault_or_kept_to_the_last_bit(
    importer: Importer, examples: int
) -> None:
    @settings(
        max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(ANY_TABLE | GOOD_TABLE, LAYOUTS)
    def import_table(table: Table, layout: Layout) -> None:
        spans = [importer.new_span() for _ in table]
        body = write_table(table, spans, layout)
        places = bad_places(table)
        if places:
            assert importer.refused_places(body) == places
            return
        assert importer.send(body).json()["rows"] == len(table)
        values = [values_of(mass, drag) for mass, drag in table]
        rows = dict(zip(spans, values, strict=True))
        importer.check_exports(
            {span: values for span, values in rows.items() if values}
        )
        with unchanged(importer.database):  # the same file again
            assert importer.send(body).status_code == 200

    import_table()


HEAD, ROW = b"span,ribs,mass,drag\n", b"1.5,7,2.5,0.25\n"
BROKEN_TABLES = {
    b"": "line 1",
    BYTE_ORDER_MARK: "line 1",
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


def test_broken_table_is_refused_with_the_place(importer: Importer) -> None:
    for content, place in BROKEN_TABLES.items():
        assert importer.refused_places(content)[0] == place, content[:80]


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


def test_broken_json_is_refused_with_the_place(importer: Importer) -> None:
    for content, place in BROKEN_JSON.items():
        assert (
            importer.refused_places(content.encode(), "application/json")[0] == place
        ), content[:80]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_table_of_a_hundred_thousand_rows(importer: Importer) -> None:
    """One bad row at the end refuses all of them; without it all are imported."""
    spans = [1.0 + number / 2**17 for number in range(100_000)]
    lines = [f"{span!r},7,{-span!r},\n" for span in spans]
    good = HEAD + "".join(lines).encode()
    assert importer.refused_places(good + b"1.5,7,NaN,\n") == ["line 100002, mass"]
    assert importer.send(good).json()["rows"] == len(spans)
    importer.check_exports({span: {"mass": -span} for span in spans})


def test_every_kind_of_json_number_is_kept_to_the_last_bit(importer: Importer) -> None:
    numbers = [
        5e-324,
        -5e-324,
        1e100,
        1e23,
        10**22,
        2**53 + 1,
        0.1,
        1234567890123456789,
    ]
    expected = {importer.new_span(): {"mass": float(number)} for number in numbers}
    items = []
    for span, number in zip(expected, numbers, strict=True):
        items.append({"x": {"span": span, "ribs": 7}, "values": {"mass": number}})
    response = importer.send(json.dumps({"items": items}).encode(), "application/json")
    assert response.json()["rows"] == len(numbers)
    importer.check_exports(expected)
