"""Evaluations on a Dask cluster, small but real."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import dask
import psutil
import pytest
from distributed import LocalCluster

from counterpoise.worker.evaluators.command_evaluator import CommandEvaluator
from counterpoise.worker.evaluators.dask_executor import DaskExecutor, wanted
from counterpoise.worker.evaluators.evaluator import Outcome, Running
from counterpoise.worker.evaluators.executor_evaluator import ClusterUnusable, ExecutorEvaluator, LocalEvaluator
from counterpoise.worker.evaluators.function_evaluator import FunctionEvaluator, Reference
from tests.e2e.processes import eventually, running
from tests.workers.jobs import JOB


@contextmanager
def cluster(port: int = 0, *, threads: int = 2) -> Iterator[LocalCluster]:
    """A scheduler and, unless there are no threads for it, a Dask worker, in this process."""
    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=1 if threads else 0,
        threads_per_worker=threads,
        processes=False,
        protocol="tcp",
        scheduler_port=port,
        dashboard_address=None,
    ) as started:
        yield started


def address(of: LocalCluster) -> str:
    return str(of.scheduler_address).replace("tcp://", "dask://")


@contextmanager
def evaluating(scheduler: str, recipe: Callable[[], LocalEvaluator]) -> Iterator[ExecutorEvaluator]:
    evaluator = ExecutorEvaluator(DaskExecutor(scheduler), recipe, wanted)
    try:
        yield evaluator
    finally:
        evaluator.close()


def script(tmp_path: Path, text: str) -> Callable[[], LocalEvaluator]:
    return partial(CommandEvaluator, ["sh", "-c", text], tmp_path / "work", "never")


def ended(evaluation: Running) -> Outcome:
    outcome = evaluation.wait(60)
    assert outcome is not None
    return outcome


SLEEPER = "echo $$ > {0}/new && mv {0}/new {0}/pid; exec sleep 1000"


def sleeper(tmp_path: Path) -> psutil.Process:
    eventually((tmp_path / "pid").exists, "the simulation")
    return psutil.Process(int((tmp_path / "pid").read_text()))


def test_values_and_failures_come_back_from_the_cluster(tmp_path: Path) -> None:
    with (
        cluster() as one,
        evaluating(address(one), script(tmp_path, "echo {x.span}; exit $((COUNTERPOISE_SAMPLE - 17))")) as there,
    ):
        begun = [there.start(slot, JOB.model_copy(update={"sample": 17 + slot})) for slot in range(3)]
        good, *bad = [ended(each) for each in begun]
        assert (good.value, good.failure) == (2.5, None)
        assert good.duration_s > 0.0
        assert [each.failure is not None and "exit code" in each.failure.message for each in bad] == [True, True]
        nobody_can_pickle_this = ExecutorEvaluator(there._executor, (n for n in range(3)).__next__, wanted)  # type: ignore[arg-type]
        failure = ended(nobody_can_pickle_this.start(0, JOB)).failure
        assert failure is not None
        assert failure.kind == "infrastructure"


FUNCTIONS = """
import os
from counterpoise import Infeasible
def drag(x):
    if x["ribs"] == 8:
        raise Infeasible("too many")
    if x["ribs"] == 9:
        os._exit(3)
    return {"drag": x["span"] * x["ribs"], "lift": 0.5}
"""


def test_functions_run_on_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "far_away.py").write_text(FUNCTIONS)
    recipe = partial(FunctionEvaluator, {"drag": Reference("far_away", "drag")}, folder=tmp_path)
    missing = partial(FunctionEvaluator, {"drag": Reference("far_away", "drug")}, folder=tmp_path)
    with cluster(threads=3) as one, evaluating(address(one), recipe) as there:
        there.check()
        begun = [there.start(slot, JOB.model_copy(update={"x": {"span": 2.0, "ribs": 7 + slot}})) for slot in range(3)]
        good, infeasible, crash = [ended(each) for each in begun]
        with pytest.raises(ClusterUnusable, match=r"(?s)the cluster cannot evaluate this: .*'drug'"):
            ExecutorEvaluator(there._executor, missing, wanted).check()
    assert (good.value, good.also) == (14.0, {"lift": 0.5})
    assert infeasible.failure is not None
    assert infeasible.failure.kind == "infeasible"
    assert crash.failure is not None
    assert (crash.failure.kind, "exit code 3" in crash.failure.message) == ("error", True)


def test_cancelling_ends_the_simulation_over_there(tmp_path: Path) -> None:
    with cluster() as one, evaluating(address(one), script(tmp_path, SLEEPER.format(tmp_path))) as there:
        evaluation = there.start(0, JOB)
        process = sleeper(tmp_path)
        assert evaluation.wait(0.0) is None
        evaluation.cancel("it took too long")
        evaluation.cancel("again")
        outcome = ended(evaluation)
        assert outcome.failure is not None
        assert (outcome.failure.kind, outcome.failure.message) == ("error", "it took too long")
        eventually(lambda: not process.is_running(), "the end of the simulation")


def test_closing_ends_the_simulations_over_there(tmp_path: Path) -> None:
    with cluster() as one:
        with evaluating(address(one), script(tmp_path, SLEEPER.format(tmp_path))) as there:
            there.start(0, JOB)
            process = sleeper(tmp_path)
        eventually(lambda: not process.is_running(), "the end of the simulation")


def test_a_lost_dask_worker_is_infrastructure(tmp_path: Path) -> None:
    dask_worker = (sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--no-dashboard")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster(threads=0) as one,
        running(*dask_worker, one.scheduler_address) as (process, _),
        evaluating(address(one), script(tmp_path, SLEEPER.format(tmp_path))) as there,
    ):
        evaluation = there.start(0, JOB)
        simulation = sleeper(tmp_path)
        process.kill()
        failure = ended(evaluation).failure
        assert failure is not None
        assert failure.kind == "infrastructure"
        assert "KilledWorker" in failure.message
        eventually(lambda: not simulation.is_running(), "the end of the simulation")


def test_jobs_wait_for_a_scheduler_that_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterpoise.worker.evaluators.dask_executor.CONNECT_S", 1.0)
    recipe = script(tmp_path, f"test $COUNTERPOISE_SAMPLE = 18 && echo 5 && exit; {SLEEPER.format(tmp_path)}")
    with ExitStack() as stack:
        with cluster() as one:
            there = stack.enter_context(evaluating(address(one), recipe))
            lost = there.start(0, JOB)
            process = sleeper(tmp_path)
            port = int(one.scheduler_address.rpartition(":")[2])
        failure = ended(lost).failure
        assert failure is not None
        assert failure.kind == "infrastructure"
        assert "the Dask scheduler went away" in failure.message
        eventually(lambda: not process.is_running(), "the end of the simulation")
        waiting = [there.start(slot, JOB.model_copy(update={"sample": 18})) for slot in (0, 1)]
        assert [each.wait(1.5) for each in waiting] == [None, None]
        waiting[1].cancel("no longer needed")
        assert ended(waiting[1]).failure is not None
        with cluster(port):
            assert ended(waiting[0]).value == 5.0
            stack.close()


def test_without_a_scheduler_the_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterpoise.worker.evaluators.dask_executor.CONNECT_S", 0.2)
    with pytest.raises(ClusterUnusable, match=re.escape("no Dask scheduler answers at tcp://127.0.0.1:1: ")):
        DaskExecutor("dask://127.0.0.1:1")


def test_any_executor_will_do(tmp_path: Path) -> None:
    evaluator = ExecutorEvaluator(ThreadPoolExecutor(1), script(tmp_path, "echo 4"), always)
    assert ended(evaluator.start(0, JOB)).value == 4.0
    evaluator.close()
    broken = ExecutorEvaluator(ThreadPoolExecutor(1), partial(os.stat, "/no/such/file"), always)  # type: ignore[arg-type]
    failure = ended(broken.start(0, JOB)).failure
    broken.close()
    assert failure is not None
    assert failure.kind == "infrastructure"
    assert "FileNotFoundError" in failure.message


def always() -> bool:
    return True
