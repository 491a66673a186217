"""Large files are split into requests: every row once, with its place in the file."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.service.files.csv_reader import read_csv
from app.service.files.json_reader import read_json
from counterpoise.client.evaluation_file import CSV, split
from counterpoise.wire.problems import Fault
from counterpoise.wire.specification import parse_specification
from tests.api.wing import SPEC

JSON = "application/json"
HEADER = "span,ribs,mass\n"
STUDY = parse_specification(SPEC)
CELLS = st.sampled_from(
    ["1.5", "1.50", " 15e-1", "7", "7.0", "", '"1.5"', '"a\nb"', "x", "1,5", "ü", '"']
)
LINES = st.lists(st.lists(CELLS, max_size=4).map(",".join), max_size=12)


def findings(content: bytes, in_file: Callable[[Fault], Fault]) -> set[tuple[Any, ...]]:
    """What the server reads in a file: faults and evaluations, with their places."""
    reading = read_csv(STUDY, content)
    found: set[tuple[Any, ...]] = set()
    for fault in map(in_file, reading.faults.listed):
        found.add((fault.pointer, fault.detail))
    for row in reading.evaluations:
        place = in_file(Fault(pointer=row.pointer, detail="", row=row.row))
        found.add((place.pointer, row.x, tuple(sorted(row.known.items()))))
    return found


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.integers(1, 60))
@settings(deadline=None, max_examples=300)
def test_the_parts_hold_every_row_once_with_its_place(
    lines: list[str], line_end: str, most_bytes: int
) -> None:
    content = line_end.join([HEADER.strip(), *lines]).encode()
    parts = split(content, ["span", "ribs"], most_bytes)
    in_parts: set[tuple[Any, ...]] = set()
    part_of_point: dict[Any, int] = {}
    for number, part in enumerate(parts):
        in_parts |= findings(part.content, part.in_file)
        for row in read_csv(STUDY, part.content).evaluations:
            # All rows of a point are in one part.
            assert part_of_point.setdefault(row.x, number) == number
    assert in_parts == findings(content, lambda fault: fault)


def test_json_without_a_list_is_not_split() -> None:
    for content in (b'{"x": 1, "y": "' + b"z" * 100 + b'"}', b"[" * 100):
        (part,) = split(content, ["span"], 10)
        assert (part.media_type, part.content) == (JSON, content)


def test_json_lists_are_split() -> None:
    items: list[Any] = [{"x": {"span": number}} for number in range(20)]
    parts = split(json.dumps(items).encode(), ["span"], 50)
    assert len(parts) > 1
    assert sum(len(json.loads(part.content)) for part in parts) == 20
    assert read_json(STUDY, parts[0].content).faults.count


def test_the_media_type_is_that_of_the_content() -> None:
    with_byte_order_mark = b"\xef\xbb\xbf [1]"
    assert split(with_byte_order_mark, ["span"], 100)[0].media_type == JSON
    parts = split(HEADER.encode() + b"1,2,3\n" * 9, ["span"], 10)
    assert {part.media_type for part in parts} == {CSV}


@pytest.mark.parametrize(
    "content",
    [
        b"\n" * 100,
        HEADER.encode() + b"\n" * 100,
        b"[]" + b" " * 100,
        b'{"items":' + b" " * 100 + b"[]}",
    ],
)
def test_white_space_is_not_sent(content: bytes) -> None:
    (part,) = split(content, ["span"], 50)
    assert len(part.content) < 50
    read = read_csv if part.media_type == CSV else read_json
    reading = read(STUDY, part.content)
    assert reading.evaluations == []
    assert reading.faults == read(STUDY, content).faults


def test_a_stray_quote_is_reported_at_its_line() -> None:
    rows = b"1.5,9,1\n" * 40_000
    content = b'span,ribs,mass\n1.5,7,1\n"1.5,8,1\n' + rows
    parts = split(content, ["span", "ribs"], 10_000)
    longest = max(len(part.content) for part in parts)
    assert longest < 150_000  # as far as the reader looks for the closing quote
    pointers: list[str] = []
    for part in parts:
        faults = read_csv(STUDY, part.content).faults.listed
        pointers += [part.in_file(fault).pointer for fault in faults]
    assert pointers == ["line 3"]
