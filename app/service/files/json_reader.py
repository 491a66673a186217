"""Evaluations in JSON: a list of {"x": {…}, "values": {…}}, or {"items": [such a
list]}, as an export has it.
"""

import json
from functools import partial
from typing import Any

from app.service.files.columns import columns_of
from app.service.files.evaluation_reader import (
    INFEASIBLE,
    MOST_ROWS,
    TOO_MANY_ROWS,
    Reading,
    shortened,
)
from app.service.files.fault_list import Text
from counterpoise.wire.codes import FailureKind
from counterpoise.wire.problems import did_you_mean, fault_at
from counterpoise.wire.specification import Specification
from counterpoise.wire.views import NearlyFeasible, SampleView

# What an export has of a sample; only the first three are read
# Lists of samples and fronts can be imported as the API returns them.
KEYS = (
    "x",
    "values",
    "failures",
    *SampleView.model_fields,
    *NearlyFeasible.model_fields,
)
FORMAT = 'must be a list of {"x": {…}, "values": {…}}, or an object with such a list in `items`'
Location = tuple[str | int, ...]


class _Object(dict[str, Any]):
    """Knows whether a name was given twice: then it is unclear which of the values is
    right.
    """

    __slots__ = ("has_repeated_name",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.has_repeated_name = len(self) < len(pairs)


def read_json(spec: Specification, content: bytes) -> Reading:
    reading = Reading(spec)
    try:
        document = json.loads(content, object_pairs_hook=_Object)
    except (ValueError, RecursionError) as error:
        reading.faults.add(None, "#", f"not JSON: {error}")
        return reading
    above: Location = ()
    if (
        isinstance(document, _Object)
        and set(document) <= {"items", "next"}
        and not document.has_repeated_name
    ):
        document, above = document.get("items"), ("items",)
    if not isinstance(document, list):
        reading.faults.add(None, "#", FORMAT)
        return reading
    if len(document) > MOST_ROWS:
        reading.faults.add(None, "#", TOO_MANY_ROWS)
        return reading
    for row, item in enumerate(document):
        _ItemReader(reading, row, (*above, row)).read(item)
    return reading


def _pointer(*location: str | int) -> str:
    return fault_at(location, "").pointer


class _ItemReader:
    """Reads one item of the list."""

    def __init__(self, reading: Reading, row: int, location: Location) -> None:
        self.reading = reading
        self.row = row
        self.location = location

    def read(self, item: object) -> None:
        faults_before = self.reading.faults.count
        if not isinstance(item, _Object):
            self._fault((), 'must be an object such as {"x": {…}, "values": {…}}')
            return
        self._check_keys(item)
        columns = columns_of(self.reading.spec)
        x = self._part(item, "x", "variable", columns.variables)
        values = self._part(item, "values", "objective or constraint", columns.outputs)
        failures = self._part(
            item, "failures", "objective or constraint", columns.outputs
        )
        self._check_failures(failures)
        if self.reading.faults.count > faults_before:
            return
        known = {name: value for name, value in values.items() if value is not None}
        for name, kind in failures.items():
            if (
                kind == INFEASIBLE and name not in known
            ):  # other failures do not concern the point
                known[name] = INFEASIBLE
        self.reading.add_row(
            self.row,
            _pointer(*self.location),
            partial(_pointer, *self.location),
            x,
            known,
        )

    def _fault(self, below: Location, detail: Text) -> None:
        pointer = partial(_pointer, *self.location, *below)
        self.reading.faults.add(self.row, pointer, detail)

    def _check_keys(self, item: _Object) -> None:
        if item.has_repeated_name:
            self._fault((), "a name is given twice here; which of its values is right?")
        for key, value in item.items():
            if isinstance(value, _Object) and value.has_repeated_name:
                self._fault(
                    (key,), "a name is given twice here; which of its values is right?"
                )
        for key in item:
            if key not in KEYS:
                self._fault((key,), partial(_unknown_key, key))

    def _part(
        self, item: _Object, key: str, kind: str, names: tuple[str, ...]
    ) -> dict[str, Any]:
        part = item.get(key)
        if part is None:
            return {}
        if not isinstance(part, dict):
            self._fault((key,), "must be an object: name to value")
            return {}
        for name in part:
            if name not in names:
                self._fault((key, name), partial(_unknown_name, kind, name, names))
        return part

    def _check_failures(self, failures: dict[str, Any]) -> None:
        kinds = [str(kind) for kind in FailureKind]
        for name, kind in failures.items():
            if kind is not None and kind not in kinds:
                self._fault(("failures", name), partial(_unknown_kind, kind, kinds))


def _unknown_key(key: str) -> str:
    hint = did_you_mean(key, KEYS) or "; there are " + ", ".join(KEYS[:3])
    return f"there is no such field{hint}"


def _unknown_name(kind: str, name: str, names: tuple[str, ...]) -> str:
    return f"the study has no {kind} {shortened(name)}{did_you_mean(name, names)}"


def _unknown_kind(kind: object, kinds: list[str]) -> str:
    return f"{shortened(kind)} is not a kind of failure; there are {', '.join(kinds)}"
