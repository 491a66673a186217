"""Studies and fronts on a terminal."""

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from counterpoise.commands.study.remarks import remarks
from counterpoise.wire.codes import JobState, Phase, StudyState
from counterpoise.wire.text import short_time
from counterpoise.wire.views import (
    HealthItem,
    ObjectiveView,
    OutputView,
    StudySummary,
    StudyView,
)


def plain_table(*texts: str, numbers: tuple[str, ...] = (), gap: int = 2) -> Table:
    table = Table(box=None, padding=(0, gap, 0, 0), header_style="bold")
    for title in texts:
        table.add_column(Text(title), overflow="fold")
    for title in numbers:
        table.add_column(Text(title), justify="right")
    return table


def studies_table(studies: list[StudySummary]) -> Table:
    table = plain_table(
        "study", "phase", "state", numbers=("step", "evaluated", "budget", "created")
    )
    for study in studies:
        counts = (str(study.step), str(study.evaluated_full), str(study.budget))
        state = "" if study.phase == Phase.FINISHED else study.state
        created = short_time(study.created_at)
        table.add_row(study.name, study.phase, state, *counts, created)
    return table


# Shown only where there are such jobs, so that a table fits the terminal
RARE_STATES = (JobState.WAITING, JobState.INFEASIBLE)
_HEADINGS = {JobState.INFEASIBLE: "infea-\nsible", JobState.SUPERSEDED: "super-\nseded"}


def study_title(study: StudyView) -> str:
    state = state_text(study).replace(", ", " · ")
    return f"[bold]{escape(study.name)}[/bold] · {state} · step {study.step}"


def state_text(study: StudySummary) -> str:
    """Phase and state; a finished study is neither active nor paused."""
    if study.phase == Phase.FINISHED:
        return str(study.phase)
    return f"{study.phase}, {study.state}"


def study_panel(study: StudyView) -> Panel:
    """A study on one screen."""
    full = f"{study.evaluated_full} of {study.budget} full samples evaluated, {study.planned_full} planned"
    if study.withdrawn:
        full += f", {study.withdrawn} withdrawn"
    if study.imported:
        full += f", {study.imported} imported"
    progress = Table.grid(padding=(0, 2))
    progress.add_row(
        ProgressBar(total=study.budget, completed=study.evaluated_full, width=20), full
    )
    times = f"created {short_time(study.created_at)}"
    if study.finished_at:
        times += f", finished {short_time(study.finished_at)}"
    parts: list[RenderableType] = [
        progress,
        Text(times, style="dim"),
        "",
        _outputs_table(study.outputs),
        "",
        _hypervolume_line(study),
        *(Text(remark, style="dim") for remark in remarks(study)),
        *(_health_lines(study.health) or [Text("all is well", style="green")]),
    ]
    group = Group(*parts)
    return Panel(
        group,
        title=study_title(study),
        title_align="left",
        border_style=_colour(study),
        expand=False,
    )


def _colour(study: StudyView) -> str:
    if study.state == StudyState.PAUSED:
        return "yellow"
    return "green" if study.phase == Phase.FINISHED else "cyan"


def _outputs_table(outputs: list[OutputView]) -> Table:
    states = [
        state
        for state in JobState
        if state not in RARE_STATES or any(getattr(o, state) for o in outputs)
    ]
    headings = (_HEADINGS.get(state, state) for state in states)
    table = plain_table(
        "output", "goal", numbers=("ratio", "median\ns", *headings), gap=1
    )
    for output in outputs:
        name = f"{output.name} [{output.unit}]" if output.unit else output.name
        goal = goal_text(output)
        if output.same_run_as is not None:
            table.add_row(Text(f"{name} (run of {output.same_run_as})"), goal)
            continue
        ratio = f"cheap {output.ratio:.3g}" if output.cheap else f"{output.ratio:.3g}"
        median = (
            ""
            if output.median_duration_s is None
            else f"{output.median_duration_s:.3g}"
        )
        counts = [str(getattr(output, state)) for state in states]
        table.add_row(Text(name), goal, ratio, median, *counts)
    return table


def goal_text(output: OutputView) -> str:
    """Direction and limits."""
    parts = [output.direction[:3]] if isinstance(output, ObjectiveView) else []
    if output.lower is not None:
        parts.append(f"≥ {output.lower:g}")
    if output.upper is not None:
        parts.append(f"≤ {output.upper:g}")
    return " ".join(parts)


def _hypervolume_line(study: StudyView) -> Text:
    volume = study.hypervolume
    if volume is None:
        why = "no feasible sample yet" if study.feasible == 0 else "none yet"
        return Text(f"hypervolume: {why}")
    point = ", ".join(
        f"{name} {value:.6g}" for name, value in volume.reference_point.items()
    )
    about = "" if volume.exact else "about "
    return Text(
        f"hypervolume: {about}{volume.value:.6g} at step {volume.step} (against {point})"
    )


def _health_lines(health: list[HealthItem]) -> list[Text]:
    return [Text(f"! {item.detail}", style="yellow") for item in health]
