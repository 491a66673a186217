"""What evaluates each objective of a worker: functions, a command; here, or on a cluster."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from counterpoise.commands.failure import WRONG_USAGE, fail, require

if TYPE_CHECKING:
    from counterpoise.worker.evaluators.executor_evaluator import LocalEvaluator


class Keep(StrEnum):
    always = "always"
    failed = "failed"
    never = "never"


def evaluators_of(
    objectives: Sequence[str], command: Sequence[str], work_dir: Path, keep: Keep, cluster: str | None
) -> Mapping[str, "LocalEvaluator"]:
    """By objective; ends the program with a sentence where one of them cannot work."""
    from counterpoise.worker.evaluators.command_evaluator import CommandUnusable
    from counterpoise.worker.evaluators.executor_evaluator import ClusterUnusable
    from counterpoise.worker.evaluators.function_evaluator import FunctionUnusable

    made: dict[str, LocalEvaluator] = {}
    try:
        executor = _connect(cluster) if cluster else None
        for names, recipe in _recipes(objectives, command, work_dir, keep):
            evaluator = recipe() if executor is None else _elsewhere(executor, recipe)
            made |= dict.fromkeys(names, evaluator)
            evaluator.check()
    except (FunctionUnusable, CommandUnusable, ClusterUnusable) as error:
        for evaluator in made.values():
            evaluator.close()
        fail(str(error), WRONG_USAGE)
    return made


def _recipes(
    objectives: Sequence[str], command: Sequence[str], work_dir: Path, keep: Keep
) -> Iterator[tuple[list[str], Callable[[], "LocalEvaluator"]]]:
    from counterpoise.worker.evaluators.command_evaluator import CommandEvaluator, resolve
    from counterpoise.worker.evaluators.function_evaluator import FunctionEvaluator, Reference

    functions = {name: where for name, equals, where in map(_parts, objectives) if equals}
    others = [name for name, equals, _ in map(_parts, objectives) if not equals]
    if len(functions) + len(set(others) - set(functions)) < len(objectives):
        fail("an objective is named twice; each has one function, or the command", WRONG_USAGE)
    if others and not command:
        fail(f"--objective {others[0]}: write {others[0]}=package.module:function, or a command after --", WRONG_USAGE)
    if command and not others:
        fail(f"no objective is left for the command {command[0]!r}; add --objective NAME", WRONG_USAGE)
    if functions:
        references = {name: Reference.parse(where) for name, where in functions.items()}
        yield list(functions), partial(FunctionEvaluator, references, folder=Path.cwd())
    if others:
        yield others, partial(CommandEvaluator, resolve(command), work_dir.absolute(), keep.value)


def _parts(objective: str) -> tuple[str, str, str]:
    name, equals, where = objective.partition("=")
    if not name or (equals and not where):
        fail(f"--objective {objective!r} is neither NAME=package.module:function nor NAME", WRONG_USAGE)
    return name, equals, where


def _connect(cluster: str) -> Executor:
    if not cluster.startswith("dask://"):
        fail(f"--executor {cluster!r} is not dask://HOST:PORT", WRONG_USAGE)
    require("distributed", "Dask", "dask")
    from counterpoise.worker.evaluators.dask_executor import DaskExecutor

    return DaskExecutor(cluster)


def _elsewhere(executor: Executor, recipe: Callable[[], "LocalEvaluator"]) -> "LocalEvaluator":
    from counterpoise.worker.evaluators.dask_executor import wanted
    from counterpoise.worker.evaluators.executor_evaluator import ExecutorEvaluator

    return ExecutorEvaluator(executor, recipe, wanted)
