"""The commands `store` and `service`: the database and the HTTP interface under load."""

from typing import Annotated

import typer
from rich.console import Console

from benchmarks.commands.options import JsonOption
from benchmarks.commands.output import print_rows
from benchmarks.service import report as service_report
from benchmarks.service import run as service_benchmark
from benchmarks.service import store as store_benchmark


def store(
    sizes: Annotated[
        list[int] | None,
        typer.Option("--jobs", min=1, help="Ready jobs in the database."),
    ] = None,
    cycles: Annotated[
        int, typer.Option(min=1, help="Measured at each size, in turn.")
    ] = 300,
    as_json: JsonOption = False,
) -> None:
    """Lease and settle on SQLite and PostgreSQL, with more and more jobs stored.

    Example: counterpoise bench store --jobs 1000 --jobs 100000
    """
    console = Console(stderr=True)
    with console.status("starting") as status:
        rows = store_benchmark.run(
            tuple(sizes or store_benchmark.SIZES), cycles, report=status.update
        )
    print_rows(rows, as_json, lambda: (store_benchmark.table(rows),))


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
    as_json: JsonOption = False,
) -> None:
    """Ask and tell over HTTP beside Optuna, and /ask while a planner fits models.

    8 clients; SQLite and PostgreSQL.

    Example: counterpoise bench service --jobs 1000000 --rounds 2
    """
    console = Console(stderr=True)
    with console.status("starting") as status:
        plan = service_benchmark.Plan(jobs, cycles, trials, rounds, initial, planning)
        rows = service_benchmark.run(plan, report=status.update)
    print_rows(rows, as_json, lambda: service_report.tables(rows))
