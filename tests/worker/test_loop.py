"""The worker's loop with a server in memory, and evaluations that end when the test
says so.
"""

import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from counterpoise import RequestFailed
from counterpoise.wire.codes import FailureKind
from counterpoise.wire.work import Job
from counterpoise.worker.config import WorkerConfig
from counterpoise.worker.evaluators.evaluator import EvaluationResult, failed
from counterpoise.worker.loop import WorkerLoop
from counterpoise.worker.shutdown import Shutdown
from counterpoise.worker.spool import Spool
from counterpoise.worker.worker_log import WorkerLog
from tests.e2e.processes import PATIENCE_S, eventually
from tests.worker.fake_server import FakeServer, lease_of

ASK_FAILED = "asking for jobs failed"
TELL_FAILED = "telling results failed"


@dataclass(eq=False)
class HeldEvaluation:
    """Lasts until the test sets `over`."""

    job: Job
    over: threading.Event = field(default_factory=threading.Event)
    result: EvaluationResult = field(
        default_factory=lambda: EvaluationResult(1.0, duration_s=0.5)
    )
    cancel_reasons: list[str] = field(default_factory=list)

    def wait(self, timeout_s: float | None) -> EvaluationResult | None:
        return self.result if self.over.wait(timeout_s) else None

    def cancel(self, reason: str) -> None:
        if not self.over.is_set():
            self.cancel_reasons.append(reason)
            self.result = failed(FailureKind.ERROR, reason)
            self.over.set()


@dataclass
class HeldEvaluator:
    at_once: bool = False  # evaluations end at once
    fault: Exception | None = None
    started: list[HeldEvaluation] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)

    def start(self, slot: int, job: Job) -> HeldEvaluation:
        if self.fault is not None:
            raise self.fault
        evaluation = HeldEvaluation(job)
        if self.at_once:
            evaluation.over.set()
        self.started.append(evaluation)
        self.slots.append(slot)
        return evaluation

    def close(self) -> None:
        pass

    def first(self) -> HeldEvaluation:
        return eventually(lambda: self.started, "the job")[0]


@dataclass
class RunningWorker:
    server: FakeServer
    evaluator: HeldEvaluator
    loop: WorkerLoop
    thread: threading.Thread
    failures: list[Exception]
    log: io.StringIO

    def join(self) -> None:
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()

    def await_log(self, event: str) -> None:
        eventually(lambda: event in self.log.getvalue(), event)

    def log_lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterpoise.worker.slots.LONGEST_REST_S", 0.02)
    for module in ("teller", "asker", "heartbeats"):
        monkeypatch.setattr(
            f"counterpoise.worker.{module}.pause_s", lambda _failures: 0.02
        )


Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    @contextmanager
    def start(
        server: FakeServer, evaluator: HeldEvaluator | None = None, **options: Any
    ) -> Iterator[RunningWorker]:
        evaluator = evaluator or HeldEvaluator()
        failures: list[Exception] = []
        log = io.StringIO()
        spool = Spool(tmp_path / "spool")
        with server.client() as client:
            config = WorkerConfig("me", ("wing",), **options)
            loop = WorkerLoop(
                client, {"drag": evaluator}, spool, config, WorkerLog(True, log)
            )

            def run_loop() -> None:
                try:
                    loop.run()
                except Exception as error:  # noqa: BLE001
                    failures.append(error)

            thread = threading.Thread(target=run_loop, daemon=True)
            worker = RunningWorker(server, evaluator, loop, thread, failures, log)
            thread.start()
            try:
                yield worker
            finally:
                loop.stop()
                loop.stop()
                worker.join()
                spool.close()

    return start


def test_jobs_are_evaluated_and_told_until_the_study_is_finished(run: Run) -> None:
    server = FakeServer(finished=True)
    server.add(20)
    with run(
        server, HeldEvaluator(at_once=True), slots=3, until_finished=True
    ) as worker:
        worker.join()
    assert sorted(server.told) == list(range(1, 21))
    assert server.told[1] == {
        "job": 1,
        "lease": lease_of(1),
        "value": 1.0,
        "also": {},
        "duration_s": 0.5,
    }
    assert worker.failures == []
    assert {ask["worker"] for ask in server.asks} == {"me"}
    assert server.asks[0]["studies"] == ["wing"]
    assert server.asks[0]["objectives"] == ["drag"]


def test_it_asks_only_for_as_many_jobs_as_slots_are_free(run: Run) -> None:
    server = FakeServer()
    server.add(5)
    with run(server, slots=3) as worker:
        evaluator = worker.evaluator
        eventually(lambda: len(evaluator.started) == 3, "three jobs")
        assert sorted(evaluator.slots) == [0, 1, 2]
        # And none while all slots are taken
        assert [ask["max_jobs"] for ask in server.asks] == [3]
        evaluator.started[1].over.set()
        eventually(lambda: len(evaluator.started) == 4, "the fourth job")
        assert evaluator.slots[3] == evaluator.slots[1]
        assert server.asks[1]["max_jobs"] == 1


def test_no_more_jobs_are_asked_for_while_many_results_are_untold(run: Run) -> None:
    """Otherwise their leases would expire before they can be told."""
    server = FakeServer(statuses={"/tell": 503})
    server.add(100)
    with run(server, HeldEvaluator(at_once=True), slots=2) as worker:
        eventually(lambda: len(worker.evaluator.started) >= 18, "untold results")
        time.sleep(0.2)  # for what should not happen
        assert len(worker.evaluator.started) <= 20
        server.statuses.clear()
        eventually(lambda: len(server.told) == 100, "all results")


def test_max_jobs_ends_it(run: Run) -> None:
    server = FakeServer()
    server.add(5)
    with run(server, HeldEvaluator(at_once=True), slots=2, max_jobs=3) as worker:
        worker.join()
    assert sorted(server.told) == [1, 2, 3]
    assert sum(ask["max_jobs"] for ask in server.asks) <= 5
    assert len(server.ready) == 2


def test_a_failure_is_told(run: Run) -> None:
    server = FakeServer()
    server.add()
    with run(server) as worker:
        evaluation = worker.evaluator.first()
        evaluation.result = failed(
            FailureKind.INFEASIBLE, "it folds", "log", duration_s=2.0
        )
        evaluation.over.set()
        told = eventually(lambda: server.told.get(1), "the tell")
    assert told["failure"] == {
        "kind": "infeasible",
        "message": "it folds\n--- printed ---\nlog",
    }
    assert told["duration_s"] == 2.0
    (line,) = [line for line in worker.log_lines() if line.get("job") == 1]
    assert (line["level"], line["event"]) == ("warning", "infeasible: it folds")


def test_an_evaluation_that_cannot_be_started_is_an_infrastructure_failure(
    run: Run,
) -> None:
    server = FakeServer()
    server.add()
    with run(server, HeldEvaluator(fault=OSError("no more processes"))):
        told = eventually(lambda: server.told.get(1), "the tell")
    assert told["failure"]["kind"] == "infrastructure"
    assert "no more processes" in told["failure"]["message"]


def test_a_slot_rests_longer_after_each_infrastructure_failure_until_a_success(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    monkeypatch.setattr("counterpoise.worker.slots.LONGEST_REST_S", 6.0)
    monkeypatch.setattr(Shutdown, "sleep", lambda _self, seconds: rests.append(seconds))
    evaluator = HeldEvaluator(fault=OSError("no licence"))
    server = FakeServer()
    server.add(3)
    with run(server, evaluator):
        eventually(lambda: len(server.told) == 3, "three failures")
        evaluator.fault = None
        server.add(1)
        evaluator.first().over.set()
        eventually(lambda: len(server.told) == 4, "a value")
        evaluator.fault = OSError("no licence")
        server.add(1)
        eventually(lambda: len(server.told) == 5, "one more failure")
        eventually(
            lambda: [rest for rest in rests if rest > 1.0] == [2.0, 4.0, 6.0, 2.0],
            "its rest",
        )


def test_an_error_of_an_evaluator_fails_only_its_job(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(
        self: HeldEvaluation, timeout_s: float | None
    ) -> EvaluationResult | None:
        raise ValueError("no JSON")

    monkeypatch.setattr(HeldEvaluation, "wait", broken)
    server = FakeServer(finished=True)
    server.add(2)
    with run(server, until_finished=True) as worker:
        worker.join()
    assert [server.told[job]["failure"]["kind"] for job in (1, 2)] == [
        "infrastructure"
    ] * 2
    assert "ValueError('no JSON')" in server.told[1]["failure"]["message"]


def test_a_closed_log_loses_no_result(run: Run) -> None:
    server = FakeServer(finished=True)
    server.add(2)
    with run(server, HeldEvaluator(at_once=True), until_finished=True) as worker:
        worker.log.close()
        worker.join()
    assert sorted(server.told) == [1, 2]


def test_a_result_that_cannot_be_told_fails_only_its_job(run: Run) -> None:
    server = FakeServer()
    server.add(2)
    with run(server) as worker:
        evaluation = worker.evaluator.first()
        evaluation.result = EvaluationResult(1.0, metadata={"a": float("nan")})
        evaluation.over.set()
        told = eventually(lambda: server.told.get(1), "the tell")
        assert told["failure"]["kind"] == "error"
        eventually(lambda: len(worker.evaluator.started) == 2, "the next job")


# timeouts, heartbeats, cancels


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


# a server that is unavailable, or refuses


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


# the end


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


def test_results_that_are_not_told_stay_in_the_spool(run: Run, tmp_path: Path) -> None:
    server = FakeServer(statuses={"/tell": 503})
    server.add()
    with run(server, HeldEvaluator(at_once=True), max_jobs=1, grace_s=0.2) as worker:
        worker.join()
    last = worker.log_lines()[-1]
    assert (last["level"], last["results"]) == ("warning", 1)
    assert "spool" in last["event"]
    assert len(spooled(tmp_path)) == 1


# the log


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
