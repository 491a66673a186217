"""The commands `paper` and `inspect`: runs in the paper's protocol."""

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Annotated

import typer
from threadpoolctl import threadpool_limits

from app.optimizer.strategies.catalogue import STRATEGIES
from benchmarks.commands.arguments import check_applies, check_names, parse_seeds
from benchmarks.commands.options import (
    ALL_SIZES,
    JsonOption,
    KeepOption,
    LatticeOption,
    ModelsOption,
    ScalingOption,
    SeedOption,
    SizesOption,
)
from benchmarks.commands.output import print_rows, progress_bar
from benchmarks.paper import inspect_run, report, runner
from benchmarks.paper.fingerprint import fingerprint
from benchmarks.paper.results import Outcome, Settings, Spec
from benchmarks.problems.catalogue import NAMES

RESULTS = Path(__file__).parents[1] / "results" / "runs.jsonl"


def paper(
    problems: Annotated[
        list[str] | None, typer.Option("--problem", help="dtlz1 … dtlz7, wfg1 … wfg9.")
    ] = None,
    sizes: SizesOption = None,
    all_instances: Annotated[
        bool, typer.Option("--all", help="All 16 problems, m = 3, 5, 10.")
    ] = False,
    rc: Annotated[
        int,
        typer.Option(
            min=1, help="Ratio of the cheap objectives; the paper has 5 and 10."
        ),
    ] = 5,
    strategy: Annotated[str, typer.Option(help=", ".join(STRATEGIES))] = "sbp-bo",
    seeds: Annotated[str, typer.Option(help="Such as 0-4 or 0,2,7.")] = "0-4",
    budget: Annotated[int, typer.Option(min=1, help="Full samples.")] = 300,
    scaling: ScalingOption = "paper",
    lattice: LatticeOption = "small",
    keep_extra: KeepOption = "last",
    models: ModelsOption = "paper",
    jobs: Annotated[
        int,
        typer.Option(
            min=0, help="Processes, each with one BLAS thread; 0: show what is on file."
        ),
    ] = 1,
    results: Annotated[
        Path, typer.Option(help="Finished runs are kept here, and not run again.")
    ] = RESULTS,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Run again what is on file; the newer result counts."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Our IGD+ in the paper's protocol, beside the paper's own tables.

    Example: counterpoise bench paper --problem dtlz2 --m 3 --rc 5 --strategy sbp-bo --seeds 0-4 --json
    """
    if all_instances and problems:
        raise typer.BadParameter(
            "name either --problem or --all, not both", param_hint="--all"
        )
    names = list(NAMES) if all_instances else check_names(problems, NAMES, "--problem")
    settings = Settings(scaling, lattice, keep_extra, models)
    check_names([strategy], tuple(STRATEGIES), "--strategy")
    default_sizes = ALL_SIZES if all_instances else (3,)
    runs = product(names, sizes or default_sizes, parse_seeds(seeds))
    specs = [
        Spec(name, m, rc, strategy, seed, settings, budget) for name, m, seed in runs
    ]
    check_applies(specs)
    with progress_bar("runs", len(specs)) as advance:
        outcomes = runner.run_all(
            specs, results, jobs, fresh=fresh, report=lambda _: advance()
        )
    rows = report.rows(outcomes.values())
    print_rows(
        map(report.as_json, rows),
        as_json,
        lambda: (report.table(rows), report.summary(rows)),
    )
    _warn_about_other_code(outcomes.values(), results)


def inspect(
    name: Annotated[str, typer.Option("--problem")] = "dtlz1",
    m: Annotated[int, typer.Option(min=3, max=10, help="Number of objectives.")] = 3,
    seed: SeedOption = 0,
    strategy: Annotated[str, typer.Option(help=", ".join(STRATEGIES))] = "sbp-bo",
    every: Annotated[
        int, typer.Option(min=1, help="Steps from one row to the next.")
    ] = 10,
    budget: Annotated[int, typer.Option(min=1, help="Full samples.")] = 300,
    scaling: ScalingOption = "paper",
    lattice: LatticeOption = "small",
    keep_extra: KeepOption = "last",
    models: ModelsOption = "paper",
    as_json: JsonOption = False,
) -> None:
    """Repeat one run of `paper`; compare its models' predictions with the true values.

    Example: counterpoise bench inspect --problem dtlz1 --m 5 --seed 0
    """
    check_names([name], NAMES, "--problem")
    check_names([strategy], tuple(STRATEGIES), "--strategy")
    spec = Spec(
        name,
        m,
        5,
        strategy,
        seed,
        Settings(scaling, lattice, keep_extra, models),
        budget,
    )
    check_applies([spec])
    with threadpool_limits(limits=1), progress_bar("full samples", budget) as advance:
        rows = inspect_run.inspect(spec, every, progress=advance)
    print_rows(rows, as_json, lambda: (inspect_run.table(rows),))


def _warn_about_other_code(outcomes: Iterable[Outcome], file: Path) -> None:
    code = fingerprint()
    others = sum(outcome.code != code for outcome in outcomes)
    if others:
        typer.echo(
            f"{others} of these runs are kept from another state of the code: {file} (--fresh runs them)",
            err=True,
        )
