"""The command `doctor`: what is well, what is not, and what to do about it."""

import importlib.util
import json
from collections.abc import Iterator
from itertools import chain
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from counterpoise import __version__
from counterpoise.client import Client
from counterpoise.commands.failure import FAILED
from counterpoise.commands.study.study import AsJson, Token, Url
from counterpoise.connection import DEFAULT_URL
from counterpoise.errors import RequestFailed

Finding = tuple[str, str, str]  # what was looked at; ok, skipped, warning or fault; what was found and what to do
STYLES = {"ok": "green", "skipped": "dim", "warning": "yellow", "fault": "bold red"}


def add_to(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(
    url: Url = DEFAULT_URL,
    token: Token = None,
    database_url: Annotated[
        str | None,
        typer.Option("--database-url", envvar="COUNTERPOISE_DATABASE_URL", help="Look at this database, too."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check server, token, workers and database. Exits with 1 if there is a fault; warnings do not count.

    Example: [bold]counterpoise doctor --database-url sqlite:///counterpoise.db[/bold]
    """
    findings: list[Finding] = []
    console = Console(highlight=False, soft_wrap=True)
    for check, status, found in chain(server_findings(url, token), database_findings(database_url)):
        detail = " ".join(found.split())  # one line each
        findings.append((check, status, detail))
        if not as_json:
            console.print(Text.assemble((f"{status:<8}", STYLES[status]), f"{check:<11}", detail))
    if as_json:
        typer.echo(json.dumps([dict(zip(("check", "status", "detail"), each, strict=True)) for each in findings]))
    if any(status == "fault" for _, status, _ in findings):
        raise typer.Exit(FAILED)


def server_findings(url: str, token: str | None) -> Iterator[Finding]:
    try:
        client = Client(url, token, retry_s=0)
    except RequestFailed as error:
        yield "server", "fault", str(error)
        return
    with client:
        try:
            client.check_ready()
            yield "server", "ok", f"{client.url} is ready"
        except RequestFailed as error:
            yield "server", "fault", str(error)
            if error.status is None:
                return  # the other questions would get the same answer
        yield _version_finding(client)
        yield from _worker_findings(client)


def _version_finding(client: Client) -> Finding:
    try:
        title, theirs = client.about()
    except RequestFailed:
        return "version", "warning", f"{client.url} does not say its version; is it a Counterpoise server?"
    if title != "Counterpoise":
        return "version", "fault", f"{client.url} is {title!r}, not a Counterpoise server; set COUNTERPOISE_URL"
    if theirs != __version__:
        return "version", "warning", f"the server has {theirs}, this is {__version__}; install the same version here"
    return "version", "ok", f"{theirs}, the same as here"


def _worker_findings(client: Client) -> Iterator[Finding]:
    try:
        workers = list(client.workers())
    except RequestFailed as error:
        if error.status == 401:
            yield "token", "fault", str(error)
        elif error.status == 403:
            yield "token", "warning", f"accepted, but not for looking at workers: {error}"
        else:
            yield "workers", "fault", str(error)
        return
    yield "token", "ok", "accepted" if client.has_token else "none given, and none is needed"
    if not workers:
        yield "workers", "warning", "none has asked for jobs yet; studies wait until one does"
        return
    busy = sum(1 for worker in workers if worker.jobs)
    last = max(worker.last_seen_at for worker in workers)
    yield "workers", "ok", f"{len(workers)} seen, the last at {last}; {busy} of them with jobs now"


def database_findings(database_url: str | None) -> Iterator[Finding]:
    if database_url is None:
        way_out = "give --database-url (or COUNTERPOISE_DATABASE_URL) to check them"
        yield "database", "skipped", f"not looked at: database, migrations and clock; {way_out}"
        return
    if importlib.util.find_spec("sqlalchemy") is None:
        way_out = "install it with: pip install 'counterpoise[server]'"
        yield "database", "warning", f"not looked at, as the server is not installed here; {way_out}"
        return
    from app.service.monitoring.doctor import examine

    yield from examine(database_url)
