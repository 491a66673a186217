"""The command `worker`: evaluate objectives on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from counterpoise.commands.failure import WRONG_USAGE, fail
from counterpoise.commands.study import AsJson, Token, Url
from counterpoise.connection import DEFAULT_URL
from counterpoise.errors import RequestFailed

ANY = "*"


def add_to(app: typer.Typer) -> None:
    app.command()(worker)


def worker(
    objective: Annotated[
        list[str],
        typer.Option("--objective", help="NAME=package.module:function; may be repeated.", show_default=False),
    ],
    study: Annotated[list[str] | None, typer.Option("--study", help="Work for this study; may be repeated.")] = None,
    any_study: Annotated[bool, typer.Option("--any-study", help="Work for every study.")] = False,
    slots: Annotated[int, typer.Option(min=1, max=1000, help="How many jobs run at once.")] = 1,
    name: Annotated[
        str | None, typer.Option(help="This worker's name, nobody else's [host, process, a random end]")
    ] = None,
    max_jobs: Annotated[int | None, typer.Option(min=1, help="End after so many jobs.")] = None,
    until_finished: Annotated[
        bool, typer.Option("--until-finished", help="End when its studies are finished.")
    ] = False,
    timeout_s: Annotated[
        float | None, typer.Option(min=0.001, help="End an evaluation after so long; the study's limit holds, too.")
    ] = None,
    grace_s: Annotated[float, typer.Option(min=0.0, help="How long SIGTERM lets evaluations finish.")] = 30.0,
    spool: Annotated[
        Path | None, typer.Option(help="Where results wait until they are told [a folder per user and server]")
    ] = None,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Ask for jobs, evaluate them with Python functions of this folder, and tell what came out.

    A function takes `x`, a dict of the variables, and returns a number, or a dict of numbers by objective. SIGTERM or
    Ctrl-C once: finish what runs, for at most --grace-s; twice: end at once. Nothing that was evaluated is lost.

    Example: [bold]counterpoise worker --study wing --objective mass=simulations.wing:mass --slots 4[/bold]
    """
    if any_study == bool(study):
        fail("say which studies to work for: --study NAME, or --any-study", WRONG_USAGE)
    from counterpoise.client import Client
    from counterpoise.worker.functions import FunctionEvaluator, FunctionUnusable, Reference
    from counterpoise.worker.log import Log
    from counterpoise.worker.loop import Terms
    from counterpoise.worker.run import default_name, work

    try:
        references = {each: Reference.parse(where) for each, where in map(_named, objective)}
        evaluator = FunctionEvaluator(references, folder=Path.cwd())
    except FunctionUnusable as error:
        fail(str(error), WRONG_USAGE)
    try:
        evaluator.check()
    except FunctionUnusable as error:
        evaluator.close()
        fail(str(error), WRONG_USAGE)
    terms = Terms(
        name=name or default_name(),
        studies=(ANY,) if any_study else tuple(study or ()),
        slots=slots,
        max_jobs=max_jobs,
        until_finished=until_finished,
        timeout_s=timeout_s,
        grace_s=grace_s,
    )
    try:
        with Client(url, token, retry_s=0) as client:
            work(client, dict.fromkeys(references, evaluator), terms, spool, Log(as_json))
    except RequestFailed as error:
        fail(str(error))


def _named(text: str) -> tuple[str, str]:
    name, equals, where = text.partition("=")
    if not (name and equals and where):
        fail(f"--objective {text!r} is not NAME=package.module:function", WRONG_USAGE)
    return name, where
