"""A front on a terminal: a row per sample, or only what stands out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from counterpoise.commands.study.study_tables import plain_table
from counterpoise.front_marks import marks, sorted_front
from counterpoise.wire.views import FrontItem, NearlyFeasible, StudyView

GAP = 2


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    cells: list[str]

    @property
    def width(self) -> int:
        lines = [*self.title.split("\n"), *self.cells]
        return max(map(len, lines), default=0) + GAP


def front_tables(items: Sequence[FrontItem], study: StudyView, width: int) -> Group:
    """Every sample, the best of the first objective first; several tables if one does
    not fit.
    """
    front = sorted_front(items, study.objectives)
    marked = marks(front, study.objectives)
    remarks = [", ".join(marked.get(item.sample, ())) for item in front]
    return _tables(front, remarks, study, width)


def least_violating_tables(
    items: Sequence[NearlyFeasible], study: StudyView, width: int
) -> Group:
    """Samples that break limits, the nearest to a feasible one first."""
    remarks = [
        f"breaks {', '.join(item.broken_limits)} by {item.violation:.3g} of the range"
        for item in items
    ]
    return _tables(items, remarks, study, width)


def _tables(
    front: Sequence[FrontItem], texts: list[str], study: StudyView, width: int
) -> Group:
    samples = Column("sample\n", [str(item.sample) for item in front])
    remarks = Column("", texts)
    outputs = [
        Column(title, [_number(item.values.get(name)) for item in front])
        for name, title in output_titles(study, front).items()
    ]
    variables = [
        Column(f"{name}\n", [_number(item.x.get(name)) for item in front])
        for name in _names(front, "x")
    ]
    steps = Column("step\n", [item.step or "imported" for item in front])
    columns = [*outputs, *variables, steps]
    blocks = _blocks(columns, width - samples.width - remarks.width)
    return Group(*(_table(samples, block, remarks) for block in blocks))


def _blocks(columns: list[Column], width: int) -> list[list[Column]]:
    blocks: list[list[Column]] = [[]]
    left = width
    for column in columns:
        if blocks[-1] and column.width > left:
            blocks.append([])
            left = width
        blocks[-1].append(column)
        left -= column.width
    return blocks


def _table(samples: Column, columns: list[Column], remarks: Column) -> Table:
    numbers = [samples, *columns]
    table = plain_table(numbers=tuple(column.title for column in numbers))
    table.add_column("", overflow="fold")
    for row, remark in enumerate(remarks.cells):
        table.add_row(*(column.cells[row] for column in numbers), Text(remark))
    return table


def summary_table(items: Sequence[FrontItem], study: StudyView) -> Table:
    """The best sample of each objective and the knee, as columns."""
    front = sorted_front(items, study.objectives)
    marked = marks(front, study.objectives)
    chosen = [item for item in front if item.sample in marked]
    titles = ["\n".join(marked[item.sample]) for item in chosen]
    table = plain_table("", numbers=tuple(titles))
    table.add_row("sample", *(str(item.sample) for item in chosen), style="dim")
    for name, title in output_titles(study, front).items():
        cells = [_number(item.values.get(name)) for item in chosen]
        table.add_row(Text(title.replace("\n", "  "), style="bold"), *cells)
    for name in _names(front, "x"):
        table.add_row(Text(name), *(_number(item.x.get(name)) for item in chosen))
    return table


def output_titles(study: StudyView, items: Sequence[FrontItem]) -> dict[str, str]:
    """By output: its name, and below it goal, unit and limits."""
    declared = {output["name"]: output for output in _outputs(study)}
    goals = {view.name: view.direction for view in study.objectives}
    return {
        name: f"{name}\n{_description(goals.get(name, ''), declared.get(name, {}))}"
        for name in _names(items, "values")
    }


def _names(items: Sequence[FrontItem], what: str) -> list[str]:
    """In the order of the first item, then of the others: not each has every one."""
    return list(dict.fromkeys(name for item in items for name in getattr(item, what)))


def _outputs(study: StudyView) -> list[dict[str, Any]]:
    constraints = study.spec.get("constraints") or []
    return [*study.spec["objectives"], *constraints]


def _description(goal: str, output: dict[str, Any]) -> str:
    parts = [goal[:3], output.get("unit") or ""]
    if output.get("lower") is not None:
        parts.append(f"≥ {output['lower']:g}")
    if output.get("upper") is not None:
        parts.append(f"≤ {output['upper']:g}")
    return " ".join(part for part in parts if part)


def _number(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float | int) else str(value)
