"""The progress of the demo on standard error: a live display on a terminal, a line from
time to time elsewhere.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from counterpoise.wire.codes import Phase
from counterpoise.wire.views import StudyView
from workers.demo.result import runs_of

LINE_EVERY_S = 10.0
COLUMNS = ("ratio", "s each", "running", "done", "waiting", "superseded")
Show = Callable[[StudyView, int], None]  # the study, and the size of its front


@contextmanager
def display(console: Console) -> Iterator[Show]:
    began = time.monotonic()
    if console.is_terminal:
        with Live(console=console, transient=True, auto_refresh=False) as live:
            yield lambda study, front: live.update(
                screen(study, front, time.monotonic() - began), refresh=True
            )
        return
    printed_at = -LINE_EVERY_S

    def print_line(study: StudyView, front: int) -> None:
        nonlocal printed_at
        now = time.monotonic() - began
        if now - printed_at >= LINE_EVERY_S or study.phase == Phase.FINISHED:
            printed_at = now
            console.print(line(study, front, now), soft_wrap=True)

    yield print_line


def screen(study: StudyView, front: int, seconds: float) -> Group:
    head = Table.grid(padding=(0, 2))
    bar = ProgressBar(total=study.budget, completed=study.evaluated_full, width=30)
    head.add_row(
        Text(study.phase, style="bold"),
        bar,
        f"{study.evaluated_full} of {study.budget} full samples",
    )
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("run")
    for title in COLUMNS:
        table.add_column(title, justify="right")
    for run in runs_of(study):
        median = "" if run.median_duration_s is None else f"{run.median_duration_s:.2g}"
        counts = (run.leased, run.done, run.ready, run.superseded)
        table.add_row(run.name, f"{run.ratio:g}", median, *map(str, counts))
    footer = Text(
        f"step {study.step} · {front} samples on the front · {seconds:.0f} s",
        style="dim",
    )
    health = [Text(f"! {item.detail}", style="yellow") for item in study.health]
    return Group(head, "", table, "", footer, *health)


def line(study: StudyView, front: int, seconds: float) -> str:
    jobs = ", ".join(f"{run.name} {run.done}" for run in runs_of(study))
    full = f"{study.evaluated_full}/{study.budget} full samples"
    return f"{seconds:4.0f} s  {study.phase}, step {study.step}: {full}; jobs done: {jobs}; front {front}"
