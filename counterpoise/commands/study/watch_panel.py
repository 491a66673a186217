"""A watched study as one screen, or as one line."""

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from counterpoise.commands.output import count
from counterpoise.commands.study.snapshot import Snapshot
from counterpoise.commands.study.study_tables import (
    plain_table,
    state_text,
    study_title,
)
from counterpoise.eta import Eta
from counterpoise.wire.codes import JobState, Phase, StudyState
from counterpoise.wire.text import format_span
from counterpoise.wire.views import OutputView, StudyView, WorkerView
from counterpoise.wire.work import matches

BAR_WIDTH = 20
# Different characters: a bar is read without colours, too
CELLS = {
    JobState.DONE: ("█", "green"),
    JobState.INFEASIBLE: ("×", "magenta"),
    JobState.FAILED: ("✗", "red"),
    JobState.LEASED: ("▒", "yellow"),
    JobState.READY: ("░", "bright_black"),
}
REST = "·"
LEGEND = "█ done  × infeasible  ✗ failed  ▒ running  ░ waiting"


def panel(snapshot: Snapshot) -> Panel:
    study = snapshot.study
    facts = Table.grid(padding=(0, 1))
    facts.add_column(no_wrap=True, style="bold")
    facts.add_row("front", Text(_front(study)))
    facts.add_row("workers", Text(_workers(snapshot.own_workers)))
    facts.add_row("time left", Text(format_eta(snapshot.eta)))
    legend = Text(LEGEND, style="dim")
    parts: list[RenderableType] = [_progress(snapshot), legend, "", facts]
    if snapshot.error is not None:
        parts.append(
            Text(f"! no response, trying again: {snapshot.error}", style="bold red")
        )
    parts += [Text(f"! {item.detail}", style="yellow") for item in study.health]
    group = Group(*parts)
    return Panel(
        group,
        title=study_title(study),
        title_align="left",
        border_style=_colour(snapshot),
        expand=False,
    )


def _colour(snapshot: Snapshot) -> str:
    if snapshot.error:
        return "red"
    if snapshot.study.state == StudyState.PAUSED:
        return "yellow"
    return "green" if snapshot.study.phase == Phase.FINISHED else "cyan"


def _progress(snapshot: Snapshot) -> Table:
    study = snapshot.study
    has_infeasible = any(output.infeasible for output in study.outputs)
    infeasible = ("infeasible",) if has_infeasible else ()
    numbers = ("done", "running", "waiting", *infeasible, "failed", "workers")
    table = plain_table("", "", numbers=numbers, gap=1)
    full = {
        JobState.DONE: study.evaluated_full,
        JobState.LEASED: study.planned_full - study.evaluated_full,
    }
    table.add_row(
        "full samples",
        bar(full, study.budget),
        str(study.evaluated_full),
        f"of {study.budget}",
        *(("", str(study.withdrawn)) if has_infeasible else ()),
    )
    for output in study.outputs:
        if output.same_run_as is not None:
            run = Text(f"with {output.same_run_as}", style="dim")
            table.add_row(Text(output.name), run, str(output.done))
        else:
            workers = [worker for worker in snapshot.own_workers if not worker.drained]
            row = _run_row(output, workers, has_infeasible=has_infeasible)
            table.add_row(*row)
    return table


def _run_row(
    run: OutputView, workers: list[WorkerView], *, has_infeasible: bool
) -> list[RenderableType]:
    counts = {state: int(getattr(run, state)) for state in CELLS}
    able = sum(1 for worker in workers if matches(worker.objectives, run.name))
    numbers = (
        run.done,
        run.leased,
        run.ready + run.waiting,
        *([run.infeasible] if has_infeasible else []),
        run.failed,
        able,
    )
    return [
        Text(run.name),
        bar(counts, sum(counts.values())),
        *(str(number) for number in numbers),
    ]


def bar(counts: dict[JobState, int], total: int, width: int = BAR_WIDTH) -> Text:
    """Parts in the order of CELLS.

    Each that is not zero has at least one cell; together at most all.
    """
    text = Text()
    left = width
    for state, (character, colour) in CELLS.items():
        number = counts.get(state, 0)
        cells = (
            min(left, max(1, int(number * width / total))) if number and total else 0
        )
        text.append(character * cells, style=colour)
        left -= cells
    return text.append(REST * left, style="bright_black")


def _front(study: StudyView) -> str:
    volume = study.hypervolume
    if volume is None:
        return "no feasible sample yet" if study.feasible == 0 else "none yet"
    size = "" if volume.front is None else f"{count(volume.front, 'sample')}, "
    about = "" if volume.exact else "about "
    trend = ""
    if volume.previous:
        change = volume.value / volume.previous - 1.0
        trend = f" ({change:+.2%} on the step before)"
    return f"{size}hypervolume {about}{volume.value:.6g}{trend} at step {volume.step}"


def _workers(workers: list[WorkerView]) -> str:
    if not workers:
        return "none"
    busy = sum(len(worker.jobs) for worker in workers)
    slots = sum(worker.slots for worker in workers)
    drained = sum(worker.drained for worker in workers)
    text = f"{len(workers)} alive with {slots} slots, {busy} busy"
    return f"{text}, {drained} of them drained" if drained else text


def format_eta(eta: Eta) -> str:
    if eta.low_s is None or eta.high_s is None:
        return f"unknown: {eta.unknown}"
    low, high = format_span(eta.low_s), format_span(eta.high_s)
    return low if low == high else f"{low} to {high}"


def line(snapshot: Snapshot) -> str:
    study = snapshot.study
    if snapshot.error is not None:
        error = " ".join(snapshot.error.split())
        return f"{study.name}: no response, trying again: {error}"
    parts = [
        f"{study.name}: {state_text(study)}, step {study.step}",
        f"{study.evaluated_full} of {study.budget} full samples",
        f"front {_front(study)}",
        f"workers {_workers(snapshot.own_workers)}",
    ]
    if study.phase != Phase.FINISHED:
        parts.append(f"time left {format_eta(snapshot.eta)}")
    parts += [f"! {item.detail}" for item in study.health]
    return "; ".join(parts)
