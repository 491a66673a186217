"""The worker's loop against a server in memory, with evaluations that a test ends when it wants to."""

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
from counterpoise.wire.work import Job
from counterpoise.worker.evaluators.evaluator import Outcome, failed
from counterpoise.worker.log import Log
from counterpoise.worker.loop import Loop, Terms
from counterpoise.worker.spool import Spool
from tests.e2e.processes import PATIENCE_S, eventually
from tests.workers.fake_server import FakeServer


@dataclass(eq=False)
class Gate:
    """An evaluation that lasts until the test lets it end."""

    job: Job
    over: threading.Event = field(default_factory=threading.Event)
    outcome: Outcome = field(default_factory=lambda: Outcome(1.0, duration_s=0.5))
    why: list[str] = field(default_factory=list)

    def wait(self, timeout_s: float | None) -> Outcome | None:
        return self.outcome if self.over.wait(timeout_s) else None

    def cancel(self, why: str) -> None:
        if not self.over.is_set():
            self.why.append(why)
            self.outcome = failed("error", why)
            self.over.set()


@dataclass
class Gates:
    open: bool = False
    started: list[Gate] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    closed: bool = False
    fault: Exception | None = None

    def start(self, slot: int, job: Job) -> Gate:
        if self.fault is not None:
            raise self.fault
        gate = Gate(job)
        if self.open:
            gate.over.set()
        self.started.append(gate)
        self.slots.append(slot)
        return gate

    def close(self) -> None:
        self.closed = True


@dataclass
class Scene:
    server: FakeServer
    gates: Gates
    loop: Loop
    thread: threading.Thread
    failures: list[Exception]
    log: io.StringIO

    def ended(self) -> None:
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterpoise.worker.loop.LONGEST_REST_S", 0.02)
    for module in ("teller", "loop", "heartbeats"):
        monkeypatch.setattr(f"counterpoise.worker.{module}.pause_s", lambda _tried: 0.02)


Play = Callable[..., Any]


@pytest.fixture
def play(tmp_path: Path) -> Play:

    @contextmanager
    def begin(server: FakeServer, gates: Gates | None = None, **terms: Any) -> Iterator[Scene]:
        gates = gates or Gates()
        failures: list[Exception] = []
        log = io.StringIO()
        spool = Spool(tmp_path / "spool")
        with server.client() as client:
            loop = Loop(client, {"drag": gates}, spool, Terms("me", ("wing",), **terms), Log(True, log))

            def run() -> None:
                try:
                    loop.run()
                except Exception as error:  # noqa: BLE001
                    failures.append(error)

            scene = Scene(server, gates, loop, threading.Thread(target=run, daemon=True), failures, log)
            scene.thread.start()
            try:
                yield scene
            finally:
                loop.stop()
                loop.stop()
                scene.ended()
                spool.close()

    return begin


def test_jobs_are_evaluated_and_told_until_the_study_is_finished(play: Play) -> None:
    server = FakeServer(finished=True)
    server.add(20)
    with play(server, Gates(open=True), slots=3, until_finished=True) as scene:
        scene.ended()
    assert sorted(server.told) == list(range(1, 21))
    assert server.told[1] == {"job": 1, "lease": f"{1:032x}", "value": 1.0, "also": {}, "duration_s": 0.5}
    assert scene.failures == []
    assert {ask["worker"] for ask in server.asked} == {"me"}
    assert server.asked[0]["studies"] == ["wing"]
    assert server.asked[0]["objectives"] == ["drag"]


def test_it_never_asks_for_more_than_it_can_run(play: Play) -> None:
    server = FakeServer()
    server.add(5)
    with play(server, slots=3) as scene:
        eventually(lambda: len(scene.gates.started) == 3, "three jobs")
        assert sorted(scene.gates.slots) == [0, 1, 2]
        assert [ask["max_jobs"] for ask in server.asked] == [3]  # and none while all slots are taken
        scene.gates.started[1].over.set()
        eventually(lambda: len(scene.gates.started) == 4, "the fourth job")
        assert scene.gates.slots[3] == scene.gates.slots[1]
        assert server.asked[1]["max_jobs"] == 1


def test_a_server_that_takes_no_results_is_not_asked_for_ever_more_jobs(play: Play) -> None:
    """They would all be with a worker that cannot tell them before their leases end."""
    server = FakeServer(statuses={"/tell": 503})
    server.add(100)
    with play(server, Gates(open=True), slots=2) as scene:
        eventually(lambda: len(scene.gates.started) >= 18, "results that wait")
        time.sleep(0.2)  # for what should not happen
        assert len(scene.gates.started) <= 20
        server.statuses.clear()
        eventually(lambda: len(server.told) == 100, "all results")


def test_max_jobs_ends_it(play: Play) -> None:
    server = FakeServer()
    server.add(5)
    with play(server, Gates(open=True), slots=2, max_jobs=3) as scene:
        scene.ended()
    assert sorted(server.told) == [1, 2, 3]
    assert sum(len(range(ask["max_jobs"])) for ask in server.asked) <= 5
    assert len(server.ready) == 2


def test_a_failure_is_told_as_one(play: Play) -> None:
    server = FakeServer()
    server.add()
    with play(server) as scene:
        gate = eventually(lambda: scene.gates.started, "the job")[0]
        gate.outcome = failed("infeasible", "it folds", "log", duration_s=2.0)
        gate.over.set()
        told = eventually(lambda: server.told.get(1), "the tell")
    assert told["failure"] == {"kind": "infeasible", "message": "it folds\n--- printed ---\nlog"}
    assert told["duration_s"] == 2.0


def test_an_evaluation_that_cannot_be_started_is_the_nodes_fault(play: Play) -> None:
    server = FakeServer()
    server.add()
    with play(server, Gates(fault=OSError("no more processes"))):
        told = eventually(lambda: server.told.get(1), "the tell")
    assert told["failure"]["kind"] == "infrastructure"
    assert "no more processes" in told["failure"]["message"]


def test_a_slot_that_loses_its_jobs_rests_longer_each_time_until_one_succeeds(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    monkeypatch.setattr("counterpoise.worker.loop.LONGEST_REST_S", 6.0)
    monkeypatch.setattr(Loop, "_rest", lambda _self, seconds: rests.append(seconds))
    gates = Gates(fault=OSError("no licence"))
    server = FakeServer()
    server.add(3)
    with play(server, gates) as scene:
        eventually(lambda: len(server.told) == 3, "three losses")
        gates.fault = None
        server.add(1)
        eventually(lambda: scene.gates.started, "an evaluation")
        scene.gates.started[0].over.set()
        eventually(lambda: len(server.told) == 4, "a value")
        gates.fault = OSError("no licence")
        server.add(1)
        eventually(lambda: len(server.told) == 5, "one more loss")
        eventually(lambda: [each for each in rests if each > 1.0] == [2.0, 4.0, 6.0, 2.0], "its rest")


def test_an_evaluation_that_cannot_be_followed_fails_its_job_and_no_more(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Gate, timeout_s: float | None) -> Outcome | None:
        raise ValueError("no JSON")

    monkeypatch.setattr(Gate, "wait", broken)
    server = FakeServer(finished=True)
    server.add(2)
    with play(server, until_finished=True) as scene:
        scene.ended()
    assert [server.told[job]["failure"]["kind"] for job in (1, 2)] == ["infrastructure"] * 2
    assert "ValueError('no JSON')" in server.told[1]["failure"]["message"]


def test_a_log_that_takes_nothing_more_costs_no_result(play: Play) -> None:
    server = FakeServer(finished=True)
    server.add(2)
    with play(server, Gates(open=True), until_finished=True) as scene:
        scene.log.close()
        scene.ended()
    assert sorted(server.told) == [1, 2]


def test_a_heartbeat_is_not_waited_for_longer_than_a_lease_lasts(play: Play) -> None:
    server = FakeServer(heartbeat_s=0.05)
    server.add(1)
    with play(server):
        eventually(lambda: server.patience, "a heartbeat")
    assert set(server.patience) == {5.0}


def test_an_outcome_that_cannot_be_told_fails_its_job_and_no_more(play: Play) -> None:
    server = FakeServer()
    server.add(2)
    with play(server) as scene:
        gate = eventually(lambda: scene.gates.started, "the job")[0]
        gate.outcome = Outcome(1.0, metadata={"a": float("nan")})
        gate.over.set()
        assert "cannot be told" in eventually(lambda: server.told.get(1), "the tell")["failure"]["message"]
        eventually(lambda: len(scene.gates.started) == 2, "the next job")


# time-outs, heartbeats, cancels


@pytest.mark.parametrize(("studys", "own"), [(0.2, None), (None, 0.2), (0.2, 100.0), (100.0, 0.2)])
def test_a_time_out_is_an_error_that_says_so(play: Play, studys: float | None, own: float | None) -> None:
    server = FakeServer(timeout_s=studys)
    server.add()
    with play(server, timeout_s=own) as scene:
        told = eventually(lambda: server.told.get(1), "the tell")
        assert scene.gates.started[0].why == ["timeout: still running after 0.2 s"]
    assert told["failure"]["kind"] == "error"
    assert told["failure"]["message"].startswith("timeout")


def test_one_heartbeat_speaks_for_all_leases_in_the_servers_rhythm(play: Play) -> None:
    server = FakeServer(heartbeat_s=0.1)
    server.add(3)
    with play(server, slots=3) as scene:
        eventually(lambda: len(server.beats) >= 3, "three heartbeats")
        assert sorted(server.beats[-1]) == [f"{job:032x}" for job in (1, 2, 3)]
        scene.gates.started[0].over.set()
        eventually(lambda: scene.server.told, "the tell")
        gone = scene.gates.started[0].job.lease
        eventually(lambda: gone not in server.beats[-1], "heartbeats without it")


def test_heartbeats_go_on_after_an_outage(play: Play) -> None:
    server = FakeServer(heartbeat_s=0.1)
    server.add()
    with play(server) as scene:
        eventually(lambda: server.beats, "a heartbeat")
        server.away = True
        eventually(lambda: "no sign of life" in scene.log.getvalue(), "the outage")
        server.away, count = False, len(server.beats)
        eventually(lambda: len(server.beats) > count, "another heartbeat")


def test_a_cancel_of_the_server_ends_the_evaluation_and_gives_the_job_back(play: Play) -> None:
    server = FakeServer(heartbeat_s=0.05)
    server.add(2)
    with play(server) as scene:
        gate = eventually(lambda: scene.gates.started, "the job")[0]
        server.cancels[gate.job.lease] = "the study was stopped"
        eventually(lambda: server.released == [gate.job.lease], "the release")
        assert gate.why == ["cancelled: the study was stopped"]
        eventually(lambda: len(scene.gates.started) == 2, "the next job")
    assert server.told == {}


def test_the_servers_own_time_out_is_told_as_one(play: Play) -> None:
    server = FakeServer(heartbeat_s=0.05)
    server.add()
    with play(server):
        server.cancels[f"{1:032x}"] = "timeout_s is over"
        told = eventually(lambda: server.told.get(1), "the tell")
    assert told["failure"]["message"] == "timeout: timeout_s is over"
    assert server.released == []


def test_a_value_that_comes_in_spite_of_a_cancel_is_told(play: Play) -> None:
    server = FakeServer(heartbeat_s=0.05)
    server.add()
    gates = Gates()
    with play(server, gates) as scene:
        gate = eventually(lambda: scene.gates.started, "the job")[0]
        gate.cancel = lambda _: gate.over.set()
        server.cancels[gate.job.lease] = "another worker's value came first"
        assert eventually(lambda: server.told.get(1), "the tell")["value"] == 1.0


# a server that is away, or refuses


def results_in(folder: Path) -> list[Path]:
    with suppress(FileNotFoundError):  # a folder of the spool that went while we looked
        return list(folder.rglob("*.json"))
    return []


def test_evaluations_go_on_while_the_server_is_away(play: Play, tmp_path: Path) -> None:
    server = FakeServer()
    server.add(3)
    with play(server, slots=2) as scene:
        eventually(lambda: len(scene.gates.started) == 2, "two jobs")
        server.away = True
        for gate in scene.gates.started:
            gate.over.set()
        eventually(lambda: len(results_in(tmp_path)) == 2, "the results on disk")
        eventually(lambda: "no jobs can be asked for" in scene.log.getvalue(), "an ask in vain")
        server.away = False
        eventually(lambda: sorted(server.told) == [1, 2], "the results")
        eventually(lambda: len(scene.gates.started) == 3, "the third job")
    assert scene.log.getvalue().count("no jobs can be asked for") == 1  # said once, not with every try


def test_a_server_that_comes_later_than_the_worker(play: Play) -> None:
    server = FakeServer(away=True)
    server.add()
    with play(server, Gates(open=True)) as scene:
        eventually(lambda: "no jobs can be asked for" in scene.log.getvalue(), "an ask in vain")
        server.away = False
        eventually(lambda: server.told, "the tell")


def test_a_first_ask_that_is_refused_ends_the_worker(play: Play) -> None:
    with play(FakeServer(statuses={"/ask": 403})) as scene:
        scene.ended()
    assert isinstance(scene.failures[0], RequestFailed)


def test_a_later_refusal_ends_nothing(play: Play) -> None:
    server = FakeServer()
    with play(server, Gates(open=True)) as scene:
        eventually(lambda: server.asked, "the first ask")
        server.statuses["/ask"] = 403
        eventually(lambda: "no jobs can be asked for" in scene.log.getvalue(), "the refusal")
        server.add()
        del server.statuses["/ask"]
        eventually(lambda: server.told, "the tell")


def test_without_a_disk_a_slot_waits_until_its_result_is_told(play: Play, tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("not a folder")
    server = FakeServer(statuses={"/tell": 503})
    server.add(2)
    with play(server, Gates(open=True)) as scene:
        eventually(lambda: "results wait to be told" in scene.log.getvalue(), "a tell in vain")
        assert len(scene.gates.started) == 1
        del server.statuses["/tell"]
        eventually(lambda: sorted(server.told) == [1, 2], "both results")


def test_a_result_that_nothing_keeps_is_in_the_log_at_the_end(play: Play, tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("not a folder")
    server = FakeServer(statuses={"/tell": 503})
    server.add()
    with play(server, Gates(open=True), grace_s=0.1) as scene:
        eventually(lambda: "results wait to be told" in scene.log.getvalue(), "a tell in vain")
        scene.loop.stop()
        scene.ended()
    last = [json.loads(line) for line in scene.log.getvalue().splitlines()][-1]
    assert (last["event"], last["tell"]["value"]) == ("a result is neither told nor on disk", 1.0)
    assert server.released == []  # it is evaluated


# the end


def test_told_to_stop_it_finishes_what_runs_and_takes_no_more(play: Play) -> None:
    server = FakeServer()
    server.add(2)
    with play(server, grace_s=PATIENCE_S) as scene:
        gate = eventually(lambda: scene.gates.started, "the job")[0]
        scene.loop.stop()
        eventually(lambda: "finishing what runs" in scene.log.getvalue(), "the first signal to be heard")
        gate.over.set()
        scene.ended()
    assert sorted(server.told) == [1]
    assert (len(server.ready), server.released) == (1, [])


def test_drained_it_finishes_what_runs_and_ends(play: Play) -> None:
    server = FakeServer()
    server.add(2)
    with play(server, slots=3) as scene:
        first, second = eventually(lambda: scene.gates.started[1:] and scene.gates.started, "both jobs")
        server.drained = True
        eventually(lambda: "no more jobs: drained" in scene.log.getvalue(), "the word to be heard")
        assert scene.thread.is_alive()
        first.over.set()
        second.over.set()
        scene.ended()
    assert sorted(server.told) == [1, 2]
    assert (scene.failures, server.released) == ([], [])


@pytest.mark.parametrize("times", [1, 2])
def test_when_patience_is_over_jobs_are_given_back(play: Play, times: int) -> None:
    server = FakeServer()
    server.add(2)
    with play(server, slots=2, grace_s=0.1 if times == 1 else 600.0) as scene:
        eventually(lambda: len(scene.gates.started) == 2, "two jobs")
        for _ in range(times):
            scene.loop.stop()
        scene.ended()
    assert sorted(server.released) == [f"{job:032x}" for job in (1, 2)]
    assert server.told == {}
    assert [gate.why for gate in scene.gates.started] == [["the worker is stopped"]] * 2


def test_jobs_that_come_after_the_signal_are_given_back(play: Play) -> None:
    server = FakeServer()
    with play(server, slots=2) as scene:
        eventually(lambda: server.asked, "an ask")
        with server.lock:  # an answer is under way
            scene.loop._stops = 1
            server.add(2)
            answer = server.ask({"max_jobs": 2})
        scene.loop._take([Job(**job) for job in answer["jobs"]])
        scene.ended()
    assert len(server.released) == 2
    assert scene.gates.started == []


def test_at_the_end_it_says_what_is_not_told_and_keeps_it(play: Play, tmp_path: Path) -> None:
    server = FakeServer(statuses={"/tell": 503})
    server.add()
    with play(server, Gates(open=True), max_jobs=1, grace_s=0.2) as scene:
        scene.ended()
    assert "the next worker with this spool tells them" in scene.log.getvalue()
    assert len(list(tmp_path.rglob("*.json"))) == 1


def test_the_log_for_programs_is_json(play: Play) -> None:
    server = FakeServer(finished=True)
    server.add()
    with play(server, Gates(open=True), until_finished=True) as scene:
        scene.ended()
    lines = [json.loads(line) for line in scene.log.getvalue().splitlines()]
    (done,) = (line for line in lines if line["event"] == "done")
    assert (done["job"], done["objective"], done["value"], done["level"]) == (1, "drag", 1.0, "info")


def test_the_log_for_people() -> None:
    stream = io.StringIO()
    Log(stream=stream).warning("error: it fell", job=3, duration_s=0.123456789)
    assert stream.getvalue()[8:] == " ! error: it fell  job=3 duration_s=0.123457\n"
