"""`counterpoise bench`: the paper's protocol, the Gaussian process, one step, simulated
workers, store, service.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from threadpoolctl import threadpool_limits

from app.optimizer.models.training_data import KeepExtra
from app.optimizer.proposal.acquisition import Scaling
from app.optimizer.search.reference_vectors import Lattice
from app.optimizer.strategies.strategy import STRATEGIES
from app.simulation.pools import Pool
from benchmarks.paper import comparison, report, runner
from benchmarks.paper import inspect_run as look_into
from benchmarks.paper.fingerprint import fingerprint
from benchmarks.paper.protocol import NAMES as PAPER_STRATEGIES
from benchmarks.paper.results import Outcome, Settings, Spec
from benchmarks.problems.catalogue import NAMES, problem
from benchmarks.service import report as service_report
from benchmarks.service import run as service_benchmark
from benchmarks.service import store as store_benchmark
from benchmarks.speed import gp as gp_benchmark
from benchmarks.speed import step as step_benchmark

bench = typer.Typer(
    help="Benchmarks: the paper's protocol, the Gaussian process, one step, simulated workers, the store, the service.",
    no_args_is_help=True,
)
RESULTS = Path(__file__).parent / "results" / "runs.jsonl"
SIZES = (3, 5, 10)

Json = Annotated[
    bool, typer.Option("--json", help="One JSON object per line instead of a table.")
]
ScalingOption = Annotated[
    Scaling, typer.Option(help="paper: raw means; range: independent of units.")
]
LatticeOption = Annotated[
    Lattice, typer.Option(help="Reference vectors: small 91/85/65, large 105/126/275.")
]
SizesOption = Annotated[
    list[int] | None, typer.Option("--m", min=3, max=10, help="Number of objectives.")
]
SeedOption = Annotated[int, typer.Option(min=0)]
KeepOption = Annotated[
    KeepExtra, typer.Option(help="Cheap-only samples kept: of the last step, or all.")
]


@bench.command(
    epilog="Example: counterpoise bench paper --problem dtlz2 --m 3 --rc 5 --strategy sbp-bo --seeds 0-4 --json"
)
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
    strategy: Annotated[str, typer.Option(help=", ".join(PAPER_STRATEGIES))] = "sbp-bo",
    seeds: Annotated[str, typer.Option(help="Such as 0-4 or 0,2,7.")] = "0-4",
    budget: Annotated[int, typer.Option(min=1, help="Full samples.")] = 300,
    scaling: ScalingOption = "paper",
    lattice: LatticeOption = "small",
    keep_extra: KeepOption = "last",
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
    as_json: Json = False,
) -> None:
    """Our IGD+ in the paper's protocol, beside the paper's own tables."""
    if all_instances and problems:
        raise typer.BadParameter(
            "name either --problem or --all, not both", param_hint="--all"
        )
    names = list(NAMES) if all_instances else _known(problems, NAMES, "--problem")
    settings = Settings(scaling, lattice, keep_extra)
    _known([strategy], PAPER_STRATEGIES, "--strategy")
    specs = [
        Spec(name, m, rc, strategy, seed, settings, budget)
        for name in names
        for m in (sizes or (SIZES if all_instances else (3,)))
        for seed in _seeds(seeds)
    ]
    with _progress("runs", len(specs)) as advance:
        outcomes = runner.run_all(
            specs, results, jobs, fresh=fresh, report=lambda _: advance()
        )
    rows = report.rows(outcomes.values())
    _print(
        map(report.as_json, rows),
        as_json,
        lambda: (report.table(rows), report.summary(rows)),
    )
    _warn_about_other_code(outcomes.values(), results)


@bench.command(epilog="Example: counterpoise bench look --problem dtlz1 --m 5 --seed 0")
def look(
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
    as_json: Json = False,
) -> None:
    """One run of `paper` again, with what its models predicted beside what was true."""
    _known([name], NAMES, "--problem")
    _known([strategy], tuple(STRATEGIES), "--strategy")
    spec = Spec(
        name, m, 5, strategy, seed, Settings(scaling, lattice, keep_extra), budget
    )
    with threadpool_limits(limits=1), _progress("full samples", budget) as advance:
        rows = look_into.look(spec, every, progress=advance)
    _print(rows, as_json, lambda: (look_into.table(rows),))


@bench.command(
    epilog="Example: counterpoise bench gp --size 134 --size 545 --datasets 3"
)
def gp(
    sizes: Annotated[
        list[int] | None, typer.Option("--size", min=2, help="Training points.")
    ] = None,
    datasets: Annotated[int, typer.Option(min=1)] = 10,
    as_json: Json = False,
) -> None:
    """Likelihood and fit of the Gaussian process beside scikit-learn and LAPACK."""
    chosen = tuple(sizes or (134, 545, 1090))
    with _progress("data sets", len(chosen) * datasets) as advance:
        rows = gp_benchmark.run(chosen, datasets, progress=lambda *_: advance())
    _print(rows, as_json, lambda: (gp_benchmark.table(rows),))


@bench.command(epilog="Example: counterpoise bench step --m 3 --m 10 --steps 5")
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
    as_json: Json = False,
) -> None:
    """CPU time of one search step: fit, search, selection; and with scikit-learn's
    regressor.
    """
    _known([name], NAMES, "--problem")
    chosen = tuple(sizes or SIZES)
    with _progress("sizes", len(chosen)) as advance:
        rows = step_benchmark.run(
            name, chosen, steps, seed, peer, progress=lambda *_: advance()
        )
    _print(rows, as_json, lambda: (step_benchmark.table(rows),))


@bench.command(
    epilog="Example: counterpoise bench simulate --latency 1 --latency 1 --latency 5 --workers 3 --jitter 0.2"
)
def simulate(
    name: Annotated[str, typer.Option("--problem")] = "dtlz2",
    latency: Annotated[
        list[float] | None,
        typer.Option(help="Once per objective; as many as these is m."),
    ] = None,
    workers: Annotated[
        list[int] | None, typer.Option(min=1, help="Once, or once per objective.")
    ] = None,
    jitter: Annotated[
        float, typer.Option(help="Durations vary by up to this share of the latency.")
    ] = 0.2,
    failure: Annotated[
        float, typer.Option(help="Probability that an attempt fails; three are made.")
    ] = 0.0,
    n: Annotated[
        int | None, typer.Option(min=1, help="Initial design; 11 d - 1 unless given.")
    ] = None,
    budget: Annotated[int, typer.Option(min=1, help="Full samples.")] = 300,
    seed: SeedOption = 0,
    scaling: ScalingOption = "range",
    lattice: LatticeOption = "small",
    keep_extra: KeepOption = "last",
    as_json: Json = False,
) -> None:
    """Heterogeneous workers in virtual time: asynchronous against everybody waiting."""
    _known([name], NAMES, "--problem")
    pools = _pools(latency or [1.0, 1.0, 5.0], workers or [3], jitter, failure)
    instance = problem(name, len(pools))
    with _progress("simulations", 2) as advance:
        reports = comparison.compare(
            instance,
            pools,
            Settings(scaling, lattice, keep_extra),
            seed,
            n=n,
            budget=budget,
            advance=advance,
        )
    rows = comparison.as_json(instance, pools, seed, reports)
    _print(rows, as_json, lambda: (comparison.table(rows), comparison.summary(rows)))


@bench.command(epilog="Example: counterpoise bench store --jobs 1000 --jobs 100000")
def store(
    sizes: Annotated[
        list[int] | None,
        typer.Option("--jobs", min=1, help="Ready jobs in the database."),
    ] = None,
    cycles: Annotated[
        int, typer.Option(min=1, help="Measured at each size, in turn.")
    ] = 300,
    as_json: Json = False,
) -> None:
    """Lease + settle on SQLite and PostgreSQL: the cost must not grow with the number
    of jobs.
    """
    console = Console(stderr=True)
    with console.status("starting") as status:
        rows = store_benchmark.run(
            tuple(sizes or store_benchmark.SIZES), cycles, report=status.update
        )
    _print(rows, as_json, lambda: (store_benchmark.table(rows),))


@bench.command(epilog="Example: counterpoise bench service --jobs 1000000 --rounds 2")
def service(
    jobs: Annotated[
        int,
        typer.Option(min=0, help="Ready jobs in each database besides those measured."),
    ] = 1_000,
    cycles: Annotated[
        int,
        typer.Option(min=1, help="Asks of each of the 8 clients in each measurement."),
    ] = 60,
    trials: Annotated[
        int, typer.Option(min=1, help="Of each of Optuna's 8 processes in each round.")
    ] = 15,
    rounds: Annotated[
        int, typer.Option(min=1, help="Everything is measured so often, in turn.")
    ] = 3,
    initial: Annotated[
        int,
        typer.Option(
            min=11, help="Full samples of the study that is planned meanwhile."
        ),
    ] = 150,
    planning: Annotated[
        bool, typer.Option(help="Also /ask while a planner fits models.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Ask + tell over HTTP, 8 clients, SQLite and PostgreSQL, beside Optuna; and /ask
    while a planner fits.
    """
    console = Console(stderr=True)
    with console.status("starting") as status:
        plan = service_benchmark.Plan(jobs, cycles, trials, rounds, initial, planning)
        rows = service_benchmark.run(plan, report=status.update)
    _print(rows, as_json, lambda: service_report.tables(rows))


def _known(given: list[str] | None, known: tuple[str, ...], option: str) -> list[str]:
    if not given:
        raise typer.BadParameter("name at least one, or use --all", param_hint=option)
    for name in given:
        if name not in known:
            raise typer.BadParameter(
                f"no {name!r}; there are {', '.join(known)}", param_hint=option
            )
    return given


def _pools(
    latencies: list[float], counts: list[int], jitter: float, failure: float
) -> tuple[Pool, ...]:
    if not 2 <= len(latencies) <= 10:
        raise typer.BadParameter(
            "give it 2 to 10 times: once per objective", param_hint="--latency"
        )
    if len(counts) not in (1, len(latencies)):
        raise typer.BadParameter(
            "give it once, or once per objective", param_hint="--workers"
        )
    counts = counts * len(latencies) if len(counts) == 1 else counts
    try:
        return tuple(
            Pool(t, k, jitter, failure) for t, k in zip(latencies, counts, strict=True)
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _seeds(text: str) -> list[int]:
    """ "0-2,7" -> [0, 1, 2, 7]"""
    seeds: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            seeds += range(int(first), int(last or first) + 1)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is not like 0-4 or 0,2,7", param_hint="--seeds"
        ) from error
    if not seeds:
        raise typer.BadParameter(f"{text!r} has no seed", param_hint="--seeds")
    return seeds


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[..., None]]:
    """A bar on standard error, where there is a terminal."""
    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda by=1: bar.advance(task, by)


def _print(
    rows: Iterable[Any], as_json: bool, shown: Callable[[], tuple[Any, ...]]
) -> None:
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row, allow_nan=False))
    else:
        # In a file or a pipe 80 columns would break the cells of a table.
        Console(width=None if sys.stdout.isatty() else 145).print(*shown(), sep="\n")


def _warn_about_other_code(outcomes: Iterable[Outcome], file: Path) -> None:
    code = fingerprint()
    others = sum(outcome.code != code for outcome in outcomes)
    if others:
        typer.echo(
            f"{others} of these runs are kept from another state of the code: {file} (--fresh runs them)",
            err=True,
        )


if __name__ == "__main__":
    bench()
