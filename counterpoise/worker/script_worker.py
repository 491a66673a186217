"""A worker in a script: functions become objectives with a decorator."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from counterpoise.client import Client
from counterpoise.worker.config import WorkerConfig
from counterpoise.worker.evaluators import function_process
from counterpoise.worker.evaluators.function_evaluator import FunctionEvaluator
from counterpoise.worker.evaluators.function_reference import (
    FunctionReference,
    FunctionUnusable,
)
from counterpoise.worker.run_worker import default_name, run_worker
from counterpoise.worker.worker_log import WorkerLog

Function = TypeVar("Function", bound=Callable[..., Any])


class Worker:
    """Functions as objectives of one study or several, `"*"` for all.

    ```
    worker = counterpoise.Worker(study="wing")

    @worker.objective("mass")
    def mass(x):
        return 1600.0 * x["span"] * x["skin"]

    if __name__ == "__main__":
        worker.run()
    ```
    """

    def __init__(
        self,
        study: str | Sequence[str],
        *,
        url: str | None = None,
        token: str | None = None,
        slots: int = 1,
        name: str | None = None,
        max_jobs: int | None = None,
        until_finished: bool = False,
        timeout_s: float | None = None,
        grace_s: float = 30.0,
        spool: str | Path | None = None,
        json_log: bool = False,
    ) -> None:
        self._url = url
        self._token = token
        self._config = WorkerConfig(
            name=name or default_name(),
            studies=(study,) if isinstance(study, str) else tuple(study),
            slots=slots,
            max_jobs=max_jobs,
            until_finished=until_finished,
            timeout_s=timeout_s,
            grace_s=grace_s,
        )
        self._spool = None if spool is None else Path(spool)
        self._log = WorkerLog(json_log)
        self._functions: dict[str, Callable[..., Any]] = {}

    def objective(self, name: str) -> Callable[[Function], Function]:
        """The function, of `x` and perhaps `job`, returns the values of this objective."""

        def register(function: Function) -> Function:
            if name in self._functions:
                raise ValueError(
                    f"objective {name!r} has a function already: {self._functions[name].__qualname__}"
                )
            self._functions[name] = function
            return function

        return register

    def run(self) -> None:
        """Work until a signal (SIGINT, SIGTERM), or until `max_jobs` or
        `until_finished` ends it.
        """
        if function_process.is_evaluation_process():
            raise RuntimeError(
                'evaluation processes load this script, too: write `if __name__ == "__main__":` before run()'
            )
        if not self._functions:
            raise ValueError(
                "no objectives; put @worker.objective(NAME) before a function"
            )
        references = {
            name: FunctionReference.of(function)
            for name, function in self._functions.items()
        }
        evaluator = FunctionEvaluator(references)
        try:
            evaluator.check()
        except FunctionUnusable:
            evaluator.close()
            raise
        evaluators = dict.fromkeys(self._functions, evaluator)
        with Client(self._url, self._token, retry_s=0) as client:
            run_worker(client, evaluators, self._config, self._spool, self._log)
