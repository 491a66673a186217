"""A local study while it runs, until it is finished or Ctrl-C."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live

from counterpoise.commands.study.snapshot import Snapshot
from counterpoise.commands.study.watch_panel import line, panel
from counterpoise.eta import eta
from counterpoise.local.processes import RunFailed
from counterpoise.local.study_run import StudyRun
from counterpoise.wire.codes import Phase
from counterpoise.wire.views import WorkerView

LINE_EVERY_S = 10.0
WORKERS_EVERY_S = 2.0
POLL_S = 0.3
Show = Callable[[Snapshot], None]


def announce(run: StudyRun, console: Console) -> None:
    study = run.study
    if study.evaluated_full:
        done = f"{study.evaluated_full} of {study.budget} full samples evaluated"
        console.print(f"study {study.name} goes on: {done}", highlight=False)
    if run.server is not None:
        where = f"dashboard: {run.url}/   database and logs: {run.folder.path}"
    else:
        where = f"server: {run.url}"
    console.print(where, soft_wrap=True, highlight=False)


def follow(run: StudyRun, console: Console) -> bool:
    """Show progress until the study is finished; False after Ctrl-C."""
    try:
        with display(console) as show:
            for snapshot in snapshots(run):
                print_failures(run, console)
                show(snapshot)
    except KeyboardInterrupt:
        return False
    finally:
        print_failures(run, console)
    return True


def print_failures(run: StudyRun, console: Console) -> None:
    """The first failures of each objective, as they happen."""
    for failure in run.log.unread():
        console.print(f"! {failure}", soft_wrap=True, highlight=False, markup=False)


def snapshots(run: StudyRun) -> Iterator[Snapshot]:
    workers: list[WorkerView] = []
    read_at = float("-inf")
    for study in run.views():
        if time.monotonic() - read_at >= WORKERS_EVERY_S:
            workers = list(run.client.workers())
            read_at = time.monotonic()
        yield Snapshot(study, workers, eta(study, workers))


@contextmanager
def display(console: Console) -> Iterator[Show]:
    """A panel on a terminal, a line from time to time elsewhere."""
    if console.is_terminal:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            yield lambda snapshot: live.update(panel(snapshot), refresh=True)
        return
    printed_at = float("-inf")

    def print_line(snapshot: Snapshot) -> None:
        nonlocal printed_at
        now = time.monotonic()
        is_last = snapshot.study.phase == Phase.FINISHED
        if is_last or now - printed_at >= LINE_EVERY_S:
            printed_at = now
            console.print(line(snapshot), soft_wrap=True, markup=False)

    yield print_line


def keep_serving(run: StudyRun, console: Console) -> None:
    """Until Ctrl-C, or the end of the server."""
    if run.server is None:
        return
    console.print(f"the server stays at {run.url}/ until Ctrl-C", highlight=False)
    try:
        while run.server.process.is_running():
            time.sleep(POLL_S)
    except KeyboardInterrupt:
        return
    raise RunFailed("the server has ended")
