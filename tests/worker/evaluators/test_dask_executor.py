"""Evaluations on a Dask cluster, small but real."""

import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import dask
import psutil
import pytest
from distributed import LocalCluster

from counterpoise.wire.codes import FailureKind
from counterpoise.worker.evaluators.command_evaluator import CommandEvaluator, Keep
from counterpoise.worker.evaluators.dask_executor import DaskExecutor, is_wanted
from counterpoise.worker.evaluators.evaluator import Evaluation, EvaluationResult
from counterpoise.worker.evaluators.executor_evaluator import (
    ClusterUnusable,
    ExecutorEvaluator,
    MakeEvaluator,
)
from counterpoise.worker.evaluators.function_evaluator import FunctionEvaluator
from counterpoise.worker.evaluators.function_reference import FunctionReference
from tests.e2e.processes import eventually, running
from tests.worker.example_job import JOB


@contextmanager
def cluster(port: int = 0, *, threads: int = 2) -> Iterator[LocalCluster]:
    """A scheduler in this process and, unless it has no threads, a Dask worker."""
    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=1 if threads else 0,
        threads_per_worker=threads,
        processes=False,
        protocol="tcp",
        scheduler_port=port,
        dashboard_address=None,
    ) as local:
        yield local


def address(dask_cluster: LocalCluster) -> str:
    return str(dask_cluster.scheduler_address).replace("tcp://", "dask://")


@contextmanager
def evaluating(
    scheduler: str, make_evaluator: MakeEvaluator
) -> Iterator[ExecutorEvaluator]:
    evaluator = ExecutorEvaluator(DaskExecutor(scheduler), make_evaluator, is_wanted)
    try:
        yield evaluator
    finally:
        evaluator.close()


def script(tmp_path: Path, text: str) -> MakeEvaluator:
    return partial(CommandEvaluator, ["sh", "-c", text], tmp_path / "work", Keep.NEVER)


def result_of(evaluation: Evaluation) -> EvaluationResult:
    result = evaluation.wait(60)
    assert result is not None
    return result


SLEEPER = "echo $$ > {0}/new && mv {0}/new {0}/pid; exec sleep 1000"


def sleeper(tmp_path: Path) -> psutil.Process:
    eventually((tmp_path / "pid").exists, "the simulation")
    return psutil.Process(int((tmp_path / "pid").read_text()))


def test_values_and_failures_are_returned_from_the_cluster(tmp_path: Path) -> None:
    with (
        cluster() as local,
        evaluating(
            address(local),
            script(tmp_path, "echo {x.span}; exit $((COUNTERPOISE_SAMPLE - 17))"),
        ) as evaluator,
    ):
        evaluations = [
            evaluator.start(slot, JOB.model_copy(update={"sample": 17 + slot}))
            for slot in range(3)
        ]
        good, *bad = [result_of(evaluation) for evaluation in evaluations]
        assert (good.value, good.failure) == (2.5, None)
        assert good.duration_s > 0.0
        for result in bad:
            assert result.failure is not None
            assert "exit code" in result.failure.message


def test_an_evaluator_that_cannot_be_sent_is_an_infrastructure_failure() -> None:
    cannot_be_pickled: Any = (number for number in range(3)).__next__
    with cluster() as local, evaluating(address(local), cannot_be_pickled) as evaluator:
        failure = result_of(evaluator.start(0, JOB)).failure
    assert failure is not None
    assert failure.kind is FailureKind.INFRASTRUCTURE


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
    make_evaluator = partial(
        FunctionEvaluator,
        {"drag": FunctionReference("far_away", "drag")},
        folder=tmp_path,
    )
    with (
        cluster(threads=3) as local,
        evaluating(address(local), make_evaluator) as evaluator,
    ):
        evaluator.check()
        evaluations = [
            evaluator.start(
                slot, JOB.model_copy(update={"x": {"span": 2.0, "ribs": 7 + slot}})
            )
            for slot in range(3)
        ]
        good, infeasible, crash = [result_of(evaluation) for evaluation in evaluations]
    assert (good.value, good.also) == (14.0, {"lift": 0.5})
    assert infeasible.failure is not None
    assert infeasible.failure.kind is FailureKind.INFEASIBLE
    assert crash.failure is not None
    assert (crash.failure.kind, "exit code 3" in crash.failure.message) == (
        "error",
        True,
    )


def test_a_function_that_the_cluster_cannot_load_is_reported_before_any_job(
    tmp_path: Path,
) -> None:
    (tmp_path / "far_away.py").write_text(FUNCTIONS)
    missing = partial(
        FunctionEvaluator,
        {"drag": FunctionReference("far_away", "drug")},
        folder=tmp_path,
    )
    with (
        cluster() as local,
        evaluating(address(local), missing) as evaluator,
        pytest.raises(
            ClusterUnusable, match=r"(?s)the cluster cannot evaluate this: .*'drug'"
        ),
    ):
        evaluator.check()


def test_cancel_ends_the_simulation_on_the_cluster(tmp_path: Path) -> None:
    with (
        cluster() as local,
        evaluating(
            address(local), script(tmp_path, SLEEPER.format(tmp_path))
        ) as evaluator,
    ):
        evaluation = evaluator.start(0, JOB)
        process = sleeper(tmp_path)
        assert evaluation.wait(0.0) is None
        evaluation.cancel("it took too long")
        evaluation.cancel("again")
        failure = result_of(evaluation).failure
        assert failure is not None
        assert (failure.kind, failure.message) == ("error", "it took too long")
        eventually(lambda: not process.is_running(), "the end of the simulation")


def test_close_ends_the_simulations_on_the_cluster(tmp_path: Path) -> None:
    with cluster() as local:
        with evaluating(
            address(local), script(tmp_path, SLEEPER.format(tmp_path))
        ) as evaluator:
            evaluator.start(0, JOB)
            process = sleeper(tmp_path)
        eventually(lambda: not process.is_running(), "the end of the simulation")


def test_a_lost_dask_worker_is_an_infrastructure_failure(tmp_path: Path) -> None:
    dask_worker = (
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        "--no-nanny",
        "--no-dashboard",
    )
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster(threads=0) as local,
        running(*dask_worker, local.scheduler_address) as (process, _),
        evaluating(
            address(local), script(tmp_path, SLEEPER.format(tmp_path))
        ) as evaluator,
    ):
        evaluation = evaluator.start(0, JOB)
        simulation = sleeper(tmp_path)
        process.kill()
        failure = result_of(evaluation).failure
        assert failure is not None
        assert failure.kind is FailureKind.INFRASTRUCTURE
        assert "KilledWorker" in failure.message
        eventually(lambda: not simulation.is_running(), "the end of the simulation")


def test_jobs_wait_for_a_scheduler_that_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("counterpoise.worker.evaluators.dask_executor.CONNECT_S", 1.0)
    make_evaluator = script(
        tmp_path,
        f"test $COUNTERPOISE_SAMPLE = 18 && echo 5 && exit; {SLEEPER.format(tmp_path)}",
    )
    with ExitStack() as stack:
        with cluster() as local:
            evaluator = stack.enter_context(evaluating(address(local), make_evaluator))
            lost = evaluator.start(0, JOB)
            process = sleeper(tmp_path)
            port = int(local.scheduler_address.rpartition(":")[2])
        failure = result_of(lost).failure
        assert failure is not None
        assert failure.kind is FailureKind.INFRASTRUCTURE
        assert "the Dask scheduler was restarted" in failure.message
        eventually(lambda: not process.is_running(), "the end of the simulation")
        waiting = [
            evaluator.start(slot, JOB.model_copy(update={"sample": 18}))
            for slot in (0, 1)
        ]
        assert [evaluation.wait(1.5) for evaluation in waiting] == [None, None]
        waiting[1].cancel("no longer needed")
        assert result_of(waiting[1]).failure is not None
        with cluster(port):
            assert result_of(waiting[0]).value == 5.0
            stack.close()


def test_without_a_scheduler_the_start_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterpoise.worker.evaluators.dask_executor.CONNECT_S", 0.2)
    with pytest.raises(
        ClusterUnusable,
        match=re.escape("cannot connect to a Dask scheduler at tcp://127.0.0.1:1: "),
    ):
        DaskExecutor("dask://127.0.0.1:1")


def test_any_executor_can_be_used(tmp_path: Path) -> None:
    evaluator = ExecutorEvaluator(
        ThreadPoolExecutor(1), script(tmp_path, "echo 4"), always
    )
    assert result_of(evaluator.start(0, JOB)).value == 4.0
    evaluator.close()
    broken = ExecutorEvaluator(
        ThreadPoolExecutor(1),
        partial(os.stat, "/no/such/file"),  # type: ignore[arg-type]
        always,
    )
    failure = result_of(broken.start(0, JOB)).failure
    broken.close()
    assert failure is not None
    assert failure.kind is FailureKind.INFRASTRUCTURE
    assert "FileNotFoundError" in failure.message


def always() -> bool:
    return True
