"""`study import` and `study export`: files of evaluations in and out."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
)

from counterpoise.client.failed_requests import DEFAULT_URL
from counterpoise.commands.options import AsJson, StudyName, Token, Url
from counterpoise.commands.output import WRONG_USAGE, connected, fail, print_json
from counterpoise.wire.views import Imported


def add_to(study: typer.Typer) -> None:
    study.command("import")(import_)
    study.command()(export)


def import_(
    name: StudyName,
    file: Annotated[
        str,
        typer.Argument(help="Known evaluations, CSV or JSON; - for standard input."),
    ],
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print what would be done, and change nothing."),
    ] = False,
    evaluate: Annotated[
        bool,
        typer.Option("--evaluate", help="Create jobs for the values that are missing."),
    ] = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Import known evaluations: data, not budget.

    All rows or none; importing the same file again changes nothing.

    Example: [bold]counterpoise study import wing known.csv --dry-run[/bold]
    """
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror}", WRONG_USAGE)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with connected(url, token) as client, _progress(*columns) as progress:
        task = progress.add_task("importing", total=None)
        imported = client.import_evaluations(
            name,
            content,
            evaluate=evaluate,
            dry_run=dry_run,
            progress=lambda done, total: progress.update(
                task, completed=done, total=total
            ),
        )
    if as_json:
        print_json(imported.model_dump())
    else:
        typer.echo(_summary(name, imported))


def _summary(name: str, imported: Imported) -> str:
    counts = {
        "new samples with all values": imported.complete,
        "new samples that lack some": imported.partial,
        "values added to known points": imported.values_added,
        "jobs for missing values": imported.jobs,
        "rows already known": imported.unchanged,
        "rows without values ignored": imported.ignored,
    }
    facts = [f"{number} {what}" for what, number in counts.items() if number]
    verb = "would give" if imported.dry_run else "gave"
    return (
        f"study {name}: {imported.rows} rows {verb} {', '.join(facts) or 'nothing new'}"
    )


def export(
    name: StudyName,
    what: Annotated[
        Literal["samples", "jobs", "steps", "front"],
        typer.Option(help="What to export."),
    ] = "samples",
    form: Annotated[
        Literal["csv", "json"], typer.Option("--format", help="The format.")
    ] = "csv",
    output: Annotated[
        Path | None, typer.Option(help="The file; without it, standard output.")
    ] = None,
    url: Url = DEFAULT_URL,
    token: Token = None,
) -> None:
    """Export samples, jobs with their attempts, steps with their diagnostics, or the
    front.

    Example: [bold]counterpoise study export wing --what samples --output
    samples.csv[/bold]
    """
    columns = (TextColumn("{task.description}"), DownloadColumn())
    with connected(url, token) as client, _progress(*columns) as progress:
        parts = client.export(name, what, form)
        task = progress.add_task(f"exporting {what}", total=None)
        try:
            _save(parts, output, lambda size: progress.update(task, advance=size))
        except OSError as error:
            fail(f"cannot write {output or 'to standard output'}: {error.strerror}")


def _save(
    parts: Iterable[bytes], output: Path | None, on_write: Callable[[int], object]
) -> None:
    """A file is written whole or not at all."""
    if output is None:
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
        return
    unfinished = output.with_name(f"{output.name}.part")
    try:
        with unfinished.open("wb") as file:
            for part in parts:
                file.write(part)
                on_write(len(part))
        unfinished.replace(output)
    finally:
        unfinished.unlink(missing_ok=True)


def _progress(*columns: ProgressColumn) -> Progress:
    """Only on a terminal: the standard error of a script stays empty."""
    console = Console(stderr=True)
    return Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    )
