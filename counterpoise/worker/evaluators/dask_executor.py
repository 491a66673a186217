"""A Dask cluster as an executor. Its scheduler may go away and come back: what is submitted meanwhile waits."""

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
LOOK_S = 1.0


class SchedulerLost(Exception):
    """The scheduler went away and forgot its tasks, or somebody cancelled them there."""


def wanted() -> bool:
    """Asked inside a task: not so, once our future is cancelled, our process gone or the Dask worker about to end."""
    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    ending = worker.status.name in ("closing", "closed")
    return not ending and task is not None and task.state != "cancelled"


class DaskExecutor(Executor):
    def __init__(self, address: str) -> None:
        self._address = address.replace(SCHEME, "tcp://", 1)
        self._client = self._connect()
        self._waiting: list[tuple[Future[Any], Callable[[], Any]]] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._keeper = threading.Thread(target=self._keep_connected, name="dask keeper", daemon=True)
        self._keeper.start()

    def _connect(self) -> Client:
        try:
            return Client(self._address, timeout=CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise ClusterUnusable(f"no Dask scheduler answers at {self._address}: {error}") from error

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        future: Future[T] = Future()
        with self._lock:
            self._waiting.append((future, partial(fn, *args, **kwargs)))
        self._hand_on()
        return future

    def _hand_on(self) -> None:
        with self._lock:
            if self._client.status != "running":
                return
            waiting, self._waiting = self._waiting, []
            executor = self._client.get_executor(pure=False)  # type: ignore[no-untyped-call]
        for future, work in waiting:
            if future.cancelled():
                continue
            try:
                _tie(executor.submit(work), future)
            except Exception as error:  # noqa: BLE001  (it cannot be pickled, or the connection broke just now)
                if future.set_running_or_notify_cancel():
                    future.set_exception(error)

    def _keep_connected(self) -> None:
        while not self._closing.wait(LOOK_S):
            if self._client.status == "closed":
                try:
                    self._client = self._connect()
                except ClusterUnusable:
                    continue
            self._hand_on()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        self._closing.set()
        self._keeper.join(2 * LOOK_S)  # it may be waiting for a scheduler that is away
        self._client.close()  # type: ignore[no-untyped-call]  # the scheduler forgets our tasks, which notice it


def _tie(inner: "Future[T]", outer: "Future[T]") -> None:
    """Cancelling the outer one cancels the inner one; how the inner one ends, the outer one does."""
    inner.add_done_callback(lambda _: _copy(inner, outer))
    outer.add_done_callback(lambda _: inner.cancel() if outer.cancelled() else None)


def _copy(inner: "Future[T]", outer: "Future[T]") -> None:
    if not outer.set_running_or_notify_cancel():
        return
    if inner.cancelled():
        outer.set_exception(SchedulerLost("the Dask scheduler went away, or its tasks were cancelled there"))
    elif (error := inner.exception()) is not None:
        outer.set_exception(error)
    else:
        outer.set_result(inner.result())
