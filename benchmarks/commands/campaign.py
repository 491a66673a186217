"""The command `campaign`: whole tables of runs."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from app.optimizer.strategies.catalogue import STRATEGIES
from benchmarks.campaign import tables
from benchmarks.campaign.campaigns import CAMPAIGNS, Campaign, Choice, specs_of
from benchmarks.campaign.execute import on_file, open_executor, run_missing
from benchmarks.campaign.rows import Row, rows_of
from benchmarks.commands.arguments import check_names, parse_seeds
from benchmarks.commands.options import JsonOption
from benchmarks.commands.output import print_rows, progress_bar
from benchmarks.paper.results import Outcome
from benchmarks.peers.catalogue import NEEDS_TORCH, PEERS

RESULTS = Path(__file__).parents[1] / "results"


def campaign(
    name: Annotated[str, typer.Argument(help=" | ".join(CAMPAIGNS))],
    problems: Annotated[
        list[str] | None, typer.Option("--problem", help="Only these.")
    ] = None,
    sizes: Annotated[
        list[int] | None, typer.Option("--m", help="Only these numbers of objectives.")
    ] = None,
    strategies: Annotated[
        list[str] | None, typer.Option("--strategy", help="Only these columns.")
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(help="Such as 0-4 or 0,2,7; by default the campaign's."),
    ] = None,
    budget: Annotated[
        int | None, typer.Option(min=1, help="Full samples; by default the campaign's.")
    ] = None,
    executor: Annotated[
        str, typer.Option(help="processes, or dask://host:port.")
    ] = "processes",
    jobs: Annotated[
        int, typer.Option(min=0, help="Processes; 0: show what is on file.")
    ] = 1,
    results: Annotated[
        Path | None,
        typer.Option(help="Finished runs are kept here, and not run again."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for table.txt, table.csv, table.md and plots."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """A whole table of runs: repeats what is missing, shows all that is on file."""
    check_names([name], tuple(CAMPAIGNS), "name")
    plan = CAMPAIGNS[name]
    specs = specs_of(plan, _choice(plan, problems, sizes, strategies, seeds, budget))
    file = results or RESULTS / f"{name}.jsonl"
    kept = on_file(specs, file)
    if jobs > 0 and len(kept) < len(specs):
        with (
            progress_bar("runs", len(specs)) as advance,
            open_executor(executor, jobs) as pool,
        ):
            advance(len(kept))
            run_missing(specs, file, pool, lambda _: advance())
    outcomes = list(on_file(specs, file).values())
    rows = rows_of(plan, outcomes)
    if out is not None:
        write(rows, outcomes, out)
    print_rows(
        map(as_record, rows),
        as_json,
        lambda: (tables.text(rows), tables.summary(rows)),
    )


def _choice(
    plan: Campaign,
    problems: list[str] | None,
    sizes: list[int] | None,
    strategies: list[str] | None,
    seeds: str | None,
    budget: int | None,
) -> Choice:
    if problems:
        check_names(problems, plan.problems, "--problem")
    if strategies:
        check_names(strategies, (*STRATEGIES, *PEERS), "--strategy")
    chosen = tuple(strategies or plan.strategies)
    if find_spec("torch") is None and not strategies:
        chosen = tuple(name for name in chosen if name not in NEEDS_TORCH)
    return Choice(
        tuple(problems or ()),
        tuple(sizes or ()),
        chosen,
        tuple(parse_seeds(seeds or plan.seeds)),
        budget,
    )


def write(rows: Sequence[Row], outcomes: Sequence[Outcome], folder: Path) -> None:
    # matplotlib takes a second to import
    from rich.console import Console

    from benchmarks.campaign.plots import draw

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "table.txt").open("w") as file:
        Console(file=file, width=200).print(tables.text(rows), tables.summary(rows))
    (folder / "table.csv").write_text(tables.as_csv(rows))
    (folder / "table.md").write_text(tables.markdown(rows))
    draw(outcomes, folder)


def as_record(row: Row) -> dict[str, Any]:
    return {
        "problem": row.problem,
        "m": row.m,
        "ratios": row.ratios,
        "score": row.score,
        "best": row.best,
        "columns": {
            name: {
                "scores": list(cell.scores),
                "mean": cell.mean,
                "std": cell.std,
                "assessment": cell.assessment,
                "step_s": cell.step_s,
            }
            for name, cell in row.cells.items()
        },
        "paper": {
            name: {"mean": entry.mean, "std": entry.std}
            for name, entry in row.paper.items()
        },
    }
