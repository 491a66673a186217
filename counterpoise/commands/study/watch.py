"""The command `study watch`: a study as it goes on, on a terminal, as lines or as JSON."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.live import Live

from counterpoise.client import Client
from counterpoise.commands.study.study import AsJson, StudyName, Token, Url, connected, terminal
from counterpoise.commands.study.study import study as studies
from counterpoise.commands.study.watch_panel import line, panel
from counterpoise.connection import DEFAULT_URL
from counterpoise.errors import ServerAway
from counterpoise.eta import Eta, eta
from counterpoise.wire.views import StudyView, WorkerView
from counterpoise.wire.work import matches

INTERRUPTED = 130  # as shells have it: what was waited for did not happen
WORKERS_EVERY_S = 5.0  # there may be many, and they change less


class Until(StrEnum):
    search = "search"
    finished = "finished"


@dataclass(frozen=True, slots=True)
class Scene:
    """What is shown. `away`: why the server did not answer; the rest is what was last known."""

    study: StudyView
    workers: list[WorkerView]
    eta: Eta
    away: str | None = None

    @property
    def mine(self) -> list[WorkerView]:
        """The live workers that take jobs of this study."""
        return [w for w in self.workers if w.alive and matches(w.studies, self.study.name)]

    def key(self) -> tuple[Any, ...]:
        """What is worth a new line when it changes; an ETA alone is not."""
        s = self.study
        value = s.hypervolume.value if s.hypervolume else None
        counts = (s.evaluated_full, s.planned_full, s.budget, len(self.mine))
        return (s.phase, s.state, s.step, *counts, value, tuple(item.detail for item in s.health), self.away is None)


def add_to(_app: typer.Typer) -> None:
    studies.command()(watch)


def watch(
    name: StudyName,
    until: Annotated[
        Until | None, typer.Option(help="Exit with 0 as soon as the study is in this phase, or past it.")
    ] = None,
    every_s: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds between looks.")] = 1.0,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Watch a study: phase, progress, workers, front, hypervolume and when it may be finished. Ctrl-C ends it.

    Where the output is no terminal, or with --json, it prints a line whenever something changed.

    Example: [bold]counterpoise study watch wing --until finished && counterpoise study front wing[/bold]
    """
    try:
        with connected(url, token) as client, _shown(as_json) as show:
            for scene in scenes(client, name, every_s):
                show(scene)
                if until is not None and scene.away is None and reached(scene.study.phase, until):
                    return
    except KeyboardInterrupt:
        raise typer.Exit(0 if until is None else INTERRUPTED) from None


def reached(phase: str, until: Until) -> bool:
    return phase == "finished" or phase == until


def scenes(client: Client, name: str, every_s: float) -> Iterator[Scene]:
    """One after another, as often as wanted. A server that is away after the first one is waited for."""
    found, workers = client.study(name), list(client.workers())
    looked, away = time.monotonic(), None
    while True:
        yield Scene(found, workers, eta(found, workers), away)
        time.sleep(every_s)
        try:
            found = client.study(name)
            if time.monotonic() - looked >= WORKERS_EVERY_S:
                workers, looked = list(client.workers()), time.monotonic()
            away = None
        except ServerAway as error:
            away = str(error)


@contextmanager
def _shown(as_json: bool) -> Iterator[Callable[[Scene], None]]:
    console = terminal()
    if console.is_terminal and not as_json:
        with Live(console=console, auto_refresh=False) as live:
            yield lambda scene: live.update(panel(scene), refresh=True)
        return
    last: list[tuple[Any, ...]] = []

    def print_change(scene: Scene) -> None:
        if last[-1:] != [scene.key()]:
            last[:] = [scene.key()]
            now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
            typer.echo(json.dumps(_facts(scene, now), ensure_ascii=False) if as_json else f"{now} {line(scene)}")

    yield print_change


def _facts(scene: Scene, now: str) -> dict[str, Any]:
    return {
        "at": now,
        "away": scene.away,
        "workers": len(scene.mine),
        "eta": asdict(scene.eta),
        "study": scene.study.model_dump(mode="json", exclude={"spec"}),
    }
