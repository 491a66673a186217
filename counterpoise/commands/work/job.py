"""The command `job cancel`: end a run that hangs."""

from typing import Annotated

import typer

from counterpoise.client.failed_requests import DEFAULT_URL
from counterpoise.commands.options import AsJson, Token, Url
from counterpoise.commands.output import connected, print_json, terminal
from counterpoise.wire.codes import JobState

job = typer.Typer(
    rich_markup_mode="rich", context_settings={"help_option_names": ["-h", "--help"]}
)


def add_to(app: typer.Typer) -> None:
    app.add_typer(job, name="job", help="Change one job; `explain` shows it.")


@job.callback()
def group() -> None:
    """Change one job; `explain` shows it."""


@job.command()
def cancel(
    number: Annotated[int, typer.Argument(metavar="JOB", min=1, help="Its number.")],
    fail: Annotated[
        bool,
        typer.Option("--fail", help="It has failed for good, and is not tried again."),
    ] = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """End the run of a job, for example one that hangs.

    Its worker is told with its next heartbeat. Without --fail it counts as lost, and
    another worker tries it again.

    Example: [bold]counterpoise job cancel 17[/bold]
    """
    with connected(url, token) as client:
        state = client.cancel_job(number, fail=fail)
    if as_json:
        print_json({"job": number, "state": state})
        return
    what_now = "it will be tried again" if state == JobState.READY else f"it is {state}"
    terminal().print(f"job {number} is cancelled; {what_now}")
