"""How a watched study looks: one screen, or one line."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from counterpoise.commands.study.tables import plain_table
from counterpoise.eta import Eta
from counterpoise.wire.text import format_span
from counterpoise.wire.views import StudyView, WorkerView
from counterpoise.wire.work import matches

if TYPE_CHECKING:
    from counterpoise.commands.study.watch import Scene

BAR = 20
PARTS = (("done", "green"), ("failed", "red"), ("leased", "yellow"), ("ready", "bright_black"))


def panel(scene: "Scene") -> Panel:
    found = scene.study
    facts = Table.grid(padding=(0, 1))
    facts.add_column(no_wrap=True, style="bold")
    facts.add_row("front", Text(_front(found)))
    facts.add_row("workers", Text(_workers(scene.mine)))
    facts.add_row("finished in", Text(eta_words(scene.eta)))
    parts: list[RenderableType] = [_progress(scene), "", facts]
    if scene.away is not None:
        parts.append(Text(f"! the server is away, trying again: {scene.away}", style="bold red"))
    parts += [Text(f"! {item.detail}", style="yellow") for item in found.health]
    colour = "red" if scene.away else "yellow" if found.state == "paused" else "green" if _over(scene) else "cyan"
    title = f"[bold]{escape(found.name)}[/bold] · {found.phase} · {found.state} · step {found.step}"
    return Panel(Group(*parts), title=title, title_align="left", border_style=colour, expand=False)


def _progress(scene: "Scene") -> Table:
    found = scene.study
    table = plain_table("", "", numbers=("done", "running", "waiting", "failed", "workers"), gap=1)
    full = {"done": found.evaluated_full, "leased": found.planned_full - found.evaluated_full}
    total = f"of {found.budget}"
    table.add_row("full samples", bar(full, found.budget), str(found.evaluated_full), total)
    for each in found.objectives:
        if each.same_run_as is not None:
            table.add_row(Text(each.name), Text(f"with {each.same_run_as}", style="dim"), str(each.done))
            continue
        counts = {what: int(getattr(each, what)) for what, _ in PARTS}
        able = sum(1 for w in scene.mine if not w.drained and matches(w.objectives, each.name))
        numbers = (each.done, each.leased, each.ready, each.failed, able)
        table.add_row(Text(each.name), bar(counts, sum(counts.values())), *(str(number) for number in numbers))
    return table


def _over(scene: "Scene") -> bool:
    return scene.study.phase == "finished" and scene.away is None


def bar(counts: dict[str, int], total: int, width: int = BAR) -> Text:
    """Parts in the order of PARTS; what is there at all gets at least one cell, and the whole never more than all."""
    text = Text()
    left = width
    for what, colour in PARTS:
        number = counts.get(what, 0)
        cells = min(left, max(1, int(number * width / total))) if number and total else 0
        text.append("━" * cells, style=colour)
        left -= cells
    return text.append("╌" * left, style="bright_black")


def _front(found: StudyView) -> str:
    volume = found.hypervolume
    if volume is None:
        return "none yet"
    size = "" if volume.front is None else f"{volume.front} sample{'' if volume.front == 1 else 's'}, "
    about = "" if volume.exact else "about "
    return f"{size}hypervolume {about}{volume.value:.6g}{_trend(found)} at step {volume.step}"


def _trend(found: StudyView) -> str:
    volume = found.hypervolume
    if volume is None or not volume.previous:
        return ""
    change = volume.value / volume.previous - 1.0
    return f" ({change:+.2%} on the step before)"


def _workers(workers: list[WorkerView]) -> str:
    busy = sum(len(worker.jobs) for worker in workers)
    slots = sum(worker.slots for worker in workers)
    drained = sum(worker.drained for worker in workers)
    rest = f", {drained} of them drained" if drained else ""
    return f"{len(workers)} alive with {slots} slots, {busy} busy{rest}" if workers else "none"


def eta_words(found: Eta) -> str:
    if found.low_s is None or found.high_s is None:
        return f"unknown: {found.unknown}"
    low, high = format_span(found.low_s), format_span(found.high_s)
    return low if low == high else f"{low} to {high}"


def line(scene: "Scene") -> str:
    found = scene.study
    if scene.away is not None:
        return f"{found.name}: the server is away, trying again: {' '.join(scene.away.split())}"
    words = [
        f"{found.name}: {found.phase}, {found.state}, step {found.step}",
        f"{found.evaluated_full} of {found.budget} full samples",
        f"front {_front(found)}",
        f"workers {_workers(scene.mine)}",
    ]
    if found.phase != "finished":
        words.append(f"finished in {eta_words(scene.eta)}")
    return "; ".join([*words, *(f"! {item.detail}" for item in found.health)])
