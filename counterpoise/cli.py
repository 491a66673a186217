"""The command `counterpoise`.

Exit codes: 0 done, 1 failed (one sentence on stderr), 2 wrong usage or settings.
"""

import json
import platform
from typing import Annotated

import typer

from counterpoise import __version__
from counterpoise.commands import bench, demo, doctor, replay, server
from counterpoise.commands.options import AsJson
from counterpoise.commands.run import run
from counterpoise.commands.study import import_export, jobs, points, study, watch
from counterpoise.commands.work import explain, job, worker, workers

app = typer.Typer(
    name="counterpoise",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
run.add_to(app)
server.add_to(app)
demo.add_to(app)
bench.add_to(app)
study.add_to(app)
import_export.add_to(study.study)
points.add_to(study.study)
watch.add_to(study.study)
jobs.add_to(study.study)
worker.add_to(app)
doctor.add_to(app)
replay.add_to(app)
explain.add_to(app)
job.add_to(app)
workers.add_to(app)


@app.command()
def version(as_json: AsJson = False) -> None:
    """Print the version.

    Example: [bold]counterpoise version --json[/bold]
    """
    python = platform.python_version()
    if as_json:
        typer.echo(json.dumps({"counterpoise": __version__, "python": python}))
    else:
        typer.echo(f"counterpoise {__version__} (Python {python})")


def _print_version(is_given: bool) -> None:
    if is_given:
        version()
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version.",
        ),
    ] = False,
) -> None:
    """Optimisation whose objectives have very different evaluation costs."""


def main() -> None:
    app()
