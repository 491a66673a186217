"""Known evaluations as people have them, CSV or JSON, read and checked against a study: every fault with its place."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from app.service.files.columns import Columns, columns_of
from counterpoise.wire.problems import Fault, did_you_mean, fault_at
from counterpoise.wire.specification import Specification, Variable
from counterpoise.wire.work import LARGEST

INFEASIBLE = "infeasible"
HOW = "write decimals with a point, and nothing for what is not known"
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
FAILURES = (INFEASIBLE, "error", "infrastructure", "lost")  # as exports have them
KEYS = ("x", "values", "failures", "sample", "step", "full", "open")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A point in the study's units and what is known of it: a value, or None where it is infeasible."""

    place: str
    x: tuple[float, ...]
    known: dict[str, float | None]


@dataclass(slots=True)
class Reading:
    """The good rows of a file, and the faults of the others."""

    spec: Specification
    found: list[Evaluation] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def fault(self, place: str, detail: str) -> None:
        self.faults.append(Fault(pointer=_printable(place), detail=_printable(detail)))

    def row(self, place: str, at: Callable[[str, str], str], x: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        """Check a row and take it if it is good. `at`: where it says a variable ("x") or an objective ("values")."""
        before = len(self.faults)
        for variable in self.spec.variables:
            reason = _why_not(variable, x.get(variable.name))
            if reason:
                self.fault(at("x", variable.name), reason)
        for name, value in known.items():
            if not (value == INFEASIBLE or _is_number(value)):
                self.fault(at("values", name), f"{_short(value)} is not a number; {HOW}")
            elif value != INFEASIBLE and not abs(value) <= LARGEST:
                self.fault(at("values", name), f"a value lies within {-LARGEST:g} and {LARGEST:g}, not {_short(value)}")
        if len(self.faults) == before:
            point = tuple(_canonical(variable, x[variable.name]) for variable in self.spec.variables)
            values = {name: None if value == INFEASIBLE else float(value) + 0.0 for name, value in known.items()}
            self.found.append(Evaluation(place, point, values))


def read_csv(spec: Specification, content: bytes) -> Reading:
    """A header, then a row for each point. An empty cell is not known; decimals have a point."""
    reading = Reading(spec)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        reading.fault(f"line {line}", "this is not UTF-8 text; save the file as CSV UTF-8")
        return reading
    columns, records = columns_of(spec), _records(text, reading)
    line, header = next(records, (1, []))
    heading = [name.strip() for name in header]
    meanings = _meanings(reading, columns, line, heading)
    for line, cells in records if meanings else ():
        if len(cells) != len(heading):
            words = f"the row has {len(cells)} cells and the header {len(heading)}"
            reading.fault(f"line {line}", f"{words}; separate cells by commas and write decimals with a point")
            continue
        told = {key: _cell(cell.strip()) for key, cell in zip(meanings, cells, strict=True) if cell.strip()}
        x = {name: value for (kind, name), value in told.items() if kind == "x"}
        known = {name: value for (kind, name), value in told.items() if kind == "value"}
        reading.row(f"line {line}", partial(_in_line, line, columns), x, known)
    return reading


def _in_line(line: int, columns: Columns, part: str, name: str) -> str:
    heading = columns.heading_of_variable(name) if part == "x" else columns.heading_of_objective(name)
    return f"line {line}, {heading}"


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
        reading.fault(f"line {line}", f"not CSV: {error}")


def _meanings(reading: Reading, columns: Columns, line: int, heading: list[str]) -> list[tuple[str, str]]:
    """What each column holds; nothing if the header is faulty."""
    found: list[tuple[str, str]] = []
    if not heading and not reading.faults:
        reading.fault("line 1", "the file is empty; its first line names the columns")
    separator = next((each for each in ";\t" if len(heading) == 1 and each in heading[0]), None)
    if separator:
        words = f"the columns are separated by {'a semicolon' if separator == ';' else 'a tab'}"
        reading.fault(f"line {line}", f"{words}; separate them by commas, and write decimals with a point")
        return []
    for title in heading:
        meaning = columns.meaning(title)
        if meaning is None:
            reading.fault(f"line {line}, {title[:100]}", columns.hint(title))
        elif meaning in found:
            reading.fault(f"line {line}, {title[:100]}", "there are two such columns")
        else:
            found.append(meaning)
    for name in columns.variables if heading else ():
        if ("x", name) not in found:
            words = f"there is no column {columns.heading_of_variable(name)!r}; every variable needs one"
            reading.fault(f"line {line}", words)
    return [] if reading.faults else found


def _cell(text: str) -> float | str:
    return float(text) if NUMBER.fullmatch(text) else text


def read_json(spec: Specification, content: bytes) -> Reading:
    """A list of {"x": {…}, "values": {…}}, or {"items": [such a list]}, as an export gives."""
    reading = Reading(spec)
    try:
        said = json.loads(content, object_pairs_hook=_Object)
    except (ValueError, RecursionError) as error:
        reading.fault("#", f"not JSON: {error}")
        return reading
    above: tuple[str, ...] = ()
    if isinstance(said, _Object) and set(said) <= {"items", "next"} and not said.twice:
        said, above = said.get("items"), ("items",)
    if not isinstance(said, list):
        reading.fault("#", 'must be a list of {"x": {…}, "values": {…}}, or an object with such a list in `items`')
        return reading
    for number, item in enumerate(said):
        _item(reading, (*above, number), item)
    return reading


class _Object(dict[str, Any]):
    """Knows whether a name was given twice: then nobody can say which of the values is right."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.twice = len(self) < len(pairs)


def _item(reading: Reading, place: tuple[str | int, ...], item: object) -> None:
    before = len(reading.faults)
    given = item if isinstance(item, _Object) else None
    if given is None:
        reading.faults.append(fault_at(place, 'must be an object such as {"x": {…}, "values": {…}}'))
        return
    for where, each in ((place, given), *(((*place, key), given[key]) for key in given)):
        if isinstance(each, _Object) and each.twice:
            reading.faults.append(fault_at(where, "a name is given twice here; which of its values is right?"))
    for key in given:
        if key not in KEYS:
            words = f"there is no such field{did_you_mean(key, KEYS) or '; there are ' + ', '.join(KEYS[:3])}"
            reading.faults.append(fault_at((*place, key), words))
    columns = columns_of(reading.spec)
    parts: dict[str, dict[str, Any]] = {}
    for key, names in (("x", columns.variables), ("values", columns.objectives), ("failures", columns.objectives)):
        part = given.get(key) if given.get(key) is not None else {}
        if not isinstance(part, dict):
            reading.faults.append(fault_at((*place, key), "must be an object: name to value"))
            continue
        parts[key] = part
        kind = "variable" if key == "x" else "objective"
        for name in part:
            if name not in names:
                words = f"the study has no {kind} {_short(name)}{did_you_mean(name, names)}"
                reading.faults.append(fault_at((*place, key, name), words))
    for name, kind in parts.get("failures", {}).items():
        if kind is not None and kind not in FAILURES:
            words = f"{_short(kind)} is no kind of failure; there are {', '.join(FAILURES)}"
            reading.faults.append(fault_at((*place, "failures", name), words))
    if len(reading.faults) > before:
        return
    known = {name: value for name, value in parts["values"].items() if value is not None}
    # Other failures than this one say nothing about the point.
    known |= {name: INFEASIBLE for name, kind in parts["failures"].items() if kind == INFEASIBLE and name not in known}
    reading.row(_pointer(*place), partial(_pointer, *place), parts["x"], known)


def _pointer(*place: str | int) -> str:
    return fault_at(place, "").pointer


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _why_not(variable: Variable, value: object) -> str | None:
    """Why this cannot be the variable's value, if it cannot."""
    if value is None:
        return f"variable {variable.name!r} needs a value: a point has all its coordinates"
    if not isinstance(value, int | float) or isinstance(value, bool):
        return f"{_short(value)} is not a number; {HOW}"
    if not variable.low <= value <= variable.high:
        return f"{_short(value)} is outside {variable.low!r} to {variable.high!r}"
    if variable.type == "int" and not float(value).is_integer():
        return f"{variable.name!r} is an integer, {_short(value)} is not"
    return None


def _canonical(variable: Variable, value: float) -> float:
    """One way to write a number, so that equal points are found again: -0 is 0, 3.0 of an integer is 3."""
    return int(value) if variable.type == "int" else float(value) + 0.0


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _printable(text: str) -> str:
    """Half a surrogate pair is possible in JSON, but not in an answer."""
    return text.encode(errors="replace").decode()
