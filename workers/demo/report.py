"""How the demo tells what it found."""

import csv
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from workers.demo.findings import Findings
from workers.demo.question import Answer

CAUTION = "One seed shows how it works, not which is better."


def write_csv(found: Findings, file: Path) -> None:
    names = [*found.front[0].values, *found.front[0].x] if found.front else []
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["sample", *names])
        for item in found.front:
            row = {**item.values, **item.x}
            writer.writerow([item.sample, *(row[name] for name in names)])


def print_findings(found: Findings, console: Console) -> None:
    console.print(front_table(found))
    console.print(labour_table(found))
    if found.study.hypervolume:
        console.print(f"hypervolume {found.study.hypervolume.value:.6g} in {found.seconds:.0f} s")


def front_table(found: Findings) -> Table:
    objectives, units = found.problem.objectives, found.problem.units
    variables = [each["name"] for each in found.problem.study["variables"]]
    table = _table(f"The front: {len(found.front)} of {found.study.evaluated_full} full samples")
    for name in ("sample", *objectives, *variables):
        table.add_column(Text(f"{name} [{units[name]}]" if name in units else name), justify="right")
    for item in found.front:
        row = {**item.values, **item.x}
        table.add_row(str(item.sample), *(f"{row[name]:.4g}" for name in (*objectives, *variables)))
    return table


def labour_table(found: Findings) -> Table:
    table = _table("What the workers did")
    for heading in ("worker", "ratio", "jobs", "s per evaluation", "busy", "idle"):
        table.add_column(heading, justify="left" if heading == "worker" else "right")
    for each, objective in zip(found.crew, found.study.objectives, strict=True):
        kind = "cheap" if objective.cheap else "slow"
        took, ratio = f"{each.evaluation_s:.2g}", f"{objective.ratio:g}"
        table.add_row(f"{each.objective} ({kind})", ratio, str(each.jobs), took, *shares(each.busy))
    table.caption = "busy: the worker had a job, from being given it to having told its value"
    return table


def comparison_table(found: Findings, virtual: dict[str, Answer]) -> Table:
    table = _table("The same seed and budget in virtual time")
    for heading in ("study", "seconds", "hypervolume", "front"):
        table.add_column(heading, justify="left" if heading == "study" else "right")
    for each in found.crew:
        table.add_column(f"{each.objective}\njobs", justify="right")
        table.add_column(f"{each.objective}\nbusy", justify="right")
    reached = found.study.hypervolume.value if found.study.hypervolume else 0.0
    measured = [(str(each.jobs), shares(each.busy)[0]) for each in found.crew]
    table.add_row(
        "this run, measured", f"{found.seconds:.0f}", f"{reached:.6g}", str(len(found.front)), *sum(measured, ())
    )
    for mode, answer in virtual.items():
        labour = [(str(jobs), shares(busy)[0]) for jobs, busy in zip(answer.jobs, answer.busy, strict=True)]
        row = (f"{answer.seconds:.0f}", f"{answer.hypervolume:.6g}", str(answer.front))
        table.add_row(f"virtual: {mode}", *row, *sum(labour, ()))
    table.caption = (
        "In virtual time a job takes what it took here on average, planning nothing, and the ratios are known at once."
    )
    return table


def verdict(virtual: dict[str, Answer]) -> str:
    """No more than the two simulations say."""
    asynchronous, waiting = virtual.values()
    change = asynchronous.hypervolume / waiting.hypervolume - 1.0 if waiting.hypervolume else 0.0
    if change == 0.0:
        return f"With this seed the hypervolume is the same had every worker waited for the slowest. {CAUTION}"
    more = "larger" if change > 0.0 else "smaller"
    words = f"With this seed the asynchronous study's hypervolume is {abs(change):.1%} {more}"
    words += " than had every worker waited for the slowest"
    if (reached := asynchronous.reached(waiting.hypervolume)) is not None:
        words += f"; it had the other's final one after {reached:.0f} s of {waiting.seconds:.0f} s"
    return f"{words}. {CAUTION}"


def shares(busy: float) -> tuple[str, str]:
    return f"{busy:.1%}", f"{1.0 - busy:.1%}"


def _table(title: str) -> Table:
    return Table(
        box=None, padding=(0, 2, 0, 0), header_style="bold", title=title, title_justify="left", caption_justify="left"
    )
