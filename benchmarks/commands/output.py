"""Progress on standard error, results on standard output."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
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

from counterpoise.wire.text import format_span


@contextmanager
def progress_lines(what: str, total: int, done: int) -> Iterator[Callable[[str], None]]:
    """Per finished run a line on standard error, with the time that is left: for runs
    of hours, whose output goes to a file.
    """
    began, finished = monotonic(), 0

    def report(detail: str) -> None:
        nonlocal finished
        finished += 1
        left = total - done - finished
        left_s = (monotonic() - began) / finished * left
        count = f"{done + finished} of {total} {what}"
        line = f"{count}, {detail}; about {format_span(left_s)} left"
        typer.echo(line, err=True)

    yield report


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
