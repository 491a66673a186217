"""The command `explain`: why a job is in its state."""

from typing import Annotated

import typer

from counterpoise.client.failed_requests import DEFAULT_URL
from counterpoise.commands.options import AsJson, Token, Url
from counterpoise.commands.output import connected, print_json, terminal
from counterpoise.commands.work.work_tables import job_story


def add_to(app: typer.Typer) -> None:
    app.command()(explain)


def explain(
    job: Annotated[int, typer.Argument(min=1, metavar="JOB", help="The job's number.")],
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Explain why a job waits, and print the history of its attempts.

    Example: [bold]counterpoise explain 17[/bold]
    """
    with connected(url, token) as client:
        story = client.explain(job)
    if as_json:
        print_json(story.model_dump())
    else:
        terminal().print(job_story(story))
