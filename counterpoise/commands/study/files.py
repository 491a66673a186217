"""`study import` and `study export`: what is known goes in, what was learnt comes out."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn

from counterpoise.commands.failure import WRONG_USAGE, fail
from counterpoise.commands.study.study import AsJson, StudyName, Token, Url, connected, print_json
from counterpoise.connection import DEFAULT_URL
from counterpoise.wire.views import Imported


def add_to(study: typer.Typer) -> None:
    study.command("import")(import_)
    study.command()(export)


def import_(
    name: StudyName,
    file: Annotated[str, typer.Argument(help="Known evaluations, CSV or JSON; - for standard input.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    evaluate: Annotated[bool, typer.Option("--evaluate", help="Make jobs of the values that are missing.")] = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Import known evaluations: data, not budget. If any row is bad, nothing is; the same file again changes nothing.

    Example: [bold]counterpoise study import wing known.csv --dry-run[/bold]
    """
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror}", WRONG_USAGE)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with connected(url, token) as client, _progress(*columns) as progress:
        task = progress.add_task("importing", total=None)
        told = client.import_evaluations(
            name,
            content,
            evaluate=evaluate,
            dry_run=dry_run,
            progress=lambda done, of: progress.update(task, completed=done, total=of),
        )
    if as_json:
        print_json(told.model_dump())
    else:
        typer.echo(_words(name, told))


def _words(name: str, told: Imported) -> str:
    facts = [
        f"{told.complete} new samples with all values",
        f"{told.partial} new samples that lack some",
        f"{told.values_added} values added to known points",
        f"{told.jobs} jobs for missing values",
        f"{told.unchanged} rows already known",
        f"{told.ignored} rows without values ignored",
    ]
    said = ", ".join(fact for fact in facts if not fact.startswith("0 ")) or "nothing new"
    return f"study {name}: {told.rows} rows {'would give' if told.dry_run else 'gave'} {said}"


def export(
    name: StudyName,
    what: Annotated[Literal["samples", "jobs", "steps", "front"], typer.Option(help="What to export.")] = "samples",
    form: Annotated[Literal["csv", "json"], typer.Option("--format", help="How.")] = "csv",
    output: Annotated[Path | None, typer.Option(help="The file; without it, standard output.")] = None,
    url: Url = DEFAULT_URL,
    token: Token = None,
) -> None:
    """Export samples, jobs with their attempts, steps with their diagnostics, or the front.

    Example: [bold]counterpoise study export wing --what samples --output samples.csv[/bold]
    """
    columns = (TextColumn("{task.description}"), DownloadColumn())
    with connected(url, token) as client, _progress(*columns) as progress:
        parts = client.export(name, what, form)
        task = progress.add_task(f"exporting {what}", total=None)
        try:
            _save(parts, output, lambda size: progress.update(task, advance=size))
        except OSError as error:
            fail(f"cannot write {output or 'to standard output'}: {error.strerror}")


def _save(parts: Iterable[bytes], output: Path | None, wrote: Callable[[int], object]) -> None:
    """A file appears whole or not at all."""
    if output is None:
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
        return
    half = output.with_name(f"{output.name}.part")
    try:
        with half.open("wb") as file:
            for part in parts:
                file.write(part)
                wrote(len(part))
        half.replace(output)
    finally:
        half.unlink(missing_ok=True)


def _progress(*columns: ProgressColumn) -> Progress:
    """For people only: a script's standard error stays empty."""
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
