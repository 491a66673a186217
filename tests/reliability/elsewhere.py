"""Deeds in processes of their own, which a test holds at fault points, or kills there."""

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import text

from app.store.database import Database
from tests.e2e.processes import PATIENCE_S, ROOT, eventually

# One process loads the libraries; each deed is a fork of it. It has no threads, so that this is safe.
_CONTEXT = multiprocessing.get_context("forkserver")


class Faults:
    """The fault points of all deeds: they share one folder, which the first of them is told of."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def kill_at(self, name: str) -> None:
        (self.folder / f"{name}.kill").touch()

    def was_killed_at(self, name: str) -> bool:
        return (self.folder / f"{name}.killed").exists()

    def clear(self) -> None:
        for file in self.folder.iterdir():
            file.unlink()

    @contextmanager
    def held(self, name: str, deed: Callable[..., Any], url: str, *arguments: Any) -> Iterator["Deed"]:
        """A deed that has come to this point and waits there, until it is told to go on."""
        (self.folder / f"{name}.hold").touch()
        doing = Deed(self, name, deed, url, arguments)
        try:
            doing.await_held()
            yield doing
        finally:
            doing.go_on()
            doing.process.join(PATIENCE_S)
            self.clear()


class Deed:
    def __init__(
        self, faults: Faults, name: str, deed: Callable[..., Any], url: str, arguments: tuple[Any, ...]
    ) -> None:
        self.faults, self.name = faults, name
        self.inbox, outbox = _CONTEXT.Pipe(duplex=False)
        self.process = _CONTEXT.Process(target=_do, args=(outbox, deed, url, arguments), daemon=True)
        self.process.start()
        outbox.close()

    def await_held(self) -> None:
        held = self.faults.folder / f"{self.name}.held"
        eventually(lambda: held.exists() or not self.process.is_alive(), self.name)
        assert held.exists(), self.result()

    def go_on_to(self, name: str) -> None:
        """To the next point, and wait there."""
        (self.faults.folder / f"{name}.hold").touch()
        self.go_on()
        self.name = name
        self.await_held()

    def go_on(self) -> None:
        (self.faults.folder / f"{self.name}.hold").unlink(missing_ok=True)

    def result(self) -> Any:
        """What the deed answered; EOFError if its process was killed."""
        assert self.inbox.poll(PATIENCE_S), "the deed has no end"
        answer = self.inbox.recv()
        if isinstance(answer, BaseException):
            raise answer
        return answer


def _do(outbox: Connection, deed: Callable[..., Any], url: str, arguments: tuple[Any, ...]) -> None:
    database = Database(url)
    try:
        outbox.send(deed(database, *arguments))
    except Exception as error:  # noqa: BLE001  it is raised where the result is wanted
        outbox.send(error)
    finally:
        database.close()


@contextmanager
def killing(folder: Path) -> Iterator[Faults]:
    """Fault points that work in deeds, never in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTERPOISE_FAULTS", str(folder))
        patch.setenv("PYTHONPATH", str(ROOT))
        _CONTEXT.set_forkserver_preload(["tests.reliability.preloaded"])
        starter = _CONTEXT.Process(target=os.getpid)  # the first one starts the server, with this environment
        starter.start()
        starter.join()
    yield Faults(folder)


def killed(faults: Faults, name: str, deed: Callable[..., Any], url: str, *arguments: Any) -> None:
    """Do it in another process that is killed with SIGKILL at this point."""
    faults.kill_at(name)
    doomed = Deed(faults, name, deed, url, arguments)
    doomed.process.join(PATIENCE_S)
    assert faults.was_killed_at(name), f"nobody came to {name}"
    assert doomed.process.exitcode == -9
    faults.clear()


class Both(NamedTuple):
    """What came of two deeds at once."""

    held: Any
    beside: Any
    waited: bool  # did the second one wait for the held one?


def beside(database: Database, held: Deed, deed: Callable[[], Any]) -> Both:
    """Another deed, of this process; the held one goes on when the other is done or waits for it."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(deed)
        try:
            if database.is_sqlite:  # nobody can see there who waits for the writer's turn
                deadline = time.monotonic() + 0.3
                eventually(lambda: future.done() or time.monotonic() > deadline, "the other one")
            else:
                eventually(lambda: future.done() or _somebody_waits(database), "the other one, or a lock")
            waited = not future.done()
        finally:
            held.go_on()
        return Both(held.result(), future.result(), waited)


def _somebody_waits(database: Database) -> bool:
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with database.read() as connection:
        return bool(connection.execute(text(query)).scalar_one())
