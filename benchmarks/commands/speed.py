"""The commands `gp`, `step` and `accuracy`: CPU time of the optimiser's parts, and how
well its models predict.
"""

from typing import Annotated

import typer

from benchmarks.commands.arguments import check_names
from benchmarks.commands.options import ALL_SIZES, JsonOption, SeedOption, SizesOption
from benchmarks.commands.output import print_rows, progress_bar
from benchmarks.problems.catalogue import NAMES
from benchmarks.problems.smooth_functions import SMOOTH_FUNCTIONS
from benchmarks.speed import accuracy as accuracy_benchmark
from benchmarks.speed import gp as gp_benchmark
from benchmarks.speed import step as step_benchmark


def gp(
    sizes: Annotated[
        list[int] | None, typer.Option("--size", min=2, help="Training points.")
    ] = None,
    datasets: Annotated[int, typer.Option(min=1)] = 10,
    as_json: JsonOption = False,
) -> None:
    """Likelihood and fit of the Gaussian process beside scikit-learn and LAPACK.

    Example: counterpoise bench gp --size 134 --size 545 --datasets 3
    """
    chosen = tuple(sizes or (134, 545, 1090))
    with progress_bar("data sets", len(chosen) * datasets) as advance:
        rows = gp_benchmark.run(chosen, datasets, progress=lambda *_: advance())
    print_rows(rows, as_json, lambda: (gp_benchmark.table(rows),))


def step(
    sizes: SizesOption = None,
    name: Annotated[str, typer.Option("--problem")] = "dtlz2",
    steps: Annotated[
        int,
        typer.Option(
            min=1, help="Steps after the first, of which the medians are shown."
        ),
    ] = 5,
    seed: SeedOption = 0,
    peer: Annotated[
        bool, typer.Option(help="Also with scikit-learn's regressor.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """CPU time of one search step and its parts, beside scikit-learn's regressor.

    Example: counterpoise bench step --m 3 --m 10 --steps 5
    """
    check_names([name], NAMES, "--problem")
    chosen = tuple(sizes or ALL_SIZES)
    with progress_bar("sizes", len(chosen)) as advance:
        rows = step_benchmark.run(
            name, chosen, steps, seed, peer, progress=lambda *_: advance()
        )
    print_rows(rows, as_json, lambda: (step_benchmark.table(rows),))


def accuracy(
    names: Annotated[
        list[str] | None,
        typer.Option("--function", help=", ".join(SMOOTH_FUNCTIONS)),
    ] = None,
    size: Annotated[int, typer.Option(min=20, help="Training points.")] = 545,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Errors of the models on smooth engineering functions, beside scikit-learn.

    Example: counterpoise bench accuracy --function borehole --size 200
    """
    chosen = names or list(SMOOTH_FUNCTIONS)
    check_names(chosen, tuple(SMOOTH_FUNCTIONS), "--function")
    with progress_bar("functions", len(chosen)) as advance:
        rows = accuracy_benchmark.run(chosen, size, seed, progress=advance)
    print_rows(rows, as_json, lambda: (accuracy_benchmark.table(rows),))
