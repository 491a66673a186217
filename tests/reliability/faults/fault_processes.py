"""Operations in processes of their own, which a test holds or kills at fault points."""

import multiprocessing
import multiprocessing.forkserver
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import text

from app.store.database import Database
from tests.e2e.processes import PATIENCE_S, ROOT, eventually

# One process imports the libraries, and each operation is a fork of it. It has no
# threads, so forking it is safe.
_CONTEXT = multiprocessing.get_context("forkserver")
_WAIT_FOR_WRITER_S = 0.3
_WAITING_FOR_LOCK = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


class FaultPoints:
    """The fault points of all operations; they share one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def hold_at(self, point: str) -> None:
        (self.folder / f"{point}.hold").touch()

    def resume_at(self, point: str) -> None:
        (self.folder / f"{point}.hold").unlink(missing_ok=True)

    def is_held_at(self, point: str) -> bool:
        return (self.folder / f"{point}.held").exists()

    def kill_at(self, point: str) -> None:
        (self.folder / f"{point}.kill").touch()

    def was_killed_at(self, point: str) -> bool:
        return (self.folder / f"{point}.killed").exists()

    def clear(self) -> None:
        for file in self.folder.iterdir():
            file.unlink()

    @contextmanager
    def held(
        self,
        point: str,
        function: Callable[..., Any],
        database: Database,
        *arguments: Any,
    ) -> Iterator["FaultProcess"]:
        """A process that has reached this point and waits there until it is resumed."""
        self.hold_at(point)
        process = FaultProcess(self, function, database, arguments)
        try:
            process.await_held(point)
            yield process
        finally:
            process.resume()
            process.process.join(PATIENCE_S)
            self.clear()

    def run_until_killed(
        self,
        point: str,
        function: Callable[..., Any],
        database: Database,
        *arguments: Any,
    ) -> None:
        """Run in another process, which is killed with SIGKILL at this point."""
        self.kill_at(point)
        process = FaultProcess(self, function, database, arguments)
        process.process.join(PATIENCE_S)
        assert self.was_killed_at(point), f"no process reached {point}"
        assert process.process.exitcode == -9
        self.clear()


class ConcurrentResults(NamedTuple):
    held: Any
    other: Any
    waited: bool  # whether the other operation waited for the held one


class FaultProcess:
    """Calls `function(database, *arguments)` in another process."""

    def __init__(
        self,
        faults: FaultPoints,
        function: Callable[..., Any],
        database: Database,
        arguments: tuple[Any, ...],
    ) -> None:
        self.faults = faults
        self.database = database
        self.point = ""
        self.receiver, sender = _CONTEXT.Pipe(duplex=False)
        call = (sender, function, database.url, arguments)
        self.process = _CONTEXT.Process(target=_call, args=call, daemon=True)
        self.process.start()
        sender.close()

    def await_held(self, point: str) -> None:
        self.point = point

        def is_held_or_dead() -> bool:
            return self.faults.is_held_at(point) or not self.process.is_alive()

        eventually(is_held_or_dead, point)
        assert self.faults.is_held_at(point), self.result()

    def resume(self) -> None:
        self.faults.resume_at(self.point)

    def advance_to(self, point: str) -> None:
        """Resume, and wait until it is held at the next point."""
        self.faults.hold_at(point)
        self.resume()
        self.await_held(point)

    def result(self) -> Any:
        """What the function returned, or raise its error; EOFError if the process was
        killed.
        """
        assert self.receiver.poll(PATIENCE_S), "the process does not end"
        result = self.receiver.recv()
        if isinstance(result, BaseException):
            raise result
        return result

    def run_beside(self, other: Callable[[], Any]) -> ConcurrentResults:
        """Run another operation in this process; resume when it is done, or waits for
        the held one.
        """
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(other)
            try:
                _await_done_or_blocked(self.database, future)
                waited = not future.done()
            finally:
                self.resume()
            return ConcurrentResults(self.result(), future.result(), waited)


def _call(
    sender: Connection,
    function: Callable[..., Any],
    url: str,
    arguments: tuple[Any, ...],
) -> None:
    database = Database(url)
    try:
        sender.send(function(database, *arguments))
    except Exception as error:  # noqa: BLE001  raised where the result is read
        sender.send(error)
    finally:
        database.close()


@contextmanager
def fault_points(folder: Path) -> Iterator[FaultPoints]:
    """Fault points that act in fault processes, never in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTERPOISE_FAULTS", str(folder))
        patch.setenv("PYTHONPATH", str(ROOT))
        # Another test of this process may have started one without fault points
        multiprocessing.forkserver._forkserver._stop()  # type: ignore[attr-defined]
        _CONTEXT.set_forkserver_preload(["tests.reliability.faults.forkserver_preload"])
        # Starts the fork server with this environment
        first = _CONTEXT.Process(target=os.getpid)
        first.start()
        first.join()
    yield FaultPoints(folder)


def _await_done_or_blocked(database: Database, future: Future[Any]) -> None:
    if database.is_sqlite:  # it does not show which connection waits for the write lock
        deadline = time.monotonic() + _WAIT_FOR_WRITER_S
        eventually(
            lambda: future.done() or time.monotonic() > deadline, "the other operation"
        )
    else:
        eventually(
            lambda: future.done() or _any_waits_for_lock(database),
            "the other operation, or a lock",
        )


def _any_waits_for_lock(database: Database) -> bool:
    with database.read() as connection:
        return bool(connection.execute(_WAITING_FOR_LOCK).scalar_one())
