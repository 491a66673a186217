"""Exports are read in pages: at any size, by slow readers, and while studies change."""

import tracemalloc
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from sqlalchemy import Connection, insert

from app.errors import StateChanged
from app.service.files.export import export
from app.service.files.import_evaluations import import_evaluations
from app.service.files.json_reader import read_json
from app.service.studies.lifecycle import create, delete
from app.store.database import Database
from app.store.studies.points import point_hash
from app.store.tables import jobs, samples, studies
from counterpoise.wire.specification import Specification, parse_specification
from tests.api.wing import SPEC

BATCH = 2_000
SMALL, LARGE = 6_000, 1_000_000
EVALUATIONS = b"""[
    {"x": {"span": 1.5, "ribs": 7}, "values": {"mass": 2.5, "drag": 0.25, "lift": 10}},
    {"x": {"span": 1.25, "ribs": 8}, "values": {"drag": 0.5}}
]"""


def create_paused(database: Database, **changes: Any) -> None:
    create(database, parse_specification({**SPEC, **changes}), 60.0, paused=True)


def import_two_samples(database: Database) -> None:
    def read(spec: Specification) -> Any:
        return read_json(spec, EVALUATIONS)

    import_evaluations(database, "wing", read, evaluate=False, dry_run=False)


def insert_samples(connection: Connection, count: int) -> None:
    """Samples with a job each."""
    study = connection.execute(studies.select()).one().id
    sample = {
        "study_id": study,
        "full": True,
        "open": 1,
        "created_at": 0.0,
        "imported_seq": 1,
    }
    job = {"study_id": study, "objective_id": 1, "cheap_only": False, "step": 0}
    for start in range(0, count, BATCH):
        points = [[1.0 + number / count, 7] for number in range(start, start + BATCH)]
        rows = [{**sample, "x": x, "point": point_hash(x)} for x in points]
        connection.execute(insert(samples), rows)
        ids = range(start + 1, start + 1 + BATCH)
        connection.execute(insert(jobs), [{**job, "sample_id": id_} for id_ in ids])


def count_lines(parts: Iterator[str]) -> tuple[int, int]:
    """The number of lines, and the most memory that Python held meanwhile, in bytes."""
    tracemalloc.start()
    try:
        lines = sum(part.count("\r\n") for part in parts)
        return lines, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


LARGE_EXPORT = pytest.param(LARGE, marks=[pytest.mark.slow, pytest.mark.timeout(0)])


@pytest.mark.parametrize("count", [SMALL, LARGE_EXPORT])
def test_an_export_of_many_rows_holds_one_page(database: Database, count: int) -> None:
    create_paused(database)
    database.write(insert_samples, count)
    lines, most_bytes = count_lines(export(database, "wing", "samples", "csv"))
    assert lines == count + 1
    assert most_bytes < 8e6  # a page is 4 MB
    if count == LARGE:
        assert count_lines(export(database, "wing", "jobs", "csv"))[1] < 20e6


def test_an_export_holds_no_connection_between_pages(database: Database) -> None:
    create_paused(database)
    database.write(insert_samples, 2 * BATCH)
    # The pool has ten connections.
    readers = [export(database, "wing", "samples", "csv") for _ in range(30)]
    for _ in range(3):
        assert all(next(reader) for reader in readers)
    for reader in readers:
        reader.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("file_format", ["csv", "json"])
@pytest.mark.parametrize("has_samples", [False, True])
def test_an_export_does_not_continue_in_another_study_of_the_same_name(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    file_format: Literal["csv", "json"],
    has_samples: bool,
) -> None:
    monkeypatch.setattr("app.service.files.export.PAGE", 1)
    create_paused(database)
    import_two_samples(database)
    parts = export(database, "wing", "samples", file_format)
    assert next(parts)
    delete(database, "wing", force=False)
    create_paused(database, budget=99)
    if has_samples:
        import_two_samples(database)
    with pytest.raises(StateChanged):
        list(parts)
