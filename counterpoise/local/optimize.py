"""`counterpoise.optimize`: a study of Python functions in a script or a notebook."""

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from counterpoise.local.processes import RunFailed
from counterpoise.local.result import Result, read_result
from counterpoise.local.run_folder import move_aside
from counterpoise.local.simulations import (
    RUN,
    read_simulations,
    with_slots,
    without_run,
    without_simulation,
)
from counterpoise.local.study_run import RunOptions, StudyRun, running
from counterpoise.wire.views import StudyView
from counterpoise.worker.evaluators import function_process

Variables = Mapping[str, Any] | Sequence[Mapping[str, Any]]
Objectives = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def optimize(
    variables: Variables,
    objectives: Objectives,
    *,
    budget: int,
    name: str = "study",
    folder: str | Path | None = None,
    workers: int | Mapping[str, int] = 1,
    server: str | None = None,
    token: str | None = None,
    restart: bool = False,
    progress: bool = True,
    **specification: Any,
) -> Result:
    """Optimise functions of this program, and return the front.

    `variables`: (low, high) by name, or the fields of a study file. `objectives`: a
    function of `x` by name (minimised), or the fields of a study file with `run`: the
    function, "module:function" or a command. `budget`: full samples. `workers`: how
    many evaluations run at once, for all objectives or by name. Other fields of a study
    (`seed`, `batch_size`, `constraints` ...) may be given by name.

    Everything is kept in `folder` (./counterpoise-NAME): the same call goes on where an
    earlier one was interrupted, and returns the result of a finished one at once.
    `restart` begins again, and keeps the earlier folder under another name. Ctrl-C
    returns what there is.
    """
    _check_possible(needs_server=server is None)
    document = {
        "name": name,
        "variables": _variables(variables),
        "objectives": _objectives(objectives),
        "budget": budget,
        **specification,
    }
    simulations = read_simulations(document)
    missing = without_simulation(document, simulations)
    if missing and server is None:
        raise ValueError(f"objective {missing[0][1]!r} has no function (`run`)")
    by_name = workers if isinstance(workers, Mapping) else {}
    default = None if isinstance(workers, Mapping) or workers == 1 else workers
    simulations = with_slots(simulations, by_name, default)
    path = Path(folder or f"counterpoise-{name}")
    if restart:
        move_aside(path)
    options = RunOptions(path, Path.cwd(), server=server, token=token)
    with running(without_run(document), simulations, options) as run:
        return _follow(run, progress)


def _check_possible(*, needs_server: bool) -> None:
    if function_process.is_evaluation_process():
        raise RuntimeError(
            "an evaluation process imports this module, too: write"
            ' `if __name__ == "__main__":` before optimize()'
        )
    if needs_server and importlib.util.find_spec("sqlalchemy") is None:
        raise RunFailed(
            "the server is not installed here; install it with:"
            " pip install 'counterpoise[server]'"
        )


def _variables(variables: Variables) -> list[dict[str, Any]]:
    if not isinstance(variables, Mapping):
        return [dict(variable) for variable in variables]
    return [_variable(name, value) for name, value in variables.items()]


def _variable(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {"name": name, **value}
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise ValueError(
            f"variable {name!r} is (low, high), or a dict such as"
            f" {{'low': 0.1, 'high': 10, 'scale': 'log'}}, not {value!r}"
        )
    low, high = value
    return {"name": name, "low": _plain(low), "high": _plain(high)}


def _plain(number: Any) -> Any:
    """Scalars of numerical libraries as Python's own."""
    return number.item() if hasattr(number, "item") else number


def _objectives(objectives: Objectives) -> list[dict[str, Any]]:
    if not isinstance(objectives, Mapping):
        return [dict(objective) for objective in objectives]
    return [_objective(name, value) for name, value in objectives.items()]


def _objective(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {"name": name, **value}
    return {"name": name, RUN: value}


def _follow(run: StudyRun, progress: bool) -> Result:
    try:
        with _bar(progress) as show:
            for study in run.views():
                show(study, run.log.unread())
    except KeyboardInterrupt:
        Console(stderr=True, highlight=False).print(
            "interrupted: the same call goes on from here"
        )
    folder = run.folder.path if run.server is not None else None
    return read_result(run.client, run.study.name, folder)


@contextmanager
def _bar(shown: bool) -> Iterator[Callable[[StudyView, list[str]], None]]:
    """Shows a study, and the failures that are new."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not shown) as progress:
        task = progress.add_task("initial", total=None)

        def show(study: StudyView, failures: list[str]) -> None:
            for failure in failures if shown else []:
                progress.print(f"! {failure}", markup=False, highlight=False)
            volume = study.hypervolume
            state = f"{study.phase}, step {study.step}"
            if volume is not None:
                state += f", hypervolume {volume.value:.5g}"
            progress.update(
                task,
                description=f"{study.name}: {state}",
                completed=study.evaluated_full,
                total=study.budget,
            )

        yield show
