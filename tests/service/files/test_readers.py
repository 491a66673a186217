"""The readers of CSV and JSON: any table is read as it was written."""

import csv
import io
import json
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.service.files.cells import text_cell, without_prefix
from app.service.files.columns import columns_of
from app.service.files.csv_reader import read_csv
from app.service.files.json_reader import read_json
from counterpoise.wire.specification import Specification, parse_specification
from tests.api.wing import SPEC

# Names of other columns, too.
NAMES = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,8}\Z") | st.sampled_from(
    ["sample", "step", "full", "open", "x"]
)
NUMBERS = st.floats(-1e100, 1e100) | st.integers(-10, 10).map(float)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Layout:
    """How a program may write a CSV file."""

    line_end: str
    byte_order_mark: bool
    quoted: bool
    spaced: bool


LAYOUTS = st.builds(
    Layout,
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Specification, list[dict[str, Any]]]:
    """A study, and evaluations as items of a JSON file."""
    names = st.lists(NAMES, min_size=1, max_size=3, unique=True)
    variables, objectives = draw(names), draw(names)
    limits = {"low": -1e100, "high": 1e100}
    spec = {
        **SPEC,
        "variables": [{"name": name, **limits} for name in variables],
        "objectives": [{"name": name} for name in objectives],
        "budget": 40,
        "initial_samples": 4,
    }
    item = st.fixed_dictionaries(
        {
            "x": st.fixed_dictionaries(dict.fromkeys(variables, NUMBERS)),
            "values": st.dictionaries(st.sampled_from(objectives), NUMBERS),
        }
    )
    items: list[dict[str, Any]] = draw(st.lists(item, max_size=5))
    return parse_specification(spec), items


def write_csv(
    spec: Specification, items: list[dict[str, Any]], layout: Layout
) -> bytes:
    """A CSV file with two more columns, and with a blank line after each row."""
    columns = columns_of(spec)
    text = io.StringIO()
    dialect = csv.unix_dialect if layout.quoted else csv.excel  # quotes all, or few
    writer = csv.writer(text, dialect, lineterminator=layout.line_end)
    writer.writerow(["sample", "step", *columns.headings])
    for number, item in enumerate(items):
        cells = [item["x"][name] for name in columns.variables]
        cells += [item["values"].get(name, "") for name in columns.outputs]
        if layout.spaced:
            cells = [f" {cell}" for cell in cells]
        writer.writerow([number, "search:1", *cells])
        text.write(layout.line_end)
    mark = BYTE_ORDER_MARK if layout.byte_order_mark else b""
    return mark + text.getvalue().encode()


@given(tables(), LAYOUTS)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_table_is_read_as_it_was_written(
    table: tuple[Specification, list[dict[str, Any]]], layout: Layout
) -> None:
    spec, items = table
    variables = columns_of(spec).variables
    expected = []
    for item in items:
        point = tuple(item["x"][name] for name in variables)
        expected.append((point, item["values"]))
    from_csv = read_csv(spec, write_csv(spec, items, layout)).evaluations
    assert [(row.x, row.known) for row in from_csv] == expected
    lines = range(2, 2 + 2 * len(items), 2)  # after the header, with blank lines
    assert [row.pointer for row in from_csv] == [f"line {line}" for line in lines]
    from_json = read_json(spec, json.dumps({"items": items}).encode()).evaluations
    assert [(row.x, row.known) for row in from_json] == expected


@given(st.text(), st.sampled_from([",", ";", "\t"]))
@settings(deadline=None, max_examples=200)
def test_no_text_breaks_the_readers(text: str, separator: str) -> None:
    spec = parse_specification(SPEC)
    as_columns = separator.join(["span", "ribs", text, text])
    as_rows = f"span,ribs,mass\n{text}"
    for content in (text, as_columns, as_rows):
        for read in (read_csv, read_json):
            reading = read(spec, content.encode(errors="surrogatepass"))
            for evaluation in reading.evaluations:
                span, ribs = evaluation.x
                assert 1.0 <= span <= 2.0
                assert 3 <= ribs <= 40
            for fault in reading.faults.listed:
                assert fault.pointer.startswith(("line ", "#"))
                assert fault.detail


@given(st.text())
def test_the_prefix_of_a_text_cell_is_taken_off_again(text: str) -> None:
    cell = text_cell(text)
    assert without_prefix(cell) == text
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


def test_a_number_that_a_spreadsheet_wrote_as_text_is_read() -> None:
    spec = {**SPEC, "variables": [{"name": "a", "low": -5, "high": 5}]}
    reading = read_csv(parse_specification(spec), b"a,mass\n'-3,'+1.5\n")
    (row,) = reading.evaluations
    assert (row.x, row.known) == ((-3.0,), {"mass": 1.5})
