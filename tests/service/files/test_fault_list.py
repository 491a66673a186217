"""A file with any number of faults needs bounded memory and gives a bounded response."""

import json
from collections.abc import Callable

import pytest

from app.service.files.csv_reader import MOST_COLUMNS, read_csv
from app.service.files.evaluation_reader import MOST_ROWS, Reading
from app.service.files.fault_list import FaultList
from app.service.files.json_reader import read_json
from counterpoise.wire.contradictions import MOST_FAULTS
from counterpoise.wire.specification import Specification, parse_specification
from tests.api.wing import SPEC

ROWS = 3000
SPECIFICATION = parse_specification(SPEC)
Read = Callable[[Specification, bytes], Reading]
BAD_FILES: list[tuple[Read, bytes]] = [
    (read_csv, b"span,ribs\n" + b"x,7\n" * ROWS),
    (read_csv, b"span,ribs\n" + b"x\n" * ROWS),
    (read_json, json.dumps([{"x": {"ribs": 7}}] * ROWS).encode()),
    (read_json, json.dumps([1] * ROWS).encode()),
    (read_json, json.dumps([{f"k{i}": 1 for i in range(ROWS)}]).encode()),
]


@pytest.mark.parametrize(("read", "content"), BAD_FILES)
def test_the_first_faults_are_listed_and_all_are_counted(
    read: Read, content: bytes
) -> None:
    faults = read(SPECIFICATION, content).faults
    assert len(faults.listed) == MOST_FAULTS
    assert faults.count == ROWS


def test_texts_of_faults_that_are_only_counted_are_not_made() -> None:
    faults = FaultList()
    made = 0

    def text() -> str:
        nonlocal made
        made += 1
        return "wrong"

    for row in range(MOST_FAULTS + 5):
        faults.add(row, "place", text)
    assert (made, faults.count) == (MOST_FAULTS, MOST_FAULTS + 5)


def test_faults_of_two_lists_are_in_the_order_of_the_file() -> None:
    first, second = FaultList(), FaultList()
    for row in range(0, 2 * MOST_FAULTS, 2):
        first.add(row, "", "")
        second.add(row + 1, "", "")
    both = first + second
    assert [fault.row for fault in both.listed] == list(range(MOST_FAULTS))
    assert both.count == 2 * MOST_FAULTS


TOO_MANY: list[tuple[Read, bytes]] = [
    (read_csv, b"span,ribs\n" + b"1.5,7\n" * (MOST_ROWS + 1)),
    (read_csv, b"c," * MOST_COLUMNS + b"c\n"),
    (read_json, b"[" + b"1," * MOST_ROWS + b"1]"),
]


@pytest.mark.parametrize(("read", "content"), TOO_MANY)
def test_too_many_rows_or_columns_are_one_fault(read: Read, content: bytes) -> None:
    assert read(SPECIFICATION, content).faults.count == 1
