"""Live progress on standard error: a display on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from counterpoise.wire.views import StudyView

LINE_EVERY_S = 10.0
Show = Callable[[StudyView, int], None]  # the study, and how many samples its front has


@contextmanager
def display(console: Console) -> Iterator[Show]:
    began = time.monotonic()
    if console.is_terminal:
        with Live(console=console, transient=True, auto_refresh=False) as live:
            yield lambda study, front: live.update(picture(study, front, time.monotonic() - began), refresh=True)
        return
    said = -LINE_EVERY_S

    def say(study: StudyView, front: int) -> None:
        nonlocal said
        now = time.monotonic() - began
        if now - said >= LINE_EVERY_S or study.phase == "finished":
            said = now
            console.print(line(study, front, now), soft_wrap=True)

    yield say


def picture(study: StudyView, front: int, seconds: float) -> Group:
    head = Table.grid(padding=(0, 2))
    bar = ProgressBar(total=study.budget, completed=study.evaluated_full, width=30)
    head.add_row(Text(study.phase, style="bold"), bar, f"{study.evaluated_full} of {study.budget} full samples")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("objective", "ratio", "s each", "running", "done", "waiting", "no longer wanted"):
        table.add_column(heading, justify="left" if heading == "objective" else "right")
    for each in study.objectives:
        took = "" if each.median_duration_s is None else f"{each.median_duration_s:.2g}"
        counts = (each.leased, each.done, each.ready, each.superseded)
        table.add_row(each.name, f"{each.ratio:g}", took, *map(str, counts))
    below = Text(f"step {study.step} · {front} samples on the front · {seconds:.0f} s", style="dim")
    attention = [Text(f"! {item.detail}", style="yellow") for item in study.health]
    return Group(head, "", table, "", below, *attention)


def line(study: StudyView, front: int, seconds: float) -> str:
    jobs = ", ".join(f"{each.name} {each.done}" for each in study.objectives)
    full = f"{study.evaluated_full}/{study.budget} full samples"
    return f"{seconds:4.0f} s  {study.phase}, step {study.step}: {full}; jobs done: {jobs}; front {front}"
