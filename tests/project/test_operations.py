"""What docs/operations.md tells an operator to do, done: its commands are run as they
are printed.
"""

import inspect
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.settings import Settings
from app.store.database import Database
from app.store.tables import attempts
from benchmarks.service.postgresql import PostgreSQL
from counterpoise.wire.work import Ask
from tests.e2e.processes import eventually
from tests.service.lab import Lab

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()

MANY_JOBS: dict[str, Any] = {
    "initial_samples": 60,
    "budget": 60,
    "objectives": [
        {"name": name, "evaluation_time_s": 1.0} for name in ("mass", "crash")
    ],
}


def printed(words: str) -> str:
    """The page's one line that begins with these words."""
    (line,) = [line for line in PAGE.splitlines() if line.startswith(words)]
    return line


def shell(line: str, cwd: Path, **environment: str) -> None:
    subprocess.run(
        ["sh", "-c", line], cwd=cwd, env={**os.environ, **environment}, check=True
    )


class SQLiteFile:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def back_up(self) -> None:
        shell(printed("python3 -c"), self.folder)

    def restore(self) -> str:
        """In the place of the file that servers use, as the page says it."""
        place = self.folder / "counterpoise.db"
        shutil.copy(self.folder / "backup.db", place)
        for part in ("-wal", "-shm"):
            Path(f"{place}{part}").unlink(missing_ok=True)
        return f"sqlite:///{place}"


class PostgreSQLServer:
    def __init__(self, folder: Path, url: str, server: PostgreSQL) -> None:
        self.folder, self.url, self.server = folder, url.replace("+psycopg", ""), server
        self.path = f"{server.server.bin_path}:{os.environ['PATH']}"

    def back_up(self) -> None:
        shell(
            printed("pg_dump"),
            self.folder,
            PATH=self.path,
            COUNTERPOISE_DATABASE_URL=self.url,
        )

    def restore(self) -> str:
        url = self.server.create()
        shell(
            printed("pg_restore"),
            self.folder,
            PATH=self.path,
            NEW_DATABASE_URL=url.replace("+psycopg", ""),
        )
        return url


@pytest.fixture
def kept(
    backend: str, database_url: str, request: pytest.FixtureRequest, tmp_path: Path
) -> object:
    if backend == "sqlite":
        return SQLiteFile(tmp_path)
    return PostgreSQLServer(
        tmp_path, database_url, request.getfixturevalue("postgresql")
    )


@contextmanager
def telling(lab: Lab) -> Iterator[list[int]]:
    """Meanwhile job after job is told; those that were answered."""
    answered: list[int] = []
    over = threading.Event()

    def work() -> None:
        while not over.is_set() and (got := lab.ask("mass")):
            assert lab.tell(got[0]).status == 200
            answered.append(got[0].job)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield answered
    finally:
        over.set()
        thread.join()


def test_a_backup_made_while_everything_runs_is_a_study_that_goes_on(
    database: Database, kept: SQLiteFile | PostgreSQLServer
) -> None:
    lab = Lab(database, **MANY_JOBS)
    lab.plan()
    told, running = lab.ask("crash", most=2)
    lab.tell(told)
    with telling(lab) as answered:
        eventually(lambda: answered, "the first tell")
        before = len(answered)
        kept.back_up()
        during = len(answered) - before
    (later,) = lab.ask("crash")
    assert during > 0, "nothing was told during the backup: it shows nothing"
    database.close()

    again = Database(kept.restore())
    try:
        restored = Lab(again, **MANY_JOBS)
        restored.check_counters()
        # One moment: nothing is missing that was told before it, and nothing is there
        # without what came before.
        there = [
            row["job_id"] for row in restored.rows(attempts) if row["outcome"] == "done"
        ]
        assert there == [told.job, *answered[: len(there) - 1]]
        assert len(there) > before
        assert restored.tell(running).status == 200
        assert restored.tell(later).status == 404
        restored.expire()  # what was asked before that moment and told after it
        restored.end_backoffs()
        assert restored.run().phase == "finished"
    finally:
        again.close()


def nginx(directive: str) -> int:
    found = re.search(rf"^ *{directive} (\d+)[sm];", PAGE, re.M)
    assert found, directive
    return int(found[1])


def test_the_proxies_let_an_ask_wait_and_a_body_pass() -> None:
    (longest,) = [
        rule.le for rule in Ask.model_fields["wait_s"].metadata if hasattr(rule, "le")
    ]
    largest = Settings.model_fields["max_body_bytes"].default
    assert nginx("proxy_read_timeout") > longest
    assert nginx("client_max_body_size") * 2**20 == largest
    assert f"max_size {largest // 2**20}MiB" in PAGE
    assert f"response_header_timeout {nginx('proxy_read_timeout')}s" in PAGE


def test_the_page_counts_the_connections_of_a_server() -> None:
    pool = inspect.signature(Database).parameters["pool_size"].default
    assert f"A server takes up to {pool + 1} connections" in PAGE  # one listens
