"""A server that is unavailable or refuses requests, and a disk that is not writable."""

from contextlib import suppress
from pathlib import Path

from counterpoise import RequestFailed
from tests.e2e.processes import eventually
from tests.worker.fake_server import FakeServer
from tests.worker.loop.running_worker import ASK_FAILED, TELL_FAILED, HeldEvaluator, Run


def spooled(folder: Path) -> list[Path]:
    with suppress(FileNotFoundError):  # a folder that was removed just now
        return list(folder.rglob("*.json"))
    return []


def test_evaluations_go_on_while_the_server_is_unavailable(
    run: Run, tmp_path: Path
) -> None:
    server = FakeServer()
    server.add(3)
    with run(server, slots=2) as worker:
        eventually(lambda: len(worker.evaluator.started) == 2, "two jobs")
        server.unavailable = True
        for evaluation in worker.evaluator.started:
            evaluation.over.set()
        eventually(lambda: len(spooled(tmp_path)) == 2, "the results on disk")
        worker.await_log(ASK_FAILED)
        server.unavailable = False
        eventually(lambda: sorted(server.told) == [1, 2], "the results")
        eventually(lambda: len(worker.evaluator.started) == 3, "the third job")
    assert worker.log.getvalue().count(ASK_FAILED) == 1  # not for every attempt


def test_a_server_that_starts_later_than_the_worker(run: Run) -> None:
    server = FakeServer(unavailable=True)
    server.add()
    with run(server, HeldEvaluator(at_once=True)) as worker:
        worker.await_log(ASK_FAILED)
        server.unavailable = False
        eventually(lambda: server.told, "the tell")


def test_a_first_ask_that_is_refused_ends_the_worker(run: Run) -> None:
    with run(FakeServer(statuses={"/ask": 403})) as worker:
        worker.join()
    assert isinstance(worker.failures[0], RequestFailed)


def test_a_later_ask_that_is_refused_is_repeated(run: Run) -> None:
    server = FakeServer()
    with run(server, HeldEvaluator(at_once=True)) as worker:
        eventually(lambda: server.asks, "the first ask")
        server.statuses["/ask"] = 403
        worker.await_log(ASK_FAILED)
        server.add()
        del server.statuses["/ask"]
        eventually(lambda: server.told, "the tell")


def test_without_a_disk_a_slot_waits_until_its_result_is_told(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "spool").write_text("not a folder")
    server = FakeServer(statuses={"/tell": 503})
    server.add(2)
    with run(server, HeldEvaluator(at_once=True)) as worker:
        worker.await_log(TELL_FAILED)
        assert len(worker.evaluator.started) == 1
        del server.statuses["/tell"]
        eventually(lambda: sorted(server.told) == [1, 2], "both results")


def test_a_result_that_is_neither_told_nor_on_disk_is_logged_at_the_end(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "spool").write_text("not a folder")
    server = FakeServer(statuses={"/tell": 503})
    server.add()
    with run(server, HeldEvaluator(at_once=True), grace_s=0.1) as worker:
        worker.await_log(TELL_FAILED)
        worker.loop.stop()
        worker.join()
    assert worker.log_lines()[-1]["tell"]["value"] == 1.0
    assert server.released == []  # it was evaluated


def test_results_that_are_not_told_stay_in_the_spool(run: Run, tmp_path: Path) -> None:
    server = FakeServer(statuses={"/tell": 503})
    server.add()
    with run(server, HeldEvaluator(at_once=True), max_jobs=1, grace_s=0.2) as worker:
        worker.join()
    last = worker.log_lines()[-1]
    assert (last["level"], last["results"]) == ("warning", 1)
    assert "spool" in last["event"]
    assert len(spooled(tmp_path)) == 1
