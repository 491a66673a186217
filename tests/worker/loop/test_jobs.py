"""How many jobs a worker asks for, evaluates and tells."""

import time

from tests.e2e.processes import eventually
from tests.worker.fake_server import FakeServer, lease_of
from tests.worker.loop.running_worker import HeldEvaluator, Run


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
