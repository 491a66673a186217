"""The picture of a result, read from the figure."""

import numpy as np
import pytest

from counterpoise.local.picture import figure_of, time_unit
from counterpoise.local.result import HypervolumePoint, Result
from counterpoise.wire.views import FrontItem, SampleView
from tests.commands.fake_api import STUDY, objective


def sample(number: int, step: str, mass: float, drag: float) -> SampleView:
    return SampleView(
        sample=number,
        step=step,
        full=True,
        x={"a": 0.5},
        values={"mass": mass, "drag": drag},
        failures={},
        open=0,
    )


def test_initial_and_search_points_on_and_off_the_front() -> None:
    objectives = [objective("mass", unit="kg"), objective("drag", direction="maximize")]
    samples = [
        sample(1, "initial", 1.0, 1.0),
        sample(2, "initial", 3.0, 1.0),
        sample(3, "search:1", 2.0, 2.0),
    ]
    front = [
        FrontItem(sample=s.sample, step=s.step, x=s.x, values=s.values)
        for s in samples
        if s.sample != 2
    ]
    result = Result(
        study=STUDY.model_copy(update={"objectives": objectives}),
        front=front,
        samples=samples,
        hypervolume_history=[
            HypervolumePoint("search:1", 7200.0, 0.5),
            HypervolumePoint("search:2", 14400.0, 0.75),
        ],
        folder=None,
    )
    scatter, history = figure_of(result).axes
    legend = scatter.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["initial", "front, initial", "front, search"]
    drawn = {
        collection.get_label(): np.asarray(collection.get_offsets()).tolist()
        for collection in scatter.collections
    }
    assert drawn["initial"] == [[3.0, 1.0]]
    assert drawn["front, initial"] == [[1.0, 1.0]]
    assert drawn["front, search"] == [[2.0, 2.0]]
    assert scatter.get_xlabel() == "mass, min [kg]"
    assert scatter.get_ylabel() == "drag, max"
    [line] = history.lines
    assert np.asarray(line.get_xydata()).tolist() == [[2.0, 0.5], [4.0, 0.75]]
    assert history.get_xlabel() == "hours since the study began"


@pytest.mark.parametrize(
    ("longest_s", "unit"),
    [(0, "seconds"), (179, "seconds"), (180, "minutes"), (10_800, "hours")],
)
def test_units_of_time(longest_s: float, unit: str) -> None:
    assert time_unit(longest_s)[0] == unit
