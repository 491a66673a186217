"""Evaluations in CSV: a header, then a row for each point. An empty cell means that the
value is unknown; decimals have a point.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from functools import partial

from app.service.files.cells import without_prefix
from app.service.files.columns import Columns, columns_of
from app.service.files.evaluation_reader import MOST_ROWS, TOO_MANY_ROWS, Reading
from counterpoise.wire.coordinates import Coordinate
from counterpoise.wire.specification import Specification

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
SEPARATORS = {";": "a semicolon", "\t": "a tab"}  # that other programs use
MOST_COLUMNS = 10_000
BOOLEANS = {"true": True, "false": False}
MOST_TITLE = 100  # characters of a column's title in a message
Meaning = tuple[str, str]  # ("x", "value" or "skip", name)


def read_csv(spec: Specification, content: bytes) -> Reading:
    reading = Reading(spec)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        reading.faults.add(
            line, f"line {line}", "this is not UTF-8 text; save the file as CSV UTF-8"
        )
        return reading
    columns = columns_of(spec)
    records = _records(text, reading)
    header_line, header = next(records, (1, []))
    titles = [title.strip() for title in header]
    meanings = _meanings(reading, columns, header_line, titles)
    if meanings:
        for row, (line, cells) in enumerate(records):
            if row == MOST_ROWS:
                reading.faults.add(line, f"line {line}", TOO_MANY_ROWS)
                break
            _read_record(reading, columns, meanings, line, cells)
    return reading


def _read_record(
    reading: Reading,
    columns: Columns,
    meanings: list[Meaning],
    line: int,
    cells: list[str],
) -> None:
    if len(cells) != len(meanings):
        detail = (
            f"the row has {len(cells)} cells and the header {len(meanings)};"
            " separate cells by commas and write decimals with a point"
        )
        reading.faults.add(line, f"line {line}", detail)
        return
    x: dict[str, Coordinate] = {}
    known: dict[str, float | str] = {}
    for (kind, name), cell in zip(meanings, cells, strict=True):
        text = without_prefix(cell.strip())
        if text and kind == "x":
            x[name] = _parsed_coordinate(columns.levels[name], text)
        elif text and kind == "value":
            known[name] = _parsed(text)
    reading.add_row(line, f"line {line}", partial(_location, line, columns), x, known)


def _location(line: int, columns: Columns, part: str, name: str) -> str:
    title = (
        columns.heading_of_variable(name)
        if part == "x"
        else columns.heading_of_output(name)
    )
    return f"line {line}, {title}"


def _parsed_coordinate(levels: Sequence[Coordinate], text: str) -> Coordinate:
    """`levels`: of a discrete or categorical variable."""
    if levels and isinstance(levels[0], str):
        return text
    if levels and isinstance(levels[0], bool):
        return BOOLEANS.get(text.lower(), text)
    return _parsed(text)


def _parsed(text: str) -> float | str:
    return float(text) if NUMBER.fullmatch(text) else text


def _records(text: str, reading: Reading) -> Iterator[tuple[int, list[str]]]:
    """Each record with the line on which it begins; blank lines are skipped."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        reading.faults.add(line, f"line {line}", f"not CSV: {error}")


def _meanings(
    reading: Reading, columns: Columns, line: int, titles: list[str]
) -> list[Meaning]:
    """What each column holds; nothing if the header has faults."""
    if not titles:
        if not reading.faults.count:
            reading.faults.add(
                1, "line 1", "the file is empty; its first line names the columns"
            )
        return []
    separator = next(
        (mark for mark in SEPARATORS if len(titles) == 1 and mark in titles[0]), None
    )
    if separator:
        detail = f"the columns are separated by {SEPARATORS[separator]}; separate them by commas, and write decimals"
        reading.faults.add(line, f"line {line}", f"{detail} with a point")
        return []
    if len(titles) > MOST_COLUMNS:
        detail = (
            f"the header has {len(titles)} columns; at most {MOST_COLUMNS} are read"
        )
        reading.faults.add(line, f"line {line}", detail)
        return []
    found: list[Meaning] = []
    for title in titles:
        place = f"line {line}, {title[:MOST_TITLE]}"
        meaning = columns.meaning(title)
        if meaning is None:
            reading.faults.add(line, place, partial(columns.hint, title))
        elif meaning in found:
            reading.faults.add(line, place, "there are two such columns")
        else:
            found.append(meaning)
    for name in columns.variables:
        if ("x", name) not in found:
            title = columns.heading_of_variable(name)
            reading.faults.add(
                line,
                f"line {line}",
                f"there is no column {title!r}; every variable needs one",
            )
    return [] if reading.faults.count else found
