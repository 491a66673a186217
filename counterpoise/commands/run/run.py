"""The command `run`: a study with server, planner and workers on this machine."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from counterpoise.commands.options import AsJson, EverySample, Token
from counterpoise.commands.output import (
    FAILED,
    WRONG_USAGE,
    fail,
    print_json,
    require,
    terminal,
)
from counterpoise.commands.run.study_file import read_study_file
from counterpoise.commands.signals import end_on_signals
from counterpoise.errors import RequestFailed

INTERRUPTED = 130


def add_to(app: typer.Typer) -> None:
    app.command()(run)


def run(
    file: Annotated[
        str,
        typer.Argument(help="The study, YAML or JSON, with `run` for each objective."),
    ],
    workers: Annotated[
        list[str] | None,
        typer.Option(
            "--workers",
            help="How many evaluations run at once: N, or OBJECTIVE=N; may be repeated.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="Folder for database, results and logs [counterpoise-STUDY]",
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(help="Use this running server instead of one of its own."),
    ] = None,
    token: Token = None,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help="Port of its own server, 0 for a free one."
        ),
    ] = 0,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart",
            help="Begin again; the folder of the earlier run gets another name.",
        ),
    ] = False,
    stay: Annotated[
        bool,
        typer.Option(
            "--stay", help="Keep the server running at the end, until Ctrl-C."
        ),
    ] = False,
    every: EverySample = False,
    as_json: AsJson = False,
) -> None:
    """Run a study on this machine, from its file to its front: server, planner and
    workers in one command.

    Each objective of the file has a `run`: `module:function`, or a command with
    {params} and {results} (docs/run.md). Ctrl-C ends it; the same command goes on
    where it was, also after a crash or with a larger budget.

    Example: [bold]counterpoise run wing.yaml --workers crash=4[/bold]
    """
    if server is None:
        require("sqlalchemy", "The server", "server")
    specification, simulations = read_study_file(
        file, workers or [], needs_all=server is None
    )
    from counterpoise.commands.run.follow import announce, follow, keep_serving
    from counterpoise.commands.run.report import (
        print_next,
        print_result,
        result_json,
        write_files,
    )
    from counterpoise.local.processes import RunFailed
    from counterpoise.local.result import read_result
    from counterpoise.local.run_folder import move_aside
    from counterpoise.local.study_run import RunOptions, running
    from counterpoise.worker.evaluators.command_evaluator import CommandUnusable
    from counterpoise.worker.evaluators.function_reference import FunctionUnusable

    folder = out or Path(f"counterpoise-{specification['name']}")
    home = Path.cwd() if file == "-" else Path(file).absolute().parent
    messages = Console(stderr=True, highlight=False)
    end_on_signals()
    try:
        if restart and server is None:
            move_aside(folder)
        options = RunOptions(folder, home, port, server, token)
        with running(specification, simulations, options) as study_run:
            announce(study_run, messages)
            follow(study_run, messages)
            result = read_result(study_run.client, study_run.study.name, folder)
            files = write_files(study_run.client, result, folder)
            if as_json:
                print_json(result_json(result, files))
            else:
                print_result(result, terminal(), every=every)
                print_next(result, files, file, folder, messages, server=server)
            if stay and result.finished:
                keep_serving(study_run, messages)
    except (FunctionUnusable, CommandUnusable) as error:
        fail(str(error), WRONG_USAGE)
    except RunFailed as error:
        fail(str(error), WRONG_USAGE if error.code == WRONG_USAGE else FAILED)
    except (RequestFailed, OSError) as error:
        fail(str(error))
    if not result.finished:
        raise typer.Exit(INTERRUPTED)
    if not result.front:
        raise typer.Exit(FAILED)
