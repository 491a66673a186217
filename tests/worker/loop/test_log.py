"""The log of a worker, for people and for programs."""

import io

from counterpoise.worker.worker_log import WorkerLog
from tests.worker.fake_server import FakeServer
from tests.worker.loop.running_worker import HeldEvaluator, Run


def test_a_closed_log_loses_no_result(run: Run) -> None:
    server = FakeServer(finished=True)
    server.add(2)
    with run(server, HeldEvaluator(at_once=True), until_finished=True) as worker:
        worker.log.close()
        worker.join()
    assert sorted(server.told) == [1, 2]


def test_the_log_for_programs_is_json(run: Run) -> None:
    server = FakeServer(finished=True)
    server.add()
    with run(server, HeldEvaluator(at_once=True), until_finished=True) as worker:
        worker.join()
    (done,) = [line for line in worker.log_lines() if line["event"] == "done"]
    assert (done["job"], done["objective"], done["value"], done["level"]) == (
        1,
        "drag",
        1.0,
        "info",
    )


def test_the_log_for_people() -> None:
    stream = io.StringIO()
    WorkerLog(stream=stream).warning("error: it fell", job=3, duration_s=0.123456789)
    assert stream.getvalue()[8:] == " ! error: it fell  job=3 duration_s=0.123457\n"
