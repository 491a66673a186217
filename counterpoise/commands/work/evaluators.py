"""The evaluators of a worker: functions or a command for each objective, on this
machine or on a cluster.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from counterpoise.commands.output import WRONG_USAGE, fail, require

if TYPE_CHECKING:
    from counterpoise.worker.evaluators.command_evaluator import Keep
    from counterpoise.worker.evaluators.evaluator import CheckedEvaluator
    from counterpoise.worker.evaluators.executor_evaluator import MakeEvaluator


def make_evaluators(
    objectives: Sequence[str],
    command: Sequence[str],
    work_dir: Path,
    keep: "Keep",
    cluster: str | None,
) -> Mapping[str, "CheckedEvaluator"]:
    """By objective.

    Ends the program, with the reason, if one of them cannot evaluate anything.
    """
    from counterpoise.worker.evaluators.command_evaluator import CommandUnusable
    from counterpoise.worker.evaluators.executor_evaluator import ClusterUnusable
    from counterpoise.worker.evaluators.function_reference import FunctionUnusable

    evaluators: dict[str, CheckedEvaluator] = {}
    try:
        executor = _connect(cluster) if cluster else None
        for names, make_evaluator in _local_evaluators(
            objectives, command, work_dir, keep
        ):
            evaluator = (
                make_evaluator()
                if executor is None
                else _remote_evaluator(executor, make_evaluator)
            )
            evaluators |= dict.fromkeys(names, evaluator)
            evaluator.check()
    except (FunctionUnusable, CommandUnusable, ClusterUnusable) as error:
        for evaluator in evaluators.values():
            evaluator.close()
        fail(str(error), WRONG_USAGE)
    return evaluators


def _local_evaluators(
    objectives: Sequence[str], command: Sequence[str], work_dir: Path, keep: "Keep"
) -> Iterator[tuple[list[str], "MakeEvaluator"]]:
    """Names of objectives, and how to make the evaluator that they share."""
    from counterpoise.worker.evaluators.command_evaluator import (
        CommandEvaluator,
        resolve,
    )
    from counterpoise.worker.evaluators.function_evaluator import FunctionEvaluator
    from counterpoise.worker.evaluators.function_reference import FunctionReference

    functions, others = _split(objectives)
    if others and not command:
        name = others[0]
        fail(
            f"--objective {name}: write {name}=package.module:function, or a command after --",
            WRONG_USAGE,
        )
    if command and not others:
        fail(
            f"no objective is left for the command {command[0]!r}; add --objective NAME",
            WRONG_USAGE,
        )
    if functions:
        references = {
            name: FunctionReference.parse(function)
            for name, function in functions.items()
        }
        yield list(functions), partial(FunctionEvaluator, references, folder=Path.cwd())
    if others:
        yield (
            others,
            partial(CommandEvaluator, resolve(command), work_dir.absolute(), keep),
        )


def _split(objectives: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Functions by objective, and the objectives of the command."""
    functions: dict[str, str] = {}
    others: list[str] = []
    for objective in objectives:
        name, equals, function = objective.partition("=")
        if not name or (equals and not function):
            fail(
                f"--objective {objective!r} is neither NAME=package.module:function nor NAME",
                WRONG_USAGE,
            )
        if name in functions or name in others:
            fail(
                "an objective is named twice; each has one function, or the command",
                WRONG_USAGE,
            )
        if equals:
            functions[name] = function
        else:
            others.append(name)
    return functions, others


def _connect(cluster: str) -> Executor:
    if not cluster.startswith("dask://"):
        fail(f"--executor {cluster!r} is not dask://HOST:PORT", WRONG_USAGE)
    require("distributed", "Dask", "dask")
    from counterpoise.worker.evaluators.dask_executor import DaskExecutor

    return DaskExecutor(cluster)


def _remote_evaluator(
    executor: Executor, make_evaluator: Callable[[], "CheckedEvaluator"]
) -> "CheckedEvaluator":
    from counterpoise.worker.evaluators.dask_executor import is_wanted
    from counterpoise.worker.evaluators.executor_evaluator import ExecutorEvaluator

    return ExecutorEvaluator(executor, make_evaluator, is_wanted)
