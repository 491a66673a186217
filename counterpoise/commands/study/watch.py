"""The command `study watch`: a study while it runs, on a terminal, as lines or as JSON."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.live import Live

from counterpoise.client import Client
from counterpoise.client.failed_requests import DEFAULT_URL
from counterpoise.commands.options import AsJson, StudyName, Token, Url
from counterpoise.commands.output import connected, terminal
from counterpoise.commands.study.snapshot import Snapshot
from counterpoise.commands.study.watch_panel import line, panel
from counterpoise.errors import ServerUnavailable
from counterpoise.eta import eta
from counterpoise.wire.codes import Phase
from counterpoise.wire.text import visible, visible_json

INTERRUPTED = 130  # the exit code of shells: the awaited phase was not reached
WORKERS_EVERY_S = 5.0  # there may be many, and they change less often
Show = Callable[[Snapshot], None]


class Until(StrEnum):
    SEARCH = Phase.SEARCH
    FINISHED = Phase.FINISHED


def add_to(study: typer.Typer) -> None:
    study.command()(watch)


def watch(
    name: StudyName,
    until: Annotated[
        Until | None,
        typer.Option(
            help="Exit with 0 as soon as the study is in this phase, or past it."
        ),
    ] = None,
    every_s: Annotated[
        float, typer.Option(min=0.1, max=3600, help="Seconds between two requests.")
    ] = 1.0,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Watch a study: phase, progress, workers, front, hypervolume and when it may be
    finished. Ctrl-C ends it.

    Where the output is not a terminal, or with --json, it prints a line whenever
    something has changed.

    Example: [bold]counterpoise study watch wing --until finished && counterpoise study
    front wing[/bold]
    """
    try:
        with connected(url, token) as client, _display(as_json) as show:
            for snapshot in poll(client, name, every_s):
                show(snapshot)
                if (
                    until is not None
                    and snapshot.error is None
                    and has_reached(snapshot.study.phase, until)
                ):
                    return
    except KeyboardInterrupt:
        raise typer.Exit(0 if until is None else INTERRUPTED) from None


def has_reached(phase: str, until: Until) -> bool:
    return phase in (Phase.FINISHED, until)


def poll(client: Client, name: str, every_s: float) -> Iterator[Snapshot]:
    """Snapshots at this interval.

    After the first one, an unavailable server is waited for.
    """
    study = client.study(name)
    workers = list(client.workers())
    workers_at = time.monotonic()
    error: str | None = None
    while True:
        yield Snapshot(study, workers, eta(study, workers), error)
        time.sleep(every_s)
        try:
            study = client.study(name)
            if time.monotonic() - workers_at >= WORKERS_EVERY_S:
                workers = list(client.workers())
                workers_at = time.monotonic()
            error = None
        except ServerUnavailable as unavailable:
            error = str(unavailable)


@contextmanager
def _display(as_json: bool) -> Iterator[Show]:
    console = terminal()
    if console.is_terminal and not as_json:
        with Live(console=console, auto_refresh=False) as live:
            yield lambda snapshot: live.update(panel(snapshot), refresh=True)
        return
    last_state: object = None

    def print_change(snapshot: Snapshot) -> None:
        nonlocal last_state
        if snapshot.state == last_state:
            return
        last_state = snapshot.state
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        text = (
            visible_json(json.dumps(_json(snapshot, now), ensure_ascii=False))
            if as_json
            else visible(f"{now} {line(snapshot)}")
        )
        typer.echo(text)

    yield print_change


def _json(snapshot: Snapshot, now: str) -> dict[str, Any]:
    return {
        "at": now,
        "away": snapshot.error,
        "workers": len(snapshot.own_workers),
        "eta": asdict(snapshot.eta),
        "study": snapshot.study.model_dump(mode="json", exclude={"spec"}),
    }
