"""The command `explain`: why a job is where it is."""

from typing import Annotated

import typer

from counterpoise.commands.study.study import AsJson, Token, Url, connected, print_json, terminal
from counterpoise.commands.work.tables import job_story
from counterpoise.connection import DEFAULT_URL


def add_to(app: typer.Typer) -> None:
    app.command()(explain)


def explain(
    job: Annotated[int, typer.Argument(min=1, metavar="JOB", help="Its number.")],
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Say why a job waits, who had it and what happened.

    Example: [bold]counterpoise explain 17[/bold]
    """
    with connected(url, token) as client:
        found = client.explain(job)
    if as_json:
        print_json(found.model_dump())
    else:
        terminal().print(job_story(found))
