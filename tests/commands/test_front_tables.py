"""Fronts on a terminal: sorted, marked, with units and limits, within the width."""

import io
from typing import Any

from rich.console import Console, RenderableType

from counterpoise.commands.study.front_tables import front_tables, summary_table
from counterpoise.front_marks import marks
from counterpoise.wire.views import FrontItem
from tests.commands.fake_api import STUDY, objective


def item(sample: int, mass: float, lift: float) -> FrontItem:
    variables = {f"variable_{i}": i + 0.123456 for i in range(6)}
    values = {"mass": mass, "lift": lift, "stress": 2e8}
    return FrontItem(sample=sample, step="search:1", x=variables, values=values)


FRONT = [item(1, 3.0, 10.0), item(2, 1.0, 1.0), item(3, 1.2, 8.0), item(4, 2.0, 9.0)]
STUDY_WITH_LIMIT = STUDY.model_copy(
    update={
        "objectives": [objective("mass"), objective("lift", direction="maximize")],
        "spec": {
            "objectives": [
                {"name": "mass", "direction": "minimize", "unit": "kg"},
                {"name": "lift", "direction": "maximize"},
            ],
            "constraints": [{"name": "stress", "unit": "Pa", "upper": 2.5e8}],
            "variables": [],
        },
    }
)


def text_of(content: RenderableType, width: int) -> str:
    screen = io.StringIO()
    Console(file=screen, width=width).print(content)
    return screen.getvalue()


def test_the_best_of_each_objective_and_the_knee_are_marked() -> None:
    found = marks(FRONT, STUDY_WITH_LIMIT.objectives)
    assert found == {2: ["best mass"], 1: ["best lift"], 3: ["knee"]}
    goals: list[Any] = STUDY_WITH_LIMIT.objectives
    assert marks([], goals) == {}
    assert marks(FRONT[:1], goals) == {1: ["best mass", "best lift"]}


def test_rows_are_sorted_and_no_line_is_wider_than_the_terminal() -> None:
    shown = text_of(front_tables(FRONT, STUDY_WITH_LIMIT, 72), 72)
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 72
    assert [line.split()[0] for line in lines[2:6]] == ["2", "3", "4", "1"]
    assert "kg" in shown
    assert "≤ 2.5e+08" in shown
    for i in range(6):
        assert f"variable_{i}" in shown
    assert "5.123" in shown


def test_the_summary_has_a_column_for_each_sample_that_stands_out() -> None:
    shown = text_of(summary_table(FRONT, STUDY_WITH_LIMIT), 72)
    assert max(map(len, shown.splitlines())) <= 72
    assert shown.splitlines()[1].split() == ["sample", "2", "3", "1"]
