"""Bulk writes: many rows in one call, the same on both databases."""

from sqlalchemy import Connection, Double, Integer, String, func, insert, select, update

from app.store.database import Database
from app.store.sql.bulk import CombinedWrite, bulk_insert, bulk_update
from app.store.sql.clock import database_now
from app.store.tables import feed, workers

ADD_WORKERS = bulk_insert(
    workers,
    ("name", "studies", "objectives", "slots"),
    {"first_seen_at": database_now(), "last_seen_at": database_now()},
    lambda statement: statement.on_conflict_do_nothing(),
    parameter="workers_rows",
)
COUNT_DONE = bulk_update(
    {"worker": String(), "more": Integer(), "busy_s": Double()},
    lambda given: (
        update(workers)
        .where(workers.c.name == given["worker"])
        .values(
            done=workers.c.done + given["more"],
            busy_s=workers.c.busy_s + given["busy_s"],
        )
    ),
    parameter="counts_rows",
)


def worker(name: str) -> dict[str, object]:
    return {"name": name, "studies": ["*"], "objectives": [], "slots": 2}


def counts(connection: Connection) -> dict[str, tuple[int, float]]:
    return {
        row.name: (row.done, row.busy_s) for row in connection.execute(select(workers))
    }


def test_rows_are_inserted_and_updated_each_with_its_own_values(
    database: Database,
) -> None:
    def work(connection: Connection) -> dict[str, tuple[int, float]]:
        ADD_WORKERS.execute(connection, [worker("a"), worker("b"), worker("ü'\"")])
        ADD_WORKERS.execute(connection, [worker("a")])  # is there already
        ADD_WORKERS.execute(connection, [])
        rows = [
            {"worker": "a", "more": 2, "busy_s": 0.1},
            {"worker": "ü'\"", "more": 1, "busy_s": 1e-300},
        ]
        COUNT_DONE.execute(connection, rows)
        return counts(connection)

    assert database.write(work) == {"a": (2, 0.1), "b": (0, 0.0), "ü'\"": (1, 1e-300)}


def test_a_combined_write_returns_how_many_rows_its_first_part_wrote(
    database: Database,
) -> None:
    deletions = bulk_insert(
        feed,
        ("since", "until", "study_id", "study"),
        {"at": database_now()},
        parameter="feed_rows",
    )
    combined = CombinedWrite(counts=COUNT_DONE, feed=deletions)

    def work(connection: Connection) -> tuple[int, int, int]:
        ADD_WORKERS.execute(connection, [worker("a"), worker("b")])
        rows = [
            {"worker": name, "more": 1, "busy_s": 0.0} for name in ("a", "b", "unknown")
        ]
        stretch = {"since": 0, "until": 1, "study_id": 1, "study": "wing"}
        written = combined.execute(connection, counts=rows, feed=[stretch])
        nothing = combined.execute(connection, counts=[], feed=[])
        return (
            written,
            nothing,
            connection.execute(select(func.count()).select_from(feed)).scalar_one(),
        )

    assert database.write(work) == (2, 0, 1)


def test_a_value_that_json_would_change_arrives_as_it_is(database: Database) -> None:
    """Floats travel as JSON on PostgreSQL."""
    values = [0.1 + 0.2, 5e-324, 1.7976931348623157e308, 1e23]

    def work(connection: Connection) -> list[float]:
        for number, value in enumerate(values):
            row = worker(str(number)) | {"first_seen_at": 0.0, "last_seen_at": 0.0}
            connection.execute(insert(workers).values(row))
            COUNT_DONE.execute(
                connection, [{"worker": str(number), "more": 0, "busy_s": value}]
            )
        return list(
            connection.execute(
                select(workers.c.busy_s).order_by(workers.c.id)
            ).scalars()
        )

    assert database.write(work) == values
