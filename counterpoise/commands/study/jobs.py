"""The command `study jobs`: the jobs of a study, and why some failed."""

from itertools import islice
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from counterpoise.client.failed_requests import DEFAULT_URL
from counterpoise.commands.options import AsJson, StudyName, Token, Url
from counterpoise.commands.output import connected, print_items, terminal
from counterpoise.commands.study.study_tables import plain_table
from counterpoise.wire.codes import JobState
from counterpoise.wire.views import JobView

MOST_SHOWN = 50


def add_to(study: typer.Typer) -> None:
    study.command()(jobs)


def jobs(
    name: StudyName,
    failed: Annotated[
        bool, typer.Option("--failed", help="Failed jobs, with the last message.")
    ] = False,
    state: Annotated[
        JobState | None, typer.Option(help="Only jobs in this state.")
    ] = None,
    objective: Annotated[
        str | None, typer.Option(help="Only jobs of this objective.")
    ] = None,
    newest: Annotated[
        bool, typer.Option("--newest", help="The newest first; else the oldest.")
    ] = False,
    limit: Annotated[
        int, typer.Option(min=1, help="The largest number of jobs to list.")
    ] = MOST_SHOWN,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List the jobs of a study.

    `explain JOB` prints the whole history of one.

    Example: [bold]counterpoise study jobs wing --failed[/bold]
    """
    wanted = JobState.FAILED if failed else state
    with connected(url, token) as client:
        found = client.jobs(
            name, objective=objective, state=wanted, newest_first=newest
        )
        items = list(islice(found, limit + 1))
        shown = items[:limit]
        if as_json:
            print_items(shown)
            return
        messages = {job.job: _last_failure(job) for job in shown if failed}
    if not shown:
        terminal().print(f"study {name} has no such jobs")
        return
    terminal().print(_table(shown, messages))
    if len(items) > limit:
        terminal().print(f"there are more than {limit}; see --limit", style="dim")


def _last_failure(job: JobView) -> str:
    """Its kind, and what the worker reported in one line."""
    return ": ".join(text for text in (job.failure, job.message) if text)


def _table(items: list[JobView], messages: dict[int, str]) -> Table:
    last = ("message",) if messages else ()
    table = plain_table(
        "job", "sample", "objective", "state", "attempts", "worker", *last, gap=1
    )
    for job in items:
        message = (Text(messages[job.job]),) if messages else ()
        table.add_row(
            str(job.job),
            str(job.sample),
            Text(job.objective),
            job.state,
            str(job.attempts),
            Text(job.worker or ""),
            *message,
        )
    return table
