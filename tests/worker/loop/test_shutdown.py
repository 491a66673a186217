"""How a worker ends: stopped once or twice, or drained."""

import threading

import pytest

from tests.e2e.processes import PATIENCE_S, eventually
from tests.worker.fake_server import FakeServer, lease_of
from tests.worker.loop.running_worker import Run


def test_after_one_stop_it_finishes_running_jobs_and_takes_no_more(run: Run) -> None:
    server = FakeServer()
    server.add(2)
    with run(server, grace_s=PATIENCE_S) as worker:
        evaluation = worker.evaluator.first()
        worker.loop.stop()
        worker.await_log("finishing running jobs")
        evaluation.over.set()
        worker.join()
    assert sorted(server.told) == [1]
    assert (len(server.ready), server.released) == (1, [])


def test_a_drained_worker_finishes_running_jobs_and_ends(run: Run) -> None:
    server = FakeServer()
    server.add(2)
    with run(server, slots=3) as worker:
        eventually(lambda: len(worker.evaluator.started) == 2, "both jobs")
        server.drained = True
        worker.await_log("no more jobs: drained")
        assert worker.thread.is_alive()
        for evaluation in worker.evaluator.started:
            evaluation.over.set()
        worker.join()
    assert sorted(server.told) == [1, 2]
    assert (worker.failures, server.released) == ([], [])


@pytest.mark.parametrize("stops", [1, 2])
def test_jobs_that_do_not_end_in_time_are_released(run: Run, stops: int) -> None:
    server = FakeServer()
    server.add(2)
    with run(server, slots=2, grace_s=0.1 if stops == 1 else 600.0) as worker:
        eventually(lambda: len(worker.evaluator.started) == 2, "two jobs")
        for _ in range(stops):
            worker.loop.stop()
        worker.join()
    assert sorted(server.released) == [lease_of(1), lease_of(2)]
    assert server.told == {}
    assert [evaluation.cancel_reasons for evaluation in worker.evaluator.started] == [
        ["the worker is stopped"]
    ] * 2


def test_jobs_that_arrive_after_a_stop_are_released(run: Run) -> None:
    server = FakeServer(ask_gate=threading.Event())
    assert server.ask_gate is not None
    server.add(2)
    with run(server, slots=2, grace_s=PATIENCE_S) as worker:
        eventually(lambda: server.asks, "an ask")
        worker.loop.stop()
        server.ask_gate.set()
        eventually(lambda: len(server.released) == 2, "the release")
        worker.join()
    assert worker.evaluator.started == []
