"""The report of the demo: tables for people, and the front as CSV."""

import csv
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from workers.demo.comparison import ASYNCHRONOUS, SYNCHRONOUS
from workers.demo.result import DemoResult
from workers.demo.virtual_study import VirtualResult

CAUTION = "One seed shows how it works, not which is better."


def write_csv(result: DemoResult, file: Path) -> None:
    names = [*result.front[0].values, *result.front[0].x] if result.front else []
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["sample", *names])
        for item in result.front:
            row = {**item.values, **item.x}
            writer.writerow([item.sample, *(row[name] for name in names)])


def print_result(result: DemoResult, console: Console) -> None:
    console.print(front_table(result))
    console.print(workers_table(result))
    if result.study.hypervolume:
        console.print(f"hypervolume {result.hypervolume:.6g} in {result.seconds:.0f} s")


def front_table(result: DemoResult) -> Table:
    units = result.problem.units
    variables = [variable["name"] for variable in result.problem.study["variables"]]
    names = [*result.problem.objectives, *variables]
    titles = [f"{name} [{units[name]}]" if name in units else name for name in names]
    title = (
        f"The front: {len(result.front)} of {result.study.evaluated_full} full samples"
    )
    table = _table(title, [], ["sample", *titles])
    for item in result.front:
        row = {**item.values, **item.x}
        table.add_row(str(item.sample), *(f"{row[name]:.4g}" for name in names))
    return table


def workers_table(result: DemoResult) -> Table:
    table = _table(
        "The workers", ["worker"], ["ratio", "jobs", "s per evaluation", "busy", "idle"]
    )
    for worker, objective in zip(result.workers, result.study.objectives, strict=True):
        table.add_row(
            f"{worker.objective} ({'cheap' if objective.cheap else 'slow'})",
            f"{objective.ratio:g}",
            str(worker.jobs),
            f"{worker.evaluation_s:.2g}",
            f"{worker.busy:.1%}",
            f"{worker.idle:.1%}",
        )
    table.caption = "busy: the worker held a job, from the lease to the tell"
    return table


def comparison_table(result: DemoResult, virtual: dict[str, VirtualResult]) -> Table:
    table = _table(
        "The same seed and budget in virtual time",
        ["study"],
        ["seconds", "hypervolume", "front"],
    )
    for worker in result.workers:
        table.add_column(f"{worker.objective}\njobs", justify="right")
        table.add_column(f"{worker.objective}\nbusy", justify="right")
    jobs = [worker.jobs for worker in result.workers]
    busy = [worker.busy for worker in result.workers]
    measured = _numbers(
        result.seconds, result.hypervolume, len(result.front), jobs, busy
    )
    table.add_row("this run, measured", *measured)
    for mode, study in virtual.items():
        numbers = _numbers(
            study.seconds, study.hypervolume, study.front, study.jobs, study.busy
        )
        table.add_row(f"virtual: {mode}", *numbers)
    table.caption = (
        "In virtual time a job takes its mean time of this run, planning takes none, and the ratios are known at once."
        " Synchronous: all workers wait for the slowest."
    )
    return table


def _numbers(
    seconds: float,
    hypervolume: float,
    front: int,
    jobs: Sequence[int],
    busy: Sequence[float],
) -> list[str]:
    cells = [f"{seconds:.0f}", f"{hypervolume:.6g}", str(front)]
    for count, share in zip(jobs, busy, strict=True):
        cells += [str(count), f"{share:.1%}"]
    return cells


def conclusion(virtual: dict[str, VirtualResult]) -> str:
    """The comparison in a sentence, without more than the two simulations show."""
    asynchronous, synchronous = virtual[ASYNCHRONOUS], virtual[SYNCHRONOUS]
    change = (
        asynchronous.hypervolume / synchronous.hypervolume - 1.0
        if synchronous.hypervolume
        else 0.0
    )
    if change == 0.0:
        return f"With this seed the hypervolume of both studies is the same. {CAUTION}"
    comparative = "larger" if change > 0.0 else "smaller"
    text = f"With this seed the hypervolume of the asynchronous study is {abs(change):.1%} {comparative}"
    text += " than that of the synchronous one"
    reached_s = asynchronous.reached(synchronous.hypervolume)
    if reached_s is not None:
        text += f"; it reached the other's final value after {reached_s:.0f} s of {synchronous.seconds:.0f} s"
    return f"{text}. {CAUTION}"


def _table(title: str, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.title, table.title_justify, table.caption_justify = title, "left", "left"
    for heading in texts:
        table.add_column(heading)
    for heading in numbers:
        table.add_column(Text(heading), justify="right")
    return table
