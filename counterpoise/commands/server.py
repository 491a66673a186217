"""The commands that run the server: `serve`, `planner` and `migrate`."""

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console

from counterpoise.blas_threads import ONE_BLAS_THREAD
from counterpoise.commands.options import AsJson
from counterpoise.commands.output import FAILED, WRONG_USAGE, fail, require

if TYPE_CHECKING:
    from app.settings import Settings

Result = TypeVar("Result")
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        help="sqlite:///FILE or postgresql://… [COUNTERPOISE_DATABASE_URL]",
    ),
]


def add_to(app: typer.Typer) -> None:
    app.command()(serve)
    app.command()(planner)
    app.command()(migrate)


def serve(
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on [COUNTERPOISE_HOST, else 127.0.0.1]"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            help="Port to listen on, 0 for any [COUNTERPOISE_PORT, else 8000]"
        ),
    ] = None,
    database_url: DatabaseUrl = None,
    root_path: Annotated[
        str | None,
        typer.Option(
            help="Path prefix at which a proxy publishes the server [COUNTERPOISE_ROOT_PATH]"
        ),
    ] = None,
    planner: Annotated[
        bool,
        typer.Option("--planner/--no-planner", help="Run a planner beside the server."),
    ] = True,
) -> None:
    """Run the server. SQLite databases are created and upgraded as needed.

    Example: [bold]counterpoise serve --port 8000 --database-url
    sqlite:///counterpoise.db[/bold]
    """

    def start(settings: "Settings") -> None:
        from app.server import serve

        serve(settings, with_planner=planner)

    run_with_settings(
        start, host=host, port=port, database_url=database_url, root_path=root_path
    )


def planner(
    database_url: DatabaseUrl = None,
    with_parent: Annotated[
        bool, typer.Option(hidden=True, help="End when standard input ends.")
    ] = False,
) -> None:
    """Run a planner: it fits models, plans steps and expires leases.

    Any number of them may run.

    Example: [bold]counterpoise planner --database-url
    postgresql://me@localhost/counterpoise[/bold]
    """

    def start(settings: "Settings") -> None:
        from app.planner_process import run_planner

        run_planner(settings, with_parent=with_parent)

    run_with_settings(start, database_url=database_url)


def migrate(
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Bring a database to the schema that this version needs; safe to repeat and to run
    from several places at once.

    Example: [bold]counterpoise migrate --database-url
    postgresql://me@localhost/counterpoise[/bold]
    """

    def start(settings: "Settings") -> tuple[str | None, str]:
        from app.migrate import migrate

        return migrate(settings)

    before, after = run_with_settings(start, database_url=database_url)
    if as_json:
        typer.echo(json.dumps({"before": before, "after": after}))
    else:
        change = (
            f"already at {after}"
            if before == after
            else f"{before or 'empty'} -> {after}"
        )
        Console().print(f"database: {change}", highlight=False)


def run_with_settings(
    command: Callable[["Settings"], Result], **options: Any
) -> Result:
    """Run a command of the server.

    It imports what it needs, so that an invalid setting is reported at once.
    """
    require("sqlalchemy", "The server", "server")
    os.environ.update(ONE_BLAS_THREAD)  # before the libraries are loaded
    from app.errors import CounterpoiseError, SettingsInvalid
    from app.settings import load_settings

    try:
        return command(load_settings(**options))
    except SettingsInvalid as error:
        fail(str(error), WRONG_USAGE)
    except CounterpoiseError as error:
        fail(str(error), FAILED)
