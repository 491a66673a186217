"""A pooler of transactions is refused at the start."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from app.errors import DatabaseUnusable
from app.migrate import migrate, prepare_database
from app.settings import load_settings
from app.store.database import Database
from app.store.sessions import require_sessions
from tests.e2e.processes import eventually, free_port

PGBOUNCER = shutil.which("pgbouncer")


@pytest.fixture
def backend() -> str:
    return "postgresql"


@contextmanager
def pgbouncer(database_url: str, pool_mode: str, folder: Path) -> Iterator[str]:
    """Yields the URL of the same database through a pooler."""
    assert PGBOUNCER is not None
    url = urlsplit(database_url)
    directory = parse_qs(url.query)["host"][0]
    port = free_port()
    config = folder / "pgbouncer.ini"
    config.write_text(
        f"[databases]\n* = host={directory} user=postgres\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"unix_socket_dir =\nauth_type = any\npool_mode = {pool_mode}\n"
    )
    folder.chmod(0o755)
    owner = Path(directory).owner()
    command = [PGBOUNCER, "-q", "/dev/stdin"]
    with (
        config.open() as stdin,
        subprocess.Popen(command, stdin=stdin, user=owner) as process,
    ):
        try:
            eventually(lambda: accepts(port), "pgbouncer")
            yield f"postgresql+psycopg://postgres@127.0.0.1:{port}{url.path}"
        finally:
            process.terminate()


def accepts(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed")
def test_a_pooler_of_transactions_is_refused(database_url: str, tmp_path: Path) -> None:
    with pgbouncer(database_url, "transaction", tmp_path) as url:
        settings = load_settings(database_url=url)
        for start in (prepare_database, migrate):
            with pytest.raises(DatabaseUnusable, match="pool_mode = session"):
                start(settings)


@pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed")
def test_a_pooler_of_sessions_is_accepted(database_url: str, tmp_path: Path) -> None:
    with pgbouncer(database_url, "session", tmp_path) as url:
        prepare_database(load_settings(database_url=url))


def test_postgresql_itself_is_accepted(database_url: str) -> None:
    with closing(Database(database_url)) as database:
        require_sessions(database)
