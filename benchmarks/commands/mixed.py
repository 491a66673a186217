"""The command `mixed`."""

from typing import Annotated

import typer
from threadpoolctl import threadpool_limits

from app.optimizer.strategies.catalogue import STRATEGIES
from benchmarks.commands.arguments import check_names, parse_seeds
from benchmarks.commands.options import JsonOption
from benchmarks.commands.output import print_rows, progress_bar
from benchmarks.mixed import run as benchmark
from benchmarks.mixed.problems import PROBLEMS


def mixed(
    problems: Annotated[
        list[str] | None, typer.Option("--problem", help=", ".join(PROBLEMS))
    ] = None,
    seeds: Annotated[str, typer.Option(help="Such as 0-4 or 0,2,7.")] = "0-4",
    search: Annotated[
        int, typer.Option(min=1, help="Full samples after the initial design.")
    ] = 60,
    strategy: Annotated[str, typer.Option(help=", ".join(STRATEGIES))] = "sbp-bo",
    as_json: JsonOption = False,
) -> None:
    """Categories and discrete values, beside random search and pymoo.

    Example: counterpoise bench mixed --problem truss --seeds 0-1
    """
    names = check_names(problems or list(PROBLEMS), tuple(PROBLEMS), "--problem")
    check_names([strategy], tuple(STRATEGIES), "--strategy")
    chosen = parse_seeds(seeds)
    count = len(names) * len(chosen) * len(benchmark.methods(strategy))
    with threadpool_limits(limits=1), progress_bar("runs", count) as advance:
        rows = benchmark.run(names, chosen, search, strategy, progress=advance)
    print_rows(rows, as_json, lambda: (benchmark.table(rows),))
