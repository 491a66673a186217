"""The command `simulate`: heterogeneous workers in virtual time."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from app.simulation.pools import Pool
from benchmarks.commands.arguments import check_names, count_or_auto, parse_seeds
from benchmarks.commands.options import (
    BeliefOption,
    JsonOption,
    KeepOption,
    LatticeOption,
    ScalingOption,
)
from benchmarks.commands.output import print_rows, progress_bar
from benchmarks.paper.protocol import choose
from benchmarks.paper.results import Settings
from benchmarks.problems.catalogue import NAMES, problem
from benchmarks.virtual_time import comparison
from benchmarks.virtual_time.picture import plot_history
from benchmarks.virtual_time.saved_time import describe, saved_time
from benchmarks.virtual_time.simulation import Mode

MEASURED = "measured"


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
    log_sigma: Annotated[
        float,
        typer.Option(help="Log-normal durations with this deviation of the logarithm."),
    ] = 0.0,
    failure: Annotated[
        float, typer.Option(help="Probability that an attempt fails; three are made.")
    ] = 0.0,
    overlap: Annotated[
        str,
        typer.Option(help="Full samples that may run when a step is planned, or auto."),
    ] = "auto",
    batch_size: Annotated[
        str, typer.Option(help="Full samples per step, or auto.")
    ] = "auto",
    planning_s: Annotated[
        str,
        typer.Option(help="Time that a step takes, or `measured` on this machine."),
    ] = "0",
    n: Annotated[
        int | None, typer.Option(min=1, help="Initial design; 11 d - 1 unless given.")
    ] = None,
    budget: Annotated[int, typer.Option(min=1, help="Full samples.")] = 300,
    seeds: Annotated[str, typer.Option(help="For example 0-4 or 0,2,7.")] = "0",
    scaling: ScalingOption = "range",
    lattice: LatticeOption = "small",
    keep_extra: KeepOption = "last",
    belief: BeliefOption = "mean",
    plot: Annotated[
        Path | None, typer.Option(help="Write IGD+ against time to this PNG file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Heterogeneous workers in virtual time: with overlapping steps, with the batch
    barrier, and with everybody waiting for the slowest.

    Example: counterpoise bench simulate --latency 1 --latency 1 --latency 5 --workers 3 --jitter 0.2
    """
    check_names([name], NAMES, "--problem")
    pools = _pools(
        latency or [1.0, 1.0, 5.0], workers or [3], (jitter, failure, log_sigma)
    )
    instance = problem(name, len(pools))
    chosen = Mode(
        "overlap",
        count_or_auto(overlap, "--overlap", least=0),
        count_or_auto(batch_size, "--batch-size", least=1),
    )
    modes = [chosen, comparison.BARRIER, comparison.WAITING]
    numbers = parse_seeds(seeds)
    strategy = choose("sbp-bo", Settings(scaling, lattice, keep_extra))
    with progress_bar("simulations", len(modes) * len(numbers)) as advance:
        rows = comparison.compare(
            instance,
            pools,
            replace(strategy, belief=belief),
            numbers,
            modes,
            n=n,
            budget=budget,
            planning_s=_planning(planning_s),
            advance=advance,
        )
    if plot is not None:
        plot_history(rows, plot)
    names = (chosen.name, comparison.WAITING.name)
    saved = describe(saved_time(rows, *names), *names)
    print_rows(
        rows,
        as_json,
        lambda: (
            comparison.table(rows),
            comparison.progress_table(rows),
            comparison.summary(rows),
            saved,
        ),
    )


def _planning(text: str) -> float | None:
    """None: as long as it takes."""
    if text == MEASURED:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds < float("inf"):
        raise typer.BadParameter(
            f"must be {MEASURED} or a number from 0 on, not {text!r}",
            param_hint="--planning-s",
        )
    return seconds


def _pools(
    latencies: list[float], counts: list[int], spread: tuple[float, float, float]
) -> tuple[Pool, ...]:
    """`spread`: jitter, failure and log_sigma of all pools."""
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
            Pool(t, k, *spread) for t, k in zip(latencies, counts, strict=True)
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
