"""The command `slot-use`: how busy slow slots are with real processes."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.commands.arguments import count_or_auto
from benchmarks.commands.options import JsonOption
from benchmarks.commands.output import print_rows
from benchmarks.service.slot_use import Plan, run


def slot_use(
    slots: Annotated[int, typer.Option(min=1, help="For the slow function.")] = 8,
    budget: Annotated[int, typer.Option(min=17, help="Full samples.")] = 256,
    overlap: Annotated[str, typer.Option(help="As in a study.")] = "auto",
    batch_size: Annotated[str, typer.Option(help="As in a study.")] = "3",
    rounds: Annotated[int, typer.Option(min=1, help="Studies, in turn.")] = 3,
    as_json: JsonOption = False,
) -> None:
    """A real server, planner and workers: the share of time in which slow slots
    evaluate a function of 0.3 to 1.7 s in the search phase.

    Example: counterpoise bench slot-use --overlap 0 --rounds 1
    """
    plan = Plan(
        slots=slots,
        budget=budget,
        overlap=count_or_auto(overlap, "--overlap", least=0),
        batch_size=count_or_auto(batch_size, "--batch-size", least=1),
    )
    with Console(stderr=True).status("running"):
        rows = [run(plan) for _ in range(rounds)]
    table = Table(title=f"{slots} slots of a function of 0.3 to 1.7 s")
    columns = ("busy in search", "search", "slow runs", "steps", "first step", "others")
    for column in (*columns, "load"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            f"{row['busy_in_search']:.1%}",
            f"{row['search_s']:.1f} s",
            str(row["slow_runs"]),
            str(row["steps"]),
            f"{row['first_step_s']:.2f} s",
            f"{row['step_s']:.2f} s",
            f"{row['load_before']:.1f} - {row['load_after']:.1f}",
        )
    print_rows(rows, as_json, lambda: (table,))
