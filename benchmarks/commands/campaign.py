"""The command `campaign`: whole tables of runs."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from app.optimizer.strategies.catalogue import STRATEGIES
from benchmarks.campaign.campaigns import CAMPAIGNS, Campaign, Choice, specs_of
from benchmarks.campaign.commands import command_of, detail_of
from benchmarks.campaign.execute import on_file, open_executor, run_missing
from benchmarks.campaign.records import as_record, write
from benchmarks.campaign.report.renderers import renderer_of
from benchmarks.campaign.result_files import files_of
from benchmarks.campaign.rows import rows_of
from benchmarks.commands.arguments import check_applies, check_names, parse_seeds
from benchmarks.commands.options import JsonOption
from benchmarks.commands.output import print_rows, progress_lines
from benchmarks.paper.results import EVIDENCE_COLUMN
from benchmarks.peers.catalogue import NEEDS_TORCH, PEERS


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
    ratios: Annotated[
        str | None, typer.Option(help="Only these, as the table shows them: 9,1,1.")
    ] = None,
    slots: Annotated[
        int | None, typer.Option(min=1, help="Only this number of slots (wall-clock).")
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
    if problems:
        check_names(problems, plan.problems, "--problem")
    choice = Choice(
        tuple(problems or ()),
        tuple(sizes or ()),
        _columns(plan, strategies),
        tuple(parse_seeds(seeds or plan.seeds)),
        budget,
        ratios,
        slots,
    )
    specs = specs_of(plan, choice)
    if not specs:
        raise typer.BadParameter("no run of the campaign has all of these properties")
    check_applies(specs)
    files = files_of(name) if results is None else [results]
    kept = on_file(specs, files)
    if jobs > 0 and len(kept) < len(specs):
        with (
            progress_lines("runs", len(specs), len(kept)) as report,
            open_executor(executor, jobs) as pool,
        ):
            run_missing(
                specs, files[-1], pool, lambda run: report(detail_of(run)), kept
            )
    outcomes = list(on_file(specs, files).values())
    rows = rows_of(plan, outcomes)
    shown = renderer_of(name)
    if out is not None:
        write(rows, outcomes, out, shown)
    again = [f"one run again: {command_of(name, outcomes[0].spec)}"] if outcomes else []
    print_rows(
        map(as_record, rows),
        as_json,
        lambda: (shown.text(rows), shown.summary(rows), *again),
    )


def _columns(plan: Campaign, given: list[str] | None) -> tuple[str, ...]:
    """Those given, or those of the campaign that can run here."""
    missing = () if find_spec("botorch") else NEEDS_TORCH
    if not given:
        return tuple(name for name in plan.columns if name not in missing)
    known = dict.fromkeys((*STRATEGIES, EVIDENCE_COLUMN, *PEERS, *plan.columns))
    check_names(given, tuple(known), "--strategy")
    for name in given:
        if name in missing:
            raise typer.BadParameter(
                f"{name} needs torch and botorch, which are not installed:"
                " .venv/bin/pip install --group peers",
                param_hint="--strategy",
            )
    return tuple(given)
