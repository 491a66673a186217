"""Migrations on both databases: to head, no drift, no collision."""

import json
import multiprocessing
import re
import shutil
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from alembic import command
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, func, select, text, update

from app.errors import DatabaseBehind, DatabaseUnusable
from app.store.database import Database
from app.store.studies.points import point_hash, samples_at_points
from app.store.tables import attempts, jobs, metadata, objectives, workers
from app.store.upgrade import (
    MIGRATIONS,
    drift,
    head,
    migration_config,
    require_head,
    revision,
    upgrade,
)
from tests.store.small_study import SmallStudy

pytestmark = pytest.mark.own_database


def test_an_empty_database_upgrades_to_head_without_drift(empty_url: str) -> None:
    database = Database(empty_url)
    assert revision(database) is None
    assert upgrade(database) == (None, head())
    assert upgrade(database) == (head(), head())
    assert drift(database) == []
    database.close()


def test_migrated_schema_is_the_declared_one_to_the_letter(
    empty_url: str, database: Database, backend: str
) -> None:
    """Alembic compares neither CHECKs nor the WHERE of an index; here every definition
    counts.
    """
    declared = Database(empty_url)
    declared.write(metadata.create_all)
    with declared.read() as left, database.read() as right:
        assert definitions(right, backend) == definitions(left, backend)
    declared.close()


def definitions(connection: Connection, backend: str) -> set[str]:
    if backend == "sqlite":
        rows = connection.execute(
            text("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        ).scalars()
        # Order and white space of a table's parts are free; "(-1)" is how a migration
        # spells -1. A column added later stands on the line of the one before it.
        # A table that was copied has its name in quotation marks.
        whole = []
        for sql in rows:
            plain = re.sub(r'^CREATE TABLE "(\w+)"', r"CREATE TABLE \1", sql)
            whole.append(
                plain.replace("(-1)", "-1").replace("\n", " ").replace("\t", " ")
            )
        parts = {
            " ".join(part.split())
            for sql in whole
            for part in split_outside_brackets(sql)
        }
        return {
            part
            for part in parts
            if "alembic_version" not in part and "version_num" not in part
        }
    queries = [
        "SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = 'public'::regnamespace",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
        "SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' ||"
        " coalesce(column_default, '') FROM information_schema.columns WHERE table_schema = 'public'",
    ]
    found = {
        row for query in queries for row in connection.execute(text(query)).scalars()
    }
    return {
        row.replace("'-1'::integer", "-1").replace("(-1)", "-1")
        for row in found
        if "alembic_version" not in row
    }


def split_outside_brackets(sql: str) -> list[str]:
    """CREATE TABLE x (a, b CHECK (c, d)) -> its head and the parts of its body."""
    head, _, body = sql.partition("(")
    parts, depth, start = [head], 0, 0
    for at, letter in enumerate(body):
        depth += (letter == "(") - (letter == ")")
        if (letter == "," and depth == 0) or depth < 0:
            parts.append(body[start:at])
            start = at + 1
    return [*parts, body[start:]]


def test_rebuilding_a_table_keeps_what_refers_to_it(database: Database) -> None:
    """SQLite takes the DROP of a rebuild for a deletion of every row, and would follow
    the cascades.
    """
    study = SmallStudy(database)
    study.add_full(5)

    def rebuild(connection: Connection) -> None:
        operations = Operations(MigrationContext.configure(connection))
        with operations.batch_alter_table(
            "studies", recreate="always" if database.is_sqlite else "auto"
        ) as batch:
            batch.alter_column("budget", nullable=True)

    database.migrate(rebuild)
    with database.read() as connection:
        counts = [
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (objectives, jobs)
        ]
    assert counts == [2, 10]


def test_an_upgrade_that_would_orphan_rows_changes_nothing(
    sqlite_template: Path, tmp_path: Path
) -> None:
    shutil.copy(sqlite_template, tmp_path / "x.db")
    database = Database(f"sqlite:///{tmp_path / 'x.db'}")
    SmallStudy(database)
    with pytest.raises(DatabaseUnusable, match="nothing changed"):
        database.migrate(
            lambda connection: connection.execute(text("DELETE FROM studies"))
        )
    with database.read() as connection:
        assert (
            connection.execute(text("SELECT count(*) FROM studies")).scalar_one() == 1
        )
    database.close()


def test_equal_points_have_the_same_short_form() -> None:
    assert (
        point_hash([-0.0, 3, 1e23])
        == point_hash([0, 3.0, 10**23])
        != point_hash([0, 3.0, 1e22])
    )


def test_points_of_samples_that_were_there_before_are_found_again(
    empty_url: str,
) -> None:
    database = Database(empty_url)
    database.migrate(
        lambda connection: command.upgrade(migration_config(connection), "0001")
    )
    points = [[0.1, float(number)] for number in range(3)] + [[-0.0, 3]]

    def fill(connection: Connection) -> None:
        words = "INSERT INTO studies (id, name, spec, budget, seed, created_at) VALUES (7, 'wing', '{}', 9, 1, 0.0)"
        connection.execute(text(words))
        insert = text(
            'INSERT INTO samples (study_id, x, "full", open, created_at) VALUES (7, :x, true, 0, 0.0)'
        )
        connection.execute(insert, [{"x": json.dumps(point)} for point in points])

    database.write(fill)
    upgrade(database)
    with database.read() as connection:
        found = samples_at_points(connection, 7, [(0.1, 2.0), (0.0, 3.0), (0.5, 0.5)])
    assert {point: [row.id for row in rows] for point, rows in found.items()} == {
        (0.1, 2.0): [3],
        (0.0, 3.0): [4],
    }
    database.close()


def test_a_newer_database_is_said_to_be_newer(database: Database) -> None:
    database.write(
        lambda connection: connection.execute(
            text("UPDATE alembic_version SET version_num = '9999'")
        )
    )
    for work in (require_head, upgrade):
        with pytest.raises(DatabaseBehind, match="made by a newer Counterpoise"):
            work(database)


def test_downgrade_of_the_first_migration_leaves_nothing_behind(
    database: Database,
) -> None:
    database.write(
        lambda connection: command.downgrade(migration_config(connection), "base")
    )
    assert revision(database) is None
    assert upgrade(database) == (None, head())


def test_a_database_behind_is_refused_with_the_command_that_helps(
    empty_url: str,
) -> None:
    database = Database(empty_url)
    with pytest.raises(DatabaseBehind, match="counterpoise migrate"):
        require_head(database)
    upgrade(database)
    require_head(database)
    database.close()


def _upgrade_together(url: str, barrier: "Barrier") -> None:
    database = Database(url)
    barrier.wait()
    upgrade(database)
    database.close()


def test_several_upgrades_at_once_do_not_collide(empty_url: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(2)
    processes = [
        spawn.Process(target=_upgrade_together, args=(empty_url, barrier))
        for _ in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    database = Database(empty_url)
    require_head(database)
    database.close()


def test_workers_that_were_there_before_are_counted(database: Database) -> None:
    study = SmallStudy(database)
    study.add_full(3)
    taken = study.take(6)
    ends = [
        ("done", None),
        ("late", None),
        ("failed", "error"),
        ("expired", None),
        ("released", None),
    ]

    def end(connection: Connection) -> None:
        command.downgrade(migration_config(connection), "0001")
        for one, (outcome, failure) in zip(taken, ends, strict=False):
            said = {
                "outcome": outcome,
                "failure": failure,
                "ended_at": attempts.c.leased_at + 2.0,
            }
            connection.execute(
                update(attempts).where(attempts.c.lease == one.lease).values(said)
            )

    database.migrate(end)
    assert upgrade(database) == ("0001", head())
    with database.read() as connection:
        (row,) = connection.execute(select(workers)).all()
    assert (row.done, row.error, row.lost, row.infeasible, row.slots, row.drained) == (
        2,
        1,
        1,
        0,
        1,
        False,
    )
    assert row.busy_s == pytest.approx(10.0, abs=1e-3)


def test_migrations_spell_out_their_columns() -> None:
    """A migration that imported today's tables would change with them."""
    for file in Path(MIGRATIONS, "versions").glob("*.py"):
        assert "app." not in file.read_text(), file
