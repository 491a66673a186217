"""The commands `workers …`: list workers, drain one."""

from typing import Annotated

import typer

from counterpoise.client.failed_requests import DEFAULT_URL
from counterpoise.commands.options import AsJson, Token, Url
from counterpoise.commands.output import (
    connected,
    count,
    print_items,
    print_json,
    terminal,
)
from counterpoise.commands.work.work_tables import workers_table
from counterpoise.wire.views import WorkerView

workers = typer.Typer(
    rich_markup_mode="rich", context_settings={"help_option_names": ["-h", "--help"]}
)


def add_to(app: typer.Typer) -> None:
    app.add_typer(workers, name="workers")


WorkerName = Annotated[str, typer.Argument(metavar="WORKER", help="The worker's name.")]


@workers.callback(invoke_without_command=True)
def list_(
    context: typer.Context,
    alive: Annotated[
        bool, typer.Option("--alive", help="Only workers that are alive.")
    ] = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List the workers: last seen, studies and objectives, jobs and results.

    `drain` and `undrain` change one.

    Example: [bold]counterpoise workers --json[/bold]
    """
    if context.invoked_subcommand is not None:
        return
    with connected(url, token) as client:
        items = [worker for worker in client.workers() if worker.alive or not alive]
    if as_json:
        print_items(items)
    elif not items:
        terminal().print(
            "no worker is alive" if alive else "no worker has asked for jobs yet"
        )
    else:
        terminal().print(workers_table(items))


@workers.command()
def drain(
    name: WorkerName,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Give a worker no more jobs; it keeps those that it holds.

    Example: [bold]counterpoise workers drain node7[/bold]
    """
    with connected(url, token) as client:
        _print_worker(client.drain(name), as_json)


@workers.command()
def undrain(
    name: WorkerName,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Give a worker jobs again.

    Example: [bold]counterpoise workers undrain node7[/bold]
    """
    with connected(url, token) as client:
        _print_worker(client.undrain(name), as_json)


def _print_worker(worker: WorkerView, as_json: bool) -> None:
    if as_json:
        print_json(worker.model_dump())
        return
    jobs = count(len(worker.jobs), "job") if worker.jobs else "no job"
    state = (
        "is drained: it gets no more jobs"
        if worker.drained
        else "gets jobs when it asks"
    )
    terminal().print(f"worker {worker.worker} {state}; it holds {jobs}", markup=False)
