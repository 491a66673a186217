"""The command `worker`: evaluate objectives on this machine."""

import os
from pathlib import Path
from typing import Annotated

import typer

from counterpoise.client.failed_requests import DEFAULT_URL
from counterpoise.commands.options import AsJson, Token, Url
from counterpoise.commands.output import WRONG_USAGE, connected, fail
from counterpoise.commands.work.dakota_format import driver_command
from counterpoise.commands.work.evaluators import make_evaluators
from counterpoise.commands.work.name_check import check_names
from counterpoise.errors import RequestFailed
from counterpoise.worker.evaluators.command_evaluator import Keep


def add_to(app: typer.Typer) -> None:
    app.command()(worker)


def worker(
    objective: Annotated[
        list[str],
        typer.Option(
            "--objective",
            help="NAME=package.module:function, or NAME alone for the command after --; may be repeated.",
            show_default=False,
        ),
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="After --: a command, with {params}, {params_txt}, {results} or {x.NAME} in it."
        ),
    ] = None,
    study: Annotated[
        list[str] | None,
        typer.Option("--study", help="Work for this study; may be repeated."),
    ] = None,
    any_study: Annotated[
        bool, typer.Option("--any-study", help="Work for every study.")
    ] = False,
    wait_for_study: Annotated[
        bool,
        typer.Option(
            "--wait-for-study",
            help="Do not check names at the start: the study is created later.",
        ),
    ] = False,
    slots: Annotated[
        int, typer.Option(min=1, max=1000, help="How many jobs run at once.")
    ] = 1,
    name: Annotated[
        str | None, typer.Option(help="A unique name [host, process, a random suffix]")
    ] = None,
    max_jobs: Annotated[
        int | None, typer.Option(min=1, help="End after this number of jobs.")
    ] = None,
    until_finished: Annotated[
        bool,
        typer.Option("--until-finished", help="End when its studies are finished."),
    ] = False,
    timeout_s: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Time limit of an evaluation; the study's own limit applies, too.",
        ),
    ] = None,
    grace_s: Annotated[
        float,
        typer.Option(min=0.0, help="How long evaluations may run on after SIGTERM."),
    ] = 30.0,
    spool: Annotated[
        Path | None,
        typer.Option(
            help="Folder for results that are not told yet [one per user and server]"
        ),
    ] = None,
    work_dir: Annotated[
        Path, typer.Option(help="Where each job of a command has a folder of its own.")
    ] = Path("counterpoise-work"),
    keep: Annotated[
        Keep, typer.Option(help="Which of these folders to keep.")
    ] = Keep.FAILED,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Files of the command: dakota or dakota-aprepro, for drivers of Dakota.",
        ),
    ] = None,
    executor: Annotated[
        str | None,
        typer.Option(
            help="Evaluate on a Dask cluster: dask://HOST:PORT of its scheduler."
        ),
    ] = None,
    url: Url = DEFAULT_URL,
    token: Token = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="COUNTERPOISE_TOKEN_FILE", help="A file that contains the token."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask for jobs, evaluate them with Python functions of this folder or with a
    command, and tell the results.

    A function takes `x`, a dict of the variables, and returns a number, or a dict of
    numbers by objective; a command reads and writes files (docs/workers.md). SIGTERM or
    Ctrl-C once: finish what runs, for at most --grace-s; twice: end at once. No result
    is lost.

    Example: [bold]counterpoise worker --study wing --objective
    mass=simulations.wing:mass --slots 4[/bold]

    Example: [bold]counterpoise worker --study car --objective crash -- ./run_crash
    {params} {results}[/bold]
    """
    if any_study == bool(study):
        fail(
            "choose the studies to work for: --study NAME, or --any-study", WRONG_USAGE
        )
    from counterpoise.client import Client
    from counterpoise.wire.work import ALL
    from counterpoise.worker.config import WorkerConfig
    from counterpoise.worker.run_worker import default_name, run_worker
    from counterpoise.worker.worker_log import WorkerLog

    if token is None and token_file is not None:
        os.environ["COUNTERPOISE_TOKEN_FILE"] = str(token_file)
    if study and not wait_for_study:
        names = [text.partition("=")[0] for text in objective]
        with connected(url, token) as client:
            check_names(client, study, names, command or [])
    if form is not None:
        command = driver_command(form, command or [], study or [], url, token)
    evaluators = make_evaluators(objective, command or [], work_dir, keep, executor)
    config = WorkerConfig(
        name=name or default_name(),
        studies=(ALL,) if any_study else tuple(study or ()),
        slots=slots,
        max_jobs=max_jobs,
        until_finished=until_finished,
        timeout_s=timeout_s,
        grace_s=grace_s,
    )
    try:
        with Client(url, token, retry_s=0) as client:
            run_worker(client, evaluators, config, spool, WorkerLog(as_json))
    except RequestFailed as error:
        fail(str(error))
