"""The commands `slots` and `belief`: how busy slow slots are, what planning ahead costs,
and what to believe of samples that still run.
"""

from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.commands.arguments import check_names, parse_seeds
from benchmarks.commands.options import BeliefOption, JsonOption
from benchmarks.commands.output import print_rows, progress_bar
from benchmarks.problems.catalogue import NAMES
from benchmarks.virtual_time import beliefs
from benchmarks.virtual_time import slots as campaign
from benchmarks.virtual_time.results_file import run_missing
from benchmarks.virtual_time.slots import Cell

PROBLEMS = ("dtlz2", "dtlz7", "wfg4", "wfg9")
SLOTS = (1, 2, 4, 8, 16, 32)

ProblemsOption = Annotated[list[str] | None, typer.Option("--problem")]
SlotsOption = Annotated[
    list[int] | None, typer.Option("--slots", min=1, help="Of each objective.")
]
SeedsOption = Annotated[str, typer.Option(help="For example 0-4 or 0,2,7.")]
VariablesOption = Annotated[int, typer.Option(min=4, help="Variables.")]
BudgetOption = Annotated[int, typer.Option(min=1, help="Full samples.")]
SigmaOption = Annotated[
    float, typer.Option(min=0.0, max=3.0, help="Of the slow runs' durations.")
]
PlanningOption = Annotated[
    float, typer.Option(min=0.0, help="Of each step; a slow run takes 5.")
]
ResultsOption = Annotated[
    Path | None, typer.Option(help="File to add to; its runs are not repeated.")
]
JobsOption = Annotated[
    int, typer.Option(min=0, max=1, help="0: only show what is on file.")
]


def slots(
    names: ProblemsOption = None,
    counts: SlotsOption = None,
    seeds: SeedsOption = "0-4",
    d: VariablesOption = 6,
    budget: BudgetOption = 145,
    log_sigma: SigmaOption = 0.5,
    planning_s: PlanningOption = 0.5,
    belief: BeliefOption = "mean",
    results: ResultsOption = None,
    jobs: JobsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Slow slots in virtual time, log-normal durations: overlapping steps beside the
    batch barrier.

    Example: counterpoise bench slots --problem dtlz2 --slots 8 --seeds 0
    """
    problems = check_names(names or list(PROBLEMS), NAMES, "--problem")
    cells = [
        Cell(name, count, seed, d, budget, log_sigma, planning_s, belief)
        for seed, count, name in product(parse_seeds(seeds), counts or SLOTS, problems)
    ]
    run = campaign.run_cell if jobs else None
    with progress_bar("simulations", len(cells)) as advance:
        rows = run_missing(cells, results, campaign.cell_of, run, advance)
    print_rows(rows, as_json, lambda: (campaign.table(rows),))


def belief(
    names: ProblemsOption = None,
    counts: SlotsOption = None,
    seeds: SeedsOption = "100-109",
    d: VariablesOption = 6,
    budget: BudgetOption = 145,
    log_sigma: SigmaOption = 0.5,
    planning_s: PlanningOption = 0.5,
    results: ResultsOption = None,
    jobs: JobsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Samples that still run: believed at their mean, or a deviation above it.

    Example: counterpoise bench belief --problem dtlz2 --slots 8 --seeds 100
    """
    problems = check_names(names or list(PROBLEMS), NAMES, "--problem")
    cells = [
        Cell(name, count, seed, d, budget, log_sigma, planning_s)
        for seed, count, name in product(parse_seeds(seeds), counts or [8], problems)
    ]
    run = beliefs.compare_beliefs if jobs else None
    with progress_bar("simulations", len(cells)) as advance:
        rows = run_missing(cells, results, beliefs.cell_of, run, advance)
    print_rows(rows, as_json, lambda: (beliefs.table(rows),))
