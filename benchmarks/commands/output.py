"""Progress on standard error, results on standard output."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[..., None]]:
    """A bar on standard error, where there is a terminal."""
    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda by=1: bar.advance(task, by)


def print_rows(
    rows: Iterable[Any], as_json: bool, shown: Callable[[], tuple[Any, ...]]
) -> None:
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row, allow_nan=False))
    else:
        # In a file or a pipe 80 columns would break the cells of a table.
        Console(width=None if sys.stdout.isatty() else 145).print(*shown(), sep="\n")
