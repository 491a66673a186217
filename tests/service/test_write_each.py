"""Changes of several studies, each in a transaction of its own."""

import pytest

from app.service.write_each import write_each
from app.store.database import Connection, Database


def test_an_error_of_one_study_stops_no_other(database: Database) -> None:
    written: list[tuple[int, str]] = []

    def write(_connection: Connection, study: int, value: str) -> None:
        if study == 1:
            raise ValueError("the first study is broken")
        written.append((study, value))

    with pytest.raises(ValueError, match="the first study"):
        write_each(database, write, {1: "a", 2: "b", 3: "c"})
    assert written == [(2, "b"), (3, "c")]
