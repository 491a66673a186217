"""How studies and fronts look on a terminal."""

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from counterpoise.wire.views import FrontItem, HealthItem, ObjectiveView, StudySummary, StudyView


def plain_table(*texts: str, numbers: tuple[str, ...] = (), gap: int = 2) -> Table:
    table = Table(box=None, padding=(0, gap, 0, 0), header_style="bold")
    for heading in texts:
        table.add_column(Text(heading), overflow="fold")
    for heading in numbers:
        table.add_column(Text(heading), justify="right")
    return table


def studies_table(studies: list[StudySummary]) -> Table:
    table = plain_table("study", "phase", "state", numbers=("step", "evaluated", "budget", "created"))
    for each in studies:
        counts = (each.step, each.evaluated_full, each.budget)
        table.add_row(each.name, each.phase, each.state, *map(str, counts), each.created_at)
    return table


def front_table(items: list[FrontItem]) -> Table:
    values, x = tuple(items[0].values), tuple(items[0].x)
    table = plain_table("sample", "step", numbers=(*values, *x))
    for item in items:
        numbers = [*(item.values.get(name) for name in values), *(item.x.get(name) for name in x)]
        table.add_row(str(item.sample), item.step or "imported", *("" if v is None else f"{v:.6g}" for v in numbers))
    return table


def study_panel(found: StudyView) -> Panel:
    """All about a study on one screen."""
    share = f"{found.evaluated_full} of {found.budget} full samples evaluated, {found.planned_full} planned"
    share += f", {found.imported} imported" if found.imported else ""
    progress = Table.grid(padding=(0, 2))
    progress.add_row(ProgressBar(total=found.budget, completed=found.evaluated_full, width=20), share)
    times = f"created {found.created_at}" + (f", finished {found.finished_at}" if found.finished_at else "")
    parts: list[RenderableType] = [progress, Text(times, style="dim"), "", _objectives_table(found.objectives), ""]
    parts += [_hypervolume_line(found), *_health_lines(found.health)]
    colour = "yellow" if found.state == "paused" else "green" if found.phase == "finished" else "cyan"
    title = f"[bold]{escape(found.name)}[/bold] · {found.phase} · {found.state} · step {found.step}"
    return Panel(Group(*parts), title=title, title_align="left", border_style=colour, expand=False)


def _objectives_table(objectives: list[ObjectiveView]) -> Table:
    counts = ("ready", "leased", "done", "failed", "superseded")
    table = plain_table("objective", "goal", numbers=("ratio", "median s", *counts), gap=1)
    for each in objectives:
        unit = f" [{each.unit}]" if each.unit else ""
        if each.same_run_as is not None:
            table.add_row(Text(f"{each.name}{unit} (run of {each.same_run_as})"), each.direction[:3])
            continue
        ratio = f"{'cheap ' if each.cheap else ''}{each.ratio:.3g}"
        median = "" if each.median_duration_s is None else f"{each.median_duration_s:.3g}"
        numbers = [str(getattr(each, count)) for count in counts]
        table.add_row(Text(each.name + unit), each.direction[:3], ratio, median, *numbers)
    return table


def _hypervolume_line(found: StudyView) -> Text:
    if found.hypervolume is None:
        return Text("hypervolume: none yet")
    point = ", ".join(f"{name} {value:.6g}" for name, value in found.hypervolume.reference_point.items())
    about = "" if found.hypervolume.exact else "about "
    return Text(f"hypervolume: {about}{found.hypervolume.value:.6g} at step {found.hypervolume.step} (against {point})")


def _health_lines(health: list[HealthItem]) -> list[Text]:
    return [Text(f"! {item.detail}", style="yellow") for item in health] or [Text("all is well", style="green")]
