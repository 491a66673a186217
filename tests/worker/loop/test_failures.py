"""A failed evaluation fails its job, and nothing else."""

import pytest

from counterpoise.wire.codes import FailureKind
from counterpoise.worker.evaluators.evaluator import EvaluationResult, failed
from counterpoise.worker.shutdown import Shutdown
from tests.e2e.processes import eventually
from tests.worker.fake_server import FakeServer
from tests.worker.loop.running_worker import HeldEvaluation, HeldEvaluator, Run


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
    monkeypatch.setattr("counterpoise.worker.jobs.slots.LONGEST_REST_S", 6.0)
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
