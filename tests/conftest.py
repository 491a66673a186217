"""Both databases: SQLite, and a real PostgreSQL that a wheel brings along.

Tests of the store, of jobs and of reliability run on both. Those of `ON_ONE_DATABASE`
concern what lies above the store: `make test` runs half of them on each database,
`make slow` the other halves.
"""

import shutil
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import structlog
from xdist.scheduler import LoadFileScheduling

from app.store.database import Database
from app.store.tables import metadata
from app.store.upgrade import upgrade
from benchmarks.service.postgresql import PostgreSQL, running_postgresql
from tests.compiled_statements import share_compiled_statements

# Where a script runs the tests in its background, Ctrl-C is ignored, and would be by
# every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# As the server logs: the default draws every local variable of a traceback, for
# seconds.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(
            exception_formatter=structlog.dev.plain_traceback
        ),
    ]
)

share_compiled_statements()

LONG_ROOMS = (
    "browser",
    "client",
    "commands",
    "e2e",
    "evaluators",
    "project",
    "reliability",
    "worker",
    "workers",
)


ON_ONE_DATABASE = (
    "tests/api/openapi/",
    "tests/api/routes/",
    "tests/api/security/",
    "tests/api/status/",
    "tests/service/files/",
    "tests/service/monitoring/",
    "tests/service/planning/",
    "tests/service/studies/",
)
DATABASES = ("sqlite", "postgresql")
BROWSER = "tests/browser/"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, so that processes that share the files end together."""
    items.sort(key=lambda item: item.path.parent.name not in LONG_ROOMS)
    for item in items:
        if backend_of(item) in slow_backends_of(item):
            item.add_marker(pytest.mark.slow)


class OneBrowser(LoadFileScheduling):  # type: ignore[misc]
    """Tests of a file run in one process, and all that share the browser and its
    server.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return BROWSER if file.startswith(BROWSER) else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> OneBrowser:
    return OneBrowser(config, log)


def backend_of(item: pytest.Item) -> str | None:
    is_parametrized = isinstance(item, pytest.Function) and hasattr(item, "callspec")
    return item.callspec.params.get("backend") if is_parametrized else None  # type: ignore[attr-defined]


def slow_backends_of(item: pytest.Item) -> tuple[str, ...]:
    """The databases with which a test runs in `make slow` only: those of
    `slow_on("postgresql")`, or one of the two by the test's name.
    """
    marker = item.get_closest_marker("slow_on")
    if marker is not None:
        return marker.args
    chosen = [mark.args[0] for mark in item.iter_markers("parametrize")]
    if item.nodeid.startswith(ON_ONE_DATABASE) and "backend" not in chosen:
        name = item.originalname if isinstance(item, pytest.Function) else item.name
        return (DATABASES[zlib.crc32(name.encode()) % 2],)
    return ()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many tests of the dashboard were not run, in one line."""
    skipped = terminalreporter.stats.get("skipped", [])
    missed = [report for report in skipped if "tests/browser" in report.nodeid]
    if missed:
        reason = missed[0].longrepr[2].removeprefix("Skipped: ")
        terminalreporter.write_line(f"{len(missed)} browser tests not run: {reason}")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """One server per test session; every test gets a database of its own."""
    with running_postgresql(durable=False) as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_template(postgresql: PostgreSQL) -> str:
    url = postgresql.create()
    database = Database(url)
    upgrade(database)
    database.close()
    return postgresql.name(url)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("sqlite") / "template.db"
    database = Database(f"sqlite:///{file}")
    upgrade(database)
    database.close()
    return file


@pytest.fixture(params=DATABASES)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def empty_url(
    backend: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[str]:
    """A database without any table."""
    if backend == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    postgresql: PostgreSQL = request.getfixturevalue("postgresql")
    url = postgresql.create()
    yield url
    postgresql.drop(url)


@pytest.fixture(scope="session")
def used_databases() -> list[str]:
    """PostgreSQL databases at the newest schema that were used and emptied: to make one
    takes half a second.
    """
    return []


@pytest.fixture
def database_url(
    backend: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[str]:
    """A database at the newest schema, without rows."""
    if backend == "sqlite":
        file = tmp_path / "counterpoise.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), file)
        yield f"sqlite:///{file}"
        return
    postgresql: PostgreSQL = request.getfixturevalue("postgresql")
    template = request.getfixturevalue("postgresql_template")
    if request.node.path.parent.name in LONG_ROOMS or request.node.get_closest_marker(
        "own_database"
    ):
        url = postgresql.create(template)
        yield url
        postgresql.drop(url)
        return
    used: list[str] = request.getfixturevalue("used_databases")
    url = used.pop() if used else postgresql.create(template)
    yield url
    empty(url)
    used.append(url)


def empty(url: str) -> None:
    """As it was when it was made.

    Only for tests without processes of their own, which might still write.
    """
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        names = [table.name for table in reversed(metadata.sorted_tables)]
        deletions = "".join(f"DELETE FROM {name}; " for name in names)  # noqa: S608
        numbers = (
            "PERFORM setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S';"
        )
        connection.execute(f"DO $$ BEGIN {deletions} {numbers} END $$".encode())


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()
