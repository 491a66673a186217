"""Migrations on both databases: to head, no drift, no collision."""

import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from app.errors import DatabaseBehind
from app.store.database import Database
from app.store.tables import metadata
from app.store.upgrade import MIGRATIONS, drift, head, require_head, revision, upgrade


def test_an_empty_database_upgrades_to_head_without_drift(empty_url: str) -> None:
    database = Database(empty_url)
    assert revision(database) is None
    assert upgrade(database) == (None, head())
    assert upgrade(database) == (head(), head())
    assert drift(database) == []
    database.close()


def test_migrated_schema_is_the_declared_one_to_the_letter(empty_url: str, database: Database, backend: str) -> None:
    """Alembic compares neither CHECKs nor the WHERE of an index; here every definition counts."""
    declared = Database(empty_url)
    declared.write(metadata.create_all)
    with declared.read() as left, database.read() as right:
        assert definitions(right, backend) == definitions(left, backend)
    declared.close()


def definitions(connection: Connection, backend: str) -> set[str]:
    if backend == "sqlite":
        rows = connection.execute(text("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")).scalars()
        # Order and white space of a table's parts are free; "(-1)" is how a migration spells -1.
        parts = {part for sql in rows for part in sql.replace("(-1)", "-1").replace("\t", "").split("\n")}
        return {
            part.strip().rstrip(",") for part in parts if "alembic_version" not in part and "version_num" not in part
        }
    queries = [
        "SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = 'public'::regnamespace",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
        "SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' ||"
        " coalesce(column_default, '') FROM information_schema.columns WHERE table_schema = 'public'",
    ]
    found = {row for query in queries for row in connection.execute(text(query)).scalars()}
    return {row.replace("'-1'::integer", "-1").replace("(-1)", "-1") for row in found if "alembic_version" not in row}


def test_downgrade_of_the_first_migration_leaves_nothing_behind(database: Database) -> None:
    from alembic import command

    from app.store.upgrade import _config

    database.write(lambda connection: command.downgrade(_config(connection), "base"))
    assert revision(database) is None
    assert upgrade(database) == (None, head())


def test_a_database_behind_is_refused_with_the_command_that_helps(empty_url: str) -> None:
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
    barrier = spawn.Barrier(4)
    processes = [spawn.Process(target=_upgrade_together, args=(empty_url, barrier)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    database = Database(empty_url)
    require_head(database)
    database.close()


def test_migrations_spell_out_their_columns() -> None:
    """A migration that imported today's tables would change with them."""
    for file in Path(MIGRATIONS, "versions").glob("*.py"):
        assert "app." not in file.read_text(), file
