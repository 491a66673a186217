"""Durability settings, transactions, one writer thread."""

import shutil
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, bindparam, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from app.domain.workers import WorkerSeen
from app.errors import DatabaseUnusable
from app.store.database import Database
from app.store.sql.clock import database_now
from app.store.tables import server_uptime, workers
from app.store.upgrade import upgrade
from app.store.work.attempt_counts import COUNT_ATTEMPTS
from app.store.work.server_uptime import record_uptime
from app.store.work.workers import register_workers


def see_worker(connection: Connection, name: str) -> int:
    return int(register_workers(connection, [WorkerSeen(name)])[name].id)


def scalar(connection: Connection, query: str) -> object:
    return connection.execute(text(query)).scalar_one()


def test_an_acknowledged_write_survives_a_power_cut(database: Database) -> None:
    def settings(connection: Connection) -> list[object]:
        if database.is_sqlite:
            return [
                scalar(connection, f"PRAGMA {name}")
                for name in ("journal_mode", "synchronous", "foreign_keys")
            ]
        # Fsync is the server's own, and off in these tests
        return [scalar(connection, "SHOW synchronous_commit")]

    assert database.write(settings) == (["wal", 2, 1] if database.is_sqlite else ["on"])


def test_a_server_that_would_not_wait_for_its_disk_does_for_us(
    database: Database,
) -> None:
    if database.is_sqlite:
        return  # it has no such default
    for set_to, used in (("off", "on"), ("remote_apply", "remote_apply")):
        ours = Database(f"{database.url}&options=-c%20synchronous_commit%3D{set_to}")
        assert (
            ours.write(lambda connection: scalar(connection, "SHOW synchronous_commit"))
            == used
        )
        ours.close()


def test_a_failed_transaction_changes_nothing(database: Database) -> None:
    def work(connection: Connection) -> None:
        see_worker(connection, "a")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        database.write(work)
    with database.read() as connection:
        assert connection.execute(select(workers)).all() == []
    assert database.write(lambda connection: see_worker(connection, "a")) > 0


def test_seeing_a_worker_again_keeps_its_id_and_moves_last_seen(
    database: Database,
) -> None:
    first = database.write(lambda connection: see_worker(connection, "a"))
    assert database.write(lambda connection: see_worker(connection, "b")) != first
    assert database.write(lambda connection: see_worker(connection, "a")) == first
    with database.read() as connection:
        row = connection.execute(select(workers).where(workers.c.id == first)).one()
    assert row.last_seen_at > row.first_seen_at


def test_sqlite_writes_come_from_one_thread_and_readers_cannot_write(
    tmp_path: Path, sqlite_template: Path
) -> None:
    database = Database(f"sqlite:///{sqlite_template}")
    names = {
        database.write(lambda _: threading.current_thread().name) for _ in range(5)
    }
    assert len(names) == 1
    assert names != {threading.current_thread().name}
    with (
        pytest.raises(DatabaseUnusable, match="readonly"),
        database.read() as connection,
    ):
        connection.execute(text("DELETE FROM workers"))
    database.close()


def test_a_writer_of_another_process_is_waited_for_not_refused(
    database_url: str,
) -> None:
    """Two Database objects stand for two processes: each has a writer of its own."""
    one, two = Database(database_url), Database(database_url)
    barrier = threading.Barrier(2)

    def write_many(database: Database) -> None:
        barrier.wait()
        for _ in range(50):
            database.write(lambda connection: see_worker(connection, "same"))

    threads = [threading.Thread(target=write_many, args=(each,)) for each in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with one.read() as connection:
        assert len(connection.execute(select(workers)).all()) == 1
    one.close()
    two.close()


def test_database_time_is_seconds_since_1970_and_moves_within_a_transaction(
    database: Database,
) -> None:
    with database.read() as connection:
        first, second = (
            connection.execute(select(database_now())).scalar_one() for _ in range(2)
        )
        later = first
        while later == first:
            later = connection.execute(select(database_now())).scalar_one()
    assert 1.7e9 < first < 4e9
    assert second - first < 60
    assert later > first


def test_a_database_that_cannot_be_opened_is_named_without_its_password(
    tmp_path: Path,
) -> None:
    for url in (
        f"sqlite:///{tmp_path}/nowhere/x.db",
        "postgresql+psycopg://me:secret@127.0.0.1:1/none",
    ):
        database = Database(url)
        with (
            pytest.raises(DatabaseUnusable, match="cannot be used now") as caught,
            database.read(),
        ):
            pass
        assert "secret" not in str(caught.value)
        database.close()


def test_a_connection_that_was_cut_is_replaced(database: Database) -> None:
    if database.is_sqlite:
        return  # has none
    with database.read() as connection:
        mine = scalar(connection, "SELECT pg_backend_pid()")
    other = Database(database.url)
    other.write(
        lambda connection: connection.execute(
            text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": mine}
        )
    )
    other.close()
    with database.read() as connection:
        assert scalar(connection, "SELECT 1") == 1


def test_how_long_a_write_may_stand_still(database: Database) -> None:
    """30 s, unless the URL, the role or the database itself say otherwise; a read may
    take its time.
    """
    if database.is_sqlite:
        return  # it has no such limit
    limit = "SHOW idle_in_transaction_session_timeout"
    assert database.write(lambda connection: scalar(connection, limit)) == "30s"
    with database.read() as connection:
        assert scalar(connection, limit) == "0"


@pytest.mark.parametrize("updates", [1, 2, 20])
def test_a_write_that_stands_still_is_undone(database: Database, updates: int) -> None:
    """Else a server that is cut off would keep its locks, and all others waiting."""
    if database.is_sqlite:
        return  # it has no such limit
    database.write(record_uptime)
    impatient = Database(
        f"{database.url}&options=-c%20idle_in_transaction_session_timeout%3D100ms"
    )

    def work(connection: Connection) -> None:
        connection.execute(
            update(server_uptime).values(seen_at=bindparam("at")),
            [{"at": float(n)} for n in range(updates)],
        )
        # This waits for the other one's lock until that is gone.
        database.write(record_uptime)

    with pytest.raises(DatabaseUnusable, match="idle-in-transaction timeout"):
        impatient.write(work)
    impatient.close()


def test_a_write_inside_a_write_is_refused_where_it_would_wait_for_itself(
    sqlite_template: Path,
) -> None:
    database = Database(f"sqlite:///{sqlite_template}")
    with pytest.raises(RuntimeError, match="wait for itself"):
        database.write(lambda _: database.write(lambda _: None))
    database.close()


def test_parameters_do_not_reach_an_errors_text(database: Database) -> None:
    with pytest.raises(IntegrityError) as caught:
        database.write(
            lambda c: c.execute(
                insert(workers).values(id=1, name="SECRET", first_seen_at=None)
            )
        )
    assert (
        "SECRET"
        not in str(caught.value)
        .replace("DETAIL", "")
        .split("DETAIL")[0]
        .split("Failing row")[0]
    )


def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text(
        "not a database, but long enough to be taken for one" * 100
    )
    database = Database(f"sqlite:///{tmp_path / 'x.db'}")
    with (
        pytest.raises(DatabaseUnusable, match="not a database"),
        database.read() as connection,
    ):
        connection.execute(text("SELECT 1 FROM sqlite_master"))
    database.close()


def test_a_file_that_goes_bad_while_it_is_in_use_is_one_sentence(
    tmp_path: Path, sqlite_template: Path
) -> None:
    file = tmp_path / "x.db"
    shutil.copy(sqlite_template, file)
    database = Database(f"sqlite:///{file}")
    database.write(record_uptime)
    for left in tmp_path.iterdir():
        left.write_text("not a database, but long enough to be taken for one" * 2000)
    with pytest.raises(DatabaseUnusable, match="cannot be used now"):
        database.write(record_uptime)
    database.close()


def test_workers_are_locked_in_one_order_whatever_the_databases_language(
    database: Database,
) -> None:
    """`register_workers` sorts names as Python does: B before a. A database in English would
    not.
    """
    with database.read() as connection:
        compiled = str(COUNT_ATTEMPTS.compile(dialect=connection.dialect))
    assert ('ORDER BY workers.name COLLATE "C"' in compiled) == (not database.is_sqlite)


def test_a_new_sqlite_file_is_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "new.db"
    with closing(Database(f"sqlite:///{file}")) as database:
        upgrade(database)
        modes = {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {0o600}
