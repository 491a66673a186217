"""The command `study jobs`: the jobs of a study, and why some failed."""

from itertools import islice
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from counterpoise.client import Client
from counterpoise.client.failed_requests import DEFAULT_URL
from counterpoise.commands.options import AsJson, StudyName, Token, Url
from counterpoise.commands.output import connected, print_items, terminal
from counterpoise.commands.study.study_tables import plain_table
from counterpoise.wire.codes import JobState
from counterpoise.wire.views import JobStory, JobView

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
        messages = {job.job: _last_message(client, job) for job in shown if failed}
    if not shown:
        terminal().print(f"study {name} has no such jobs")
        return
    terminal().print(_table(shown, messages))
    if len(items) > limit:
        terminal().print(f"there are more than {limit}; see --limit", style="dim")


def _last_message(client: Client, job: JobView) -> str:
    return last_line(client.explain(job.job))


def last_line(story: JobStory) -> str:
    """Kind and last line of the last failure, before the logs that come with it."""
    failures = [attempt for attempt in story.attempts if attempt.failure]
    if not failures:
        return ""
    message = (failures[-1].message or "").partition("\n---")[0]
    lines = message.strip().splitlines() or [""]
    return f"{failures[-1].failure}: {lines[-1]}".removesuffix(": ")


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
