"""Ratios by hand: r_i = floor(t_max / t_i), of declared or measured times."""

from typing import Any

import pytest

from app.domain.planning.ratios import (
    declared_ratios,
    measured_ratios,
    ratio_source,
    ratios_of_times,
)
from counterpoise.wire.codes import RatioSource
from counterpoise.wire.specification import Specification, parse_specification
from tests.domain.records import OBJECTIVES, SPEC


def spec(*objectives: dict[str, Any], **more: Any) -> Specification:
    variables = [{"name": "a", "low": 0.0, "high": 1.0}]
    raw = {
        "name": "s",
        "variables": variables,
        "objectives": list(objectives),
        "budget": 20,
        **more,
    }
    return parse_specification(raw)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((1.0, 4.0), (4.0, 1.0)),
        ((0.1, 0.3), (3.0, 1.0)),
        ((2.0, 3.9), (1.0, 1.0)),
        ((1e-300, 1e10), (1e9, 1.0)),
    ],
)
def test_ratios_of_times(times: tuple[float, ...], expected: tuple[float, ...]) -> None:
    assert tuple(ratios_of_times(dict(enumerate(times))).values()) == expected


def test_declared_times_give_ratios_that_are_cut_and_whole() -> None:
    declared = spec(
        {"name": "mass", "evaluation_time_s": 0.01},
        {"name": "lift", "same_run_as": "mass"},
        {"name": "crash", "evaluation_time_s": 1.0},
        max_ratio=7.9,
    )
    assert declared_ratios(declared) == [7.0, 7.0, 1.0]
    given = spec({"name": "mass"}, {"name": "crash"}, ratios={"mass": 5.5})
    assert declared_ratios(given) == [5.0, 1.0]
    assert (
        declared_ratios(
            spec({"name": "mass"}, {"name": "crash", "evaluation_time_s": 1.0})
        )
        is None
    )


def test_ratios_are_measured_once_every_run_has_three_durations() -> None:
    few = {1: [1.0, 1.0, 9.0], 3: [4.0, 4.0]}
    assert measured_ratios(SPEC, OBJECTIVES, few) == [1.0, 1.0, 1.0]
    assert ratio_source(SPEC, OBJECTIVES, few) is RatioSource.ASSUMED
    enough = few | {3: [4.0, 4.0, 100.0]}
    # Medians 1 and 4
    assert measured_ratios(SPEC, OBJECTIVES, enough) == [
        4.0,
        4.0,
        1.0,
    ]
    assert ratio_source(SPEC, OBJECTIVES, enough) is RatioSource.MEASURED
