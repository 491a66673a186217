"""A Dask cluster as an executor.

While its scheduler is unavailable, submitted work waits.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, TypeVar

from distributed import Client, get_worker

from counterpoise.worker.evaluators.executor_evaluator import ClusterUnusable

T = TypeVar("T")
SCHEME = "dask://"
CONNECT_S = 10.0
POLL_S = 1.0


class SchedulerLost(Exception):
    """The scheduler has restarted without its tasks, or they were cancelled there."""


def is_wanted() -> bool:
    """Inside a task: false once its future is cancelled, the submitting process gone or
    the Dask worker closing.
    """
    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    is_closing = worker.status.name in ("closing", "closed")
    return not is_closing and task is not None and task.state != "cancelled"


class DaskExecutor(Executor):
    def __init__(self, address: str) -> None:
        self._address = address.replace(SCHEME, "tcp://", 1)
        self._client = self._connect()
        self._waiting: list[tuple[Future[Any], Callable[[], Any]]] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._reconnector = threading.Thread(
            target=self._stay_connected, name="dask reconnector", daemon=True
        )
        self._reconnector.start()

    def _connect(self) -> Client:
        try:
            return Client(self._address, timeout=CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise ClusterUnusable(
                f"cannot connect to a Dask scheduler at {self._address}: {error}"
            ) from error

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        future: Future[T] = Future()
        with self._lock:
            self._waiting.append((future, partial(fn, *args, **kwargs)))
        self._submit_waiting()
        return future

    def _submit_waiting(self) -> None:
        with self._lock:
            if self._client.status != "running":
                return
            waiting, self._waiting = self._waiting, []
            executor = self._client.get_executor(pure=False)  # type: ignore[no-untyped-call]
        for future, work in waiting:
            if future.cancelled():
                continue
            try:
                _link(executor.submit(work), future)
            except Exception as error:  # noqa: BLE001  it cannot be pickled, or the connection has just broken
                if future.set_running_or_notify_cancel():
                    future.set_exception(error)

    def _stay_connected(self) -> None:
        while not self._closing.wait(POLL_S):
            if self._client.status == "closed":
                try:
                    self._client = self._connect()
                except ClusterUnusable:
                    continue
            self._submit_waiting()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        self._closing.set()
        # It may wait for a scheduler that is unavailable
        self._reconnector.join(2 * POLL_S)
        self._client.close()  # type: ignore[no-untyped-call]  # the scheduler forgets our tasks, which end then


def _link(inner: "Future[T]", outer: "Future[T]") -> None:
    """Cancel the inner future with the outer one, and copy the inner one's result to
    the outer one.
    """
    inner.add_done_callback(lambda _: _copy(inner, outer))
    outer.add_done_callback(lambda _: inner.cancel() if outer.cancelled() else None)


def _copy(inner: "Future[T]", outer: "Future[T]") -> None:
    if not outer.set_running_or_notify_cancel():
        return
    if inner.cancelled():
        outer.set_exception(
            SchedulerLost(
                "the Dask scheduler was restarted, or its tasks were cancelled there"
            )
        )
    elif (error := inner.exception()) is not None:
        outer.set_exception(error)
    else:
        outer.set_result(inner.result())
