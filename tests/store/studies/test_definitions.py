"""The cache of what never changes about studies."""

import threading

import pytest
from sqlalchemy import Connection

from app.store.database import Database
from app.store.studies import studies as store
from app.store.studies.studies import definitions_of, page_of_studies
from tests.store.small_study import SmallStudy


def test_a_study_deleted_between_its_row_and_its_definition_is_left_out(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = SmallStudy(database, "wing"), SmallStudy(database, "car")
    read = store.read_definitions

    def read_after_a_delete(connection: Connection, ids: list[int]) -> object:
        return read(connection, [study for study in ids if study != second.id])

    monkeypatch.setattr(store, "read_definitions", read_after_a_delete)
    with database.read() as connection:
        found = page_of_studies(connection, 0, 10)
    assert [study.id for study in found] == [first.id]


def test_threads_that_clear_the_cache_disturb_no_other(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MOST_CACHED", 2)
    ids = [SmallStudy(database, f"study{number}").id for number in range(6)]
    errors: list[Exception] = []

    def read() -> None:
        try:
            for _ in range(20):
                with database.read() as connection:
                    assert set(definitions_of(connection, ids)) == set(ids)
        except Exception as error:  # noqa: BLE001  the test checks that there is none
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
