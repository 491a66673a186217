"""A worker in a script: functions become objectives with a decorator."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from counterpoise.client import Client
from counterpoise.worker.evaluators import function_process as child
from counterpoise.worker.evaluators.function_evaluator import FunctionEvaluator, FunctionUnusable, Reference
from counterpoise.worker.log import Log
from counterpoise.worker.loop import Terms
from counterpoise.worker.run import default_name, work

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
        self._server = (url, token)
        self._terms = Terms(
            name=name or default_name(),
            studies=(study,) if isinstance(study, str) else tuple(study),
            slots=slots,
            max_jobs=max_jobs,
            until_finished=until_finished,
            timeout_s=timeout_s,
            grace_s=grace_s,
        )
        self._spool = None if spool is None else Path(spool)
        self._log = Log(json_log)
        self._functions: dict[str, Callable[..., Any]] = {}

    def objective(self, name: str) -> Callable[[Function], Function]:
        """The function, of `x` and perhaps `job`, gives the values of this objective."""

        def take(function: Function) -> Function:
            if name in self._functions:
                raise ValueError(f"objective {name!r} has a function already: {self._functions[name].__qualname__}")
            self._functions[name] = function
            return function

        return take

    def run(self) -> None:
        """Work until told to end (SIGINT, SIGTERM), or until `max_jobs` or `until_finished` says so."""
        if child.inside:
            raise RuntimeError(
                'evaluation processes load this script, too: write `if __name__ == "__main__":` before run()'
            )
        if not self._functions:
            raise ValueError("no objectives; put @worker.objective(NAME) before a function")
        evaluator = FunctionEvaluator({name: Reference.of(each) for name, each in self._functions.items()})
        try:
            evaluator.check()
        except FunctionUnusable:
            evaluator.close()
            raise
        with Client(*self._server, retry_s=0) as client:
            work(client, dict.fromkeys(self._functions, evaluator), self._terms, self._spool, self._log)
