"""The report of the demo: tables for people, and the front as CSV."""

import csv
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table
from rich.text import Text

from counterpoise.commands.output import count
from counterpoise.commands.study.front_tables import front_tables, summary_table
from counterpoise.wire.text import format_span
from workers.demo.comparison import (
    ASYNCHRONOUS,
    COUNTERPOISE,
    SYNCHRONOUS,
    Virtual,
    evidence,
    larger,
)
from workers.demo.result import DemoResult, runs_of

ENOUGH_SEEDS = 3
LONG_H = 12
CAUTION = "So few seeds show how it works, not which is better."


def write_csv(result: DemoResult, file: Path) -> None:
    names = [*result.front[0].values, *result.front[0].x] if result.front else []
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["sample", *names])
        for item in result.front:
            row = {**item.values, **item.x}
            writer.writerow([item.sample, *(row[name] for name in names)])


def print_result(result: DemoResult, console: Console, *, every: bool) -> None:
    study = result.study
    title = f"The front: {len(result.front)} of {study.evaluated_full} full samples"
    if study.feasible is not None and result.problem.constraints:
        title += f", {study.feasible} of which keep the limits"
    console.print(title, style="italic")
    if every:
        console.print(front_tables(result.front, study, console.width))
    else:
        console.print(summary_table(result.front, study))
    console.print(workers_table(result))
    if result.study.hypervolume:
        console.print(f"hypervolume {result.hypervolume:.6g} in {result.seconds:.0f} s")


def workers_table(result: DemoResult) -> Table:
    table = _table(
        "The workers",
        ["worker", "run"],
        ["ratio", "jobs", "s per evaluation", "s per job", "busy", "idle"],
    )
    outputs = {output.name: output for output in runs_of(result.study)}
    for worker in result.workers:
        output = outputs[worker.objective]
        table.add_row(
            worker.worker,
            f"{worker.objective} ({'cheap' if output.cheap else 'slow'})",
            f"{output.ratio:g}",
            str(worker.jobs),
            f"{worker.evaluation_s:.2g}",
            f"{worker.job_s:.2g}",
            f"{worker.busy:.1%}",
            f"{worker.idle:.1%}",
        )
    table.caption = (
        "s per evaluation: median of the run on all its workers. s per job: mean of the"
        " worker, from the lease to the tell; busy: its share of time in jobs."
    )
    return table


def comparison_table(result: DemoResult, virtual: Virtual) -> Table:
    seeds = count(len(virtual[ASYNCHRONOUS]), "seed")
    table = _table(
        f"The same budget in virtual time, mean of {seeds}",
        ["study"],
        ["seconds", "hypervolume", "front"],
    )
    for run in result.runs:
        table.add_column(f"{run.objective}\njobs", justify="right")
        table.add_column(f"{run.objective}\nbusy", justify="right")
    jobs = [run.jobs for run in result.runs]
    busy = [run.busy for run in result.runs]
    measured = _numbers(
        result.seconds, result.hypervolume, len(result.front), jobs, busy
    )
    table.add_row("this run, measured", *measured)
    for mode, studies in virtual.items():
        numbers = _numbers(
            fmean(study.seconds for study in studies),
            fmean(study.hypervolume for study in studies),
            fmean(study.front for study in studies),
            _means([study.jobs for study in studies]),
            _means([study.busy for study in studies]),
        )
        table.add_row(f"virtual: {mode}", *numbers)
    table.caption = (
        "In virtual time there is one worker for each run, a job takes its mean time of this demo, planning takes none,"
        " and the ratios are known at once."
        " Synchronous: all workers wait for the slowest. Counterpoise: asynchronous, with `strategy: counterpoise`."
    )
    return table


def _numbers(
    seconds: float,
    hypervolume: float,
    front: float,
    jobs: Sequence[float],
    busy: Sequence[float],
) -> list[str]:
    cells = [f"{seconds:.0f}", f"{hypervolume:.6g}", f"{front:.3g}"]
    for number, share in zip(jobs, busy, strict=True):
        cells += [f"{number:.0f}", f"{share:.1%}"]
    return cells


def _means(rows: Sequence[Sequence[float]]) -> list[float]:
    return [fmean(column) for column in zip(*rows, strict=True)]


def conclusion(virtual: Virtual, slowest_s: float) -> str:
    """The comparison in a few sentences, without more than the simulations show.

    `slowest_s`: the duration of the slowest run. Nothing but durations takes virtual
    time, so that the saved time is proportional to it.
    """
    found = evidence(virtual)
    seeds = count(found.seeds, "seed")
    text = (
        f"In {found.reached} of {seeds} the asynchronous study reached the final"
        f" hypervolume of the synchronous one; on average it saves"
        f" {found.saved:.0%} of the time ({format_span(found.saved_s)} of"
        f" {format_span(fmean(r.seconds for r in virtual[SYNCHRONOUS]))}), and its own"
        f" final hypervolume is {_change(found.larger)}. If the slowest"
        f" run took {LONG_H} hours, this would save"
        f" {found.saved_s / slowest_s * LONG_H:.0f} hours."
    )
    if COUNTERPOISE in virtual:
        change = larger(virtual[COUNTERPOISE], virtual[ASYNCHRONOUS])
        text += (
            " With `strategy: counterpoise` the final hypervolume is"
            f" {_change(change)} than with `sbp-bo`."
        )
    return f"{text} {CAUTION}" if found.seeds < ENOUGH_SEEDS else text


def _change(share: float) -> str:
    return f"{abs(share):.1%} {'larger' if share >= 0.0 else 'smaller'}"


def _table(title: str, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.title, table.title_justify, table.caption_justify = title, "left", "left"
    for heading in texts:
        table.add_column(heading)
    for heading in numbers:
        table.add_column(Text(heading), justify="right")
    return table
