"""The commands `workers …`: who is there, what they did, and draining one."""

from typing import Annotated

import typer

from counterpoise.commands.study.study import AsJson, Token, Url, connected, print_items, print_json, terminal
from counterpoise.commands.work.tables import workers_table
from counterpoise.connection import DEFAULT_URL
from counterpoise.wire.views import WorkerView

workers = typer.Typer(rich_markup_mode="rich", context_settings={"help_option_names": ["-h", "--help"]})


def add_to(app: typer.Typer) -> None:
    app.add_typer(workers, name="workers")


WorkerName = Annotated[str, typer.Argument(metavar="WORKER", help="As it names itself.")]


@workers.callback(invoke_without_command=True)
def list_(context: typer.Context, url: Url = DEFAULT_URL, token: Token = None, as_json: AsJson = False) -> None:
    """List the workers: last seen, what they take, what they hold and did. `drain` and `undrain` act on one.

    Example: [bold]counterpoise workers --json[/bold]
    """
    if context.invoked_subcommand is not None:
        return
    with connected(url, token) as client:
        found = list(client.workers())
    if as_json:
        print_items(found)
    elif not found:
        terminal().print("no worker has asked for jobs yet")
    else:
        terminal().print(workers_table(found))


@workers.command()
def drain(name: WorkerName, url: Url = DEFAULT_URL, token: Token = None, as_json: AsJson = False) -> None:
    """Give a worker no more jobs; what it holds goes on.

    Example: [bold]counterpoise workers drain node7[/bold]
    """
    with connected(url, token) as client:
        _print_worker(client.drain(name), as_json)


@workers.command()
def undrain(name: WorkerName, url: Url = DEFAULT_URL, token: Token = None, as_json: AsJson = False) -> None:
    """Give a worker jobs again.

    Example: [bold]counterpoise workers undrain node7[/bold]
    """
    with connected(url, token) as client:
        _print_worker(client.undrain(name), as_json)


def _print_worker(found: WorkerView, as_json: bool) -> None:
    if as_json:
        print_json(found.model_dump())
        return
    held = len(found.jobs)
    jobs = f"; it holds {held} job{'' if held == 1 else 's'}" if held else "; it holds no job"
    state = "is drained: it gets no more jobs" if found.drained else "gets jobs when it asks"
    terminal().print(f"worker {found.worker} {state}{jobs}", markup=False)
