"""A large file of known evaluations in parts that a server takes, equal points together.

A request is taken whole or not at all. With the rows of a point in one part, each part can be judged by itself: a file
that contradicts itself is refused before anything of it is written, and the file again changes nothing.
"""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from counterpoise.wire.problems import Fault

CSV, JSON = "text/csv", "application/json"


@dataclass(frozen=True, slots=True)
class Part:
    kind: str
    content: bytes
    places: dict[str, str]  # where rows of this part are in the file

    def in_file(self, fault: Fault) -> Fault:
        """A fault of the part with the place where people find it."""
        place = self._place(fault.row)
        if place not in self.places:
            return fault
        pointer = self.places[place] + fault.pointer.removeprefix(place)
        return fault.model_copy(
            update={"pointer": pointer, "row": self._row(fault.row), "related_row": self._row(fault.related_row)}
        )

    def _place(self, row: int | None) -> str:
        return f"line {row}" if self.kind == CSV else f"#/{row}"

    def _row(self, row: int | None) -> int | None:
        place = self.places.get(self._place(row))
        return int(place.rpartition(" " if self.kind == CSV else "/")[2]) if place else None


def kind_of(content: bytes) -> str:
    """No CSV of evaluations begins with a bracket."""
    return JSON if content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{") else CSV


def split(content: bytes, variables: Sequence[str], most: int) -> list[Part]:
    """Parts of about so many bytes. What is wrong with rows is for the server to say; they are in some part."""
    kind = kind_of(content)
    if len(content) <= most:
        return [Part(kind, content, {})]
    count = -(-len(content) // most) + 1
    return _split_csv(content, variables, count) if kind == CSV else _split_json(content, variables, count)


def _split_csv(content: bytes, variables: Sequence[str], count: int) -> list[Part]:
    # What is not UTF-8 goes through as it is.
    lines = list(io.StringIO(content.decode("utf-8-sig", "surrogateescape"), newline=""))
    records = _records(lines)
    top, heading = next(records, (slice(0, 0), []))
    names = [name.strip() for name in heading]
    key = [column for column, name in enumerate(names) if name.removeprefix("x:") in variables]
    groups: list[list[str]] = [[] for _ in range(count)]
    places: list[dict[str, str]] = [{} for _ in range(count)]
    below = [top.stop] * count
    for where, cells in records:
        group = hash(tuple(_number(cells[column]) if column < len(cells) else None for column in key)) % count
        places[group][f"line {below[group] + 1}"] = f"line {where.start + 1}"
        below[group] += where.stop - where.start
        text = "".join(lines[where])
        groups[group].append(text if text.endswith(("\n", "\r")) else text + "\r\n")
    above = "".join(lines[: top.stop])
    parts = [(above + "".join(rows), moved) for rows, moved in zip(groups, places, strict=True) if rows]
    return [Part(CSV, text.encode(errors="surrogateescape"), moved) for text, moved in parts or [(above, {})]]


def _records(lines: Sequence[str]) -> Iterator[tuple[slice, list[str]]]:
    """Each record and its lines, up to one that cannot be read, for the server to say so."""
    reader, line = csv.reader(lines, strict=True), 0
    try:
        for cells in reader:
            if cells:
                yield slice(line, reader.line_num), cells
            line = reader.line_num
    except csv.Error:
        yield slice(line, reader.line_num), []


def _split_json(content: bytes, variables: Sequence[str], count: int) -> list[Part]:
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        return [Part(JSON, content, {})]
    prefix, items = ("#/items", said.get("items")) if isinstance(said, dict) else ("#", said)
    if not isinstance(items, list):
        return [Part(JSON, content, {})]
    groups: list[list[Any]] = [[] for _ in range(count)]
    places: list[dict[str, str]] = [{} for _ in range(count)]
    for number, item in enumerate(items):
        x = item.get("x") if isinstance(item, dict) else None
        point = x if isinstance(x, dict) else {}
        group = hash(tuple(_number(point.get(name)) for name in variables)) % count
        places[group][f"#/{len(groups[group])}"] = f"{prefix}/{number}"
        groups[group].append(item)
    if not items:
        return [Part(JSON, b"[]", {})]
    parts = zip(groups, places, strict=True)
    return [Part(JSON, json.dumps(rows).encode(), moved) for rows, moved in parts if rows]


def _number(said: object) -> float | str:
    """Equal numbers, however they are written, are equal here."""
    try:
        return float(said) + 0.0  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        return str(said)
