"""A column among any number of values, on both databases."""

import pytest
from sqlalchemy import Connection, insert, select, update

from app.store.database import Database
from app.store.sql.in_array import in_array
from app.store.tables import workers

NAMES = ["plain", "with 'quotes' and \\ and ,", "wörker ☃", "NULL"]


@pytest.fixture
def named(database: Database) -> Database:
    rows = [
        {
            "name": n,
            "first_seen_at": 0.0,
            "last_seen_at": 0.0,
            "studies": [],
            "objectives": [],
        }
        for n in NAMES
    ]
    database.write(lambda connection: connection.execute(insert(workers), rows))
    return database


def test_only_those_named(named: Database) -> None:
    query = (
        select(workers.c.name)
        .where(in_array(workers.c.name, "names"))
        .order_by(workers.c.id)
    )
    with named.read() as connection:
        for wanted in ([], NAMES[1:2], NAMES[:3], ["nobody", NAMES[3]]):
            found = connection.execute(query, {"names": wanted}).scalars().all()
            assert found == [name for name in NAMES if name in wanted]


def test_more_than_any_statement_takes_parameters(named: Database) -> None:
    with named.read() as connection:
        ids = list(
            connection.execute(select(workers.c.id).order_by(workers.c.id)).scalars()
        )
    many = [*ids[:2], *range(ids[-1] + 1, ids[-1] + 70_000)]

    def change(connection: Connection) -> int:
        query = (
            update(workers)
            .where(in_array(workers.c.id, "ids", many))
            .values(last_seen_at=1.0)
        )
        return connection.execute(query).rowcount

    assert named.write(change) == 2
    with named.read() as connection:
        seen = (
            select(workers.c.name)
            .where(workers.c.last_seen_at == 1.0)
            .order_by(workers.c.id)
        )
        assert connection.execute(seen).scalars().all() == NAMES[:2]


def test_values_that_were_forgotten_are_not_none_of_them(named: Database) -> None:
    with (
        named.read() as connection,
        pytest.raises(Exception, match="required for bind parameter 'names'"),
    ):
        connection.execute(
            select(workers.c.id).where(in_array(workers.c.name, "names"))
        )
