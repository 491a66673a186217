"""Heartbeats, cancels that come back with them, and timeouts."""

import pytest

from tests.e2e.processes import eventually
from tests.worker.fake_server import FakeServer, lease_of
from tests.worker.loop.running_worker import Run


@pytest.mark.parametrize(
    ("of_study", "of_worker"), [(0.2, None), (None, 0.2), (0.2, 100.0), (100.0, 0.2)]
)
def test_a_timeout_is_an_error(
    run: Run, of_study: float | None, of_worker: float | None
) -> None:
    server = FakeServer(timeout_s=of_study)
    server.add()
    with run(server, timeout_s=of_worker) as worker:
        told = eventually(lambda: server.told.get(1), "the tell")
        assert worker.evaluator.started[0].cancel_reasons == [
            "timeout: still running after 0.2 s"
        ]
    assert told["failure"]["kind"] == "error"
    assert told["failure"]["message"].startswith("timeout")


def test_one_heartbeat_is_for_all_leases_and_as_often_as_the_server_wants(
    run: Run,
) -> None:
    server = FakeServer(heartbeat_s=0.1)
    server.add(3)
    with run(server, slots=3) as worker:
        eventually(lambda: len(server.heartbeats) >= 3, "three heartbeats")
        assert sorted(server.heartbeats[-1]) == [lease_of(job) for job in (1, 2, 3)]
        first = worker.evaluator.first()
        first.over.set()
        eventually(lambda: server.told, "the tell")
        eventually(
            lambda: first.job.lease not in server.heartbeats[-1],
            "heartbeats without it",
        )


def test_a_heartbeat_has_a_short_timeout(run: Run) -> None:
    server = FakeServer(heartbeat_s=0.05)
    server.add(1)
    with run(server):
        eventually(lambda: server.heartbeat_timeouts, "a heartbeat")
    assert set(server.heartbeat_timeouts) == {5.0}


def test_heartbeats_go_on_after_an_outage(run: Run) -> None:
    server = FakeServer(heartbeat_s=0.1)
    server.add()
    with run(server) as worker:
        eventually(lambda: server.heartbeats, "a heartbeat")
        server.unavailable = True
        worker.await_log("heartbeat failed")
        server.unavailable, count = False, len(server.heartbeats)
        eventually(lambda: len(server.heartbeats) > count, "another heartbeat")


def test_a_cancel_of_the_server_ends_the_evaluation_and_releases_the_job(
    run: Run,
) -> None:
    server = FakeServer(heartbeat_s=0.05)
    server.add(2)
    with run(server) as worker:
        evaluation = worker.evaluator.first()
        server.cancels[evaluation.job.lease] = (
            "study_stopped",
            "the study was stopped",
        )
        eventually(lambda: server.released == [evaluation.job.lease], "the release")
        assert evaluation.cancel_reasons == ["cancelled: the study was stopped"]
        eventually(lambda: len(worker.evaluator.started) == 2, "the next job")
    assert server.told == {}


def test_a_timeout_of_the_server_is_told_as_a_failure(run: Run) -> None:
    server = FakeServer(heartbeat_s=0.05)
    server.add()
    with run(server):
        server.cancels[lease_of(1)] = ("timeout", "timeout_s is over")
        told = eventually(lambda: server.told.get(1), "the tell")
    assert told["failure"]["message"] == "timeout: timeout_s is over"
    assert server.released == []


def test_a_value_in_spite_of_a_cancel_is_told(run: Run) -> None:
    server = FakeServer(heartbeat_s=0.05)
    server.add()
    with run(server) as worker:
        evaluation = worker.evaluator.first()
        evaluation.cancel = lambda _: evaluation.over.set()
        server.cancels[evaluation.job.lease] = (
            "value_known",
            "another worker told the value first",
        )
        assert eventually(lambda: server.told.get(1), "the tell")["value"] == 1.0
