"""A file of known evaluations, split into parts that a server accepts, with equal
points in the same part.

A request is accepted whole or not at all. With all rows of a point in one part, each
part can be checked by itself: a file that contradicts itself is refused before anything
of it is written.
"""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from counterpoise.wire.problems import Fault

CSV, JSON = "text/csv", "application/json"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Part:
    media_type: str
    content: bytes
    # Row of this part -> row of the file
    rows: dict[int, int] = field(default_factory=dict)
    list_pointer: str = (
        "#"  # of the JSON list in the file; in a part the list is the whole document
    )

    def in_file(self, fault: Fault) -> Fault:
        """A fault of this part, with its place in the file."""
        if fault.row is None or fault.row not in self.rows:
            return fault
        row = self.rows[fault.row]
        rest = fault.pointer.removeprefix(self._place("#", fault.row))
        pointer = self._place(self.list_pointer, row) + rest
        related_row = (
            None if fault.related_row is None else self.rows[fault.related_row]
        )
        return fault.model_copy(
            update={"pointer": pointer, "row": row, "related_row": related_row}
        )

    def _place(self, list_pointer: str, row: int) -> str:
        return f"line {row}" if self.media_type == CSV else f"{list_pointer}/{row}"


def media_type_of(content: bytes) -> str:
    """A CSV file of evaluations never begins with a bracket."""
    first = content.removeprefix(BYTE_ORDER_MARK).lstrip()[:1]
    return JSON if first in (b"[", b"{") else CSV


def split(content: bytes, variables: Sequence[str], size: int) -> list[Part]:
    """Parts of about `size` bytes.

    Rows with faults are in some part too: the server reports them.
    """
    media_type = media_type_of(content)
    if len(content) <= size:
        return [Part(media_type, content)]
    count = -(-len(content) // size) + 1
    return (
        _split_csv(content, variables, count)
        if media_type == CSV
        else _split_json(content, variables, count)
    )


def _split_csv(content: bytes, variables: Sequence[str], count: int) -> list[Part]:
    # What is not UTF-8 stays as it is
    text = content.decode("utf-8-sig", "surrogateescape")
    lines = list(io.StringIO(text, newline=""))
    records = _records(lines)
    header, titles = next(records, (slice(0, 0), []))
    names = [title.strip().removeprefix("x:") for title in titles]
    coordinates = [column for column, name in enumerate(names) if name in variables]
    parts = [_CsvPart(lines[: header.stop]) for _ in range(count)]
    for where, cells in records:
        point = tuple(
            _number(cells[column]) if column < len(cells) else None
            for column in coordinates
        )
        parts[hash(point) % count].add(where.start + 1, lines[where])
    with_rows = [part for part in parts if part.rows] or parts[:1]
    return [part.finished() for part in with_rows]


class _CsvPart:
    def __init__(self, header: Sequence[str]) -> None:
        self.lines = list(header)
        self.rows: dict[int, int] = {}

    def add(self, line_number: int, record: Sequence[str]) -> None:
        self.rows[len(self.lines) + 1] = line_number
        self.lines += record
        if not self.lines[-1].endswith(("\n", "\r")):
            self.lines[-1] += "\r\n"

    def finished(self) -> Part:
        return Part(
            CSV, "".join(self.lines).encode(errors="surrogateescape"), self.rows
        )


def _records(lines: Sequence[str]) -> Iterator[tuple[slice, list[str]]]:
    """Each record with its lines; the last one is a record that cannot be read, if
    there is one.
    """
    reader = csv.reader(lines, strict=True)
    start = 0
    try:
        for cells in reader:
            if cells:
                yield slice(start, reader.line_num), cells
            start = reader.line_num
    except csv.Error:
        yield slice(start, reader.line_num), []


def _split_json(content: bytes, variables: Sequence[str], count: int) -> list[Part]:
    whole = [Part(JSON, content)]
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return whole
    list_pointer = "#"
    if isinstance(document, dict):
        list_pointer, document = "#/items", document.get("items")
    if not isinstance(document, list):
        return whole
    groups: list[list[Any]] = [[] for _ in range(count)]
    rows: list[dict[int, int]] = [{} for _ in range(count)]
    for row, item in enumerate(document):
        group = hash(_point(item, variables)) % count
        rows[group][len(groups[group])] = row
        groups[group].append(item)
    parts = [
        Part(JSON, json.dumps(items).encode(), rows_of_group, list_pointer)
        for items, rows_of_group in zip(groups, rows, strict=True)
        if items
    ]
    return parts or [Part(JSON, b"[]")]


def _point(item: object, variables: Sequence[str]) -> tuple[float | str, ...]:
    x = item.get("x") if isinstance(item, dict) else None
    coordinates = x if isinstance(x, dict) else {}
    return tuple(_number(coordinates.get(name)) for name in variables)


def _number(value: object) -> float | str:
    """Numbers that are written differently, but equal, are equal here."""
    try:
        return float(value) + 0.0  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        return str(value)
