"""The command `doctor`: checks server, token, workers and database, with what to do
about each fault.
"""

import importlib.util
import json
from collections.abc import Iterator
from enum import StrEnum
from itertools import chain
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from counterpoise import __version__
from counterpoise.client import Client
from counterpoise.client.failed_requests import DEFAULT_URL
from counterpoise.commands.options import AsJson, Token, Url
from counterpoise.commands.output import FAILED, VisibleConsole
from counterpoise.errors import RequestFailed


class Status(StrEnum):
    OK = "ok"
    SKIPPED = "skipped"
    WARNING = "warning"
    FAULT = "fault"


STYLES = {
    Status.OK: "green",
    Status.SKIPPED: "dim",
    Status.WARNING: "yellow",
    Status.FAULT: "bold red",
}


class Finding(NamedTuple):
    check: str
    status: str
    detail: str


def add_to(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(
    url: Url = DEFAULT_URL,
    token: Token = None,
    database_url: Annotated[
        str | None,
        typer.Option(
            "--database-url",
            envvar="COUNTERPOISE_DATABASE_URL",
            help="Check this database, too.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check server, token, workers and database.

    Exits with 1 if there is a fault; warnings do not count.

    Example: [bold]counterpoise doctor --database-url sqlite:///counterpoise.db[/bold]
    """
    console = VisibleConsole(highlight=False, soft_wrap=True)
    findings: list[Finding] = []
    for finding in chain(server_findings(url, token), database_findings(database_url)):
        one_line = finding._replace(detail=" ".join(finding.detail.split()))
        findings.append(one_line)
        if not as_json:
            _print(console, one_line)
    if as_json:
        typer.echo(json.dumps([finding._asdict() for finding in findings]))
    if any(finding.status == Status.FAULT for finding in findings):
        raise typer.Exit(FAILED)


def _print(console: Console, finding: Finding) -> None:
    style = STYLES[Status(finding.status)]
    console.print(
        Text.assemble(
            (f"{finding.status:<8}", style), f"{finding.check:<11}", finding.detail
        )
    )


def server_findings(url: str, token: str | None) -> Iterator[Finding]:
    try:
        client = Client(url, token, retry_s=0)
    except RequestFailed as error:
        yield Finding("server", Status.FAULT, str(error))
        return
    with client:
        try:
            client.check_ready()
            yield Finding("server", Status.OK, f"{client.url} is ready")
        except RequestFailed as error:
            yield Finding("server", Status.FAULT, str(error))
            if error.status is None:
                return  # the other requests would fail for the same reason
        yield _version_finding(client)
        yield from _worker_findings(client)


def _version_finding(client: Client) -> Finding:
    try:
        title, version = client.about()
    except RequestFailed:
        return Finding(
            "version",
            Status.WARNING,
            f"{client.url} has no version; is it a Counterpoise server?",
        )
    if title != "Counterpoise":
        detail = f"{client.url} is {title!r}, not a Counterpoise server; set COUNTERPOISE_URL"
        return Finding("version", Status.FAULT, detail)
    if version != __version__:
        detail = f"the server has {version}, this is {__version__}; install the same version here"
        return Finding("version", Status.WARNING, detail)
    return Finding("version", Status.OK, f"{version}, the same as here")


def _worker_findings(client: Client) -> Iterator[Finding]:
    try:
        workers = list(client.workers())
    except RequestFailed as error:
        yield _refusal_finding(error)
        return
    yield Finding(
        "token",
        Status.OK,
        "accepted" if client.has_token else "none given, and none is required",
    )
    if not workers:
        yield Finding(
            "workers",
            Status.WARNING,
            "none has asked for jobs yet; studies wait until one does",
        )
        return
    busy = sum(1 for worker in workers if worker.jobs)
    last = max(worker.last_seen_at for worker in workers)
    detail = f"{len(workers)} seen, the last at {last}; {busy} of them with jobs now"
    yield Finding("workers", Status.OK, detail)


def _refusal_finding(error: RequestFailed) -> Finding:
    if error.status == 401:
        return Finding("token", Status.FAULT, str(error))
    if error.status == 403:
        return Finding(
            "token", Status.WARNING, f"accepted, but not for reading workers: {error}"
        )
    return Finding("workers", Status.FAULT, str(error))


def database_findings(database_url: str | None) -> Iterator[Finding]:
    if database_url is None:
        hint = "give --database-url (or COUNTERPOISE_DATABASE_URL) to check them"
        yield Finding(
            "database",
            Status.SKIPPED,
            f"not checked: database, migrations and clock; {hint}",
        )
        return
    if importlib.util.find_spec("sqlalchemy") is None:
        hint = "install it with: pip install 'counterpoise[server]'"
        yield Finding(
            "database",
            Status.WARNING,
            f"not checked, as the server is not installed here; {hint}",
        )
        return
    from app.service.monitoring.doctor import examine

    for check, status, detail in examine(database_url):
        yield Finding(check, status, detail)
