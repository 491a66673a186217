"""Rows of evaluations, and what an import of them does to a study."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from app.errors import ImportInvalid
from app.service.files.import_evaluations import import_evaluations
from app.service.files.json_reader import read_json
from app.store.database import Database
from app.store.tables import events, jobs, sample_values, samples, steps, studies
from counterpoise.wire.views import Imported
from counterpoise.wire.work import Job
from tests.service.lab import Lab

Row = dict[str, Any]


def row(a: float, b: float, **values: Any) -> Row:
    return {"x": {"a": a, "b": b}, "values": values}


def complete_row(a: float, b: float) -> Row:
    return row(a, b, mass=a + 0.1 * b, crash=(1.0 - a) ** 2 + b)


def random_rows(count: int) -> list[Row]:
    return [
        complete_row(a, b)
        for a, b in np.random.default_rng(7).random((count, 2)).tolist()
    ]


def import_rows(
    lab: Lab, rows: Sequence[Row], *, evaluate: bool = False, dry_run: bool = False
) -> Imported:
    content = json.dumps(rows).encode()
    read = lambda spec: read_json(spec, content)  # noqa: E731
    return import_evaluations(
        lab.database, lab.name, read, evaluate=evaluate, dry_run=dry_run
    )


def stored_rows(lab: Lab) -> list[Any]:
    """All that an import may change."""
    tables = (studies, samples, sample_values, events, jobs, steps)
    return [lab.rows(table) for table in tables]


def faults_of(lab: Lab, rows: Sequence[Row]) -> list[tuple[str, str]]:
    before = stored_rows(lab)
    with pytest.raises(ImportInvalid) as caught:
        import_rows(lab, rows)
    assert stored_rows(lab) == before
    return [(fault.pointer, fault.detail) for fault in caught.value.faults]


def paused_lab(database: Database, **spec: Any) -> Lab:
    return Lab(database, paused=True, **spec)


def design_sizes(lab: Lab) -> list[int]:
    return [
        step["inputs"]["size"] for step in lab.rows(steps) if step["kind"] == "initial"
    ]


def infeasible_row(job: Job, *names: str, **values: float) -> Row:
    return {
        "x": dict(job.x),
        "values": values,
        "failures": dict.fromkeys(names, "infeasible"),
    }
