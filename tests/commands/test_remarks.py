"""Remarks on evaluation times."""

from typing import Any

from counterpoise.commands.study.remarks import remarks
from counterpoise.wire.views import StudyView
from tests.commands.fake_api import STUDY, objective


def study(*medians: float, declared: float | None = None, **spec: Any) -> StudyView:
    names = [f"o{i}" for i in range(len(medians))]
    views = [
        objective(
            name,
            ratio=20.0,
            median_duration_s=median,
            duration_quartiles_s=(median, median),
        )
        for name, median in zip(names, medians, strict=True)
    ]
    objectives = [{"name": name, "evaluation_time_s": declared} for name in names]
    return STUDY.model_copy(
        update={"objectives": views, "spec": {"objectives": objectives, **spec}}
    )


def test_declared_and_measured_times_that_differ_by_three() -> None:
    assert remarks(study(3.1, declared=1.0)) != []
    assert remarks(study(0.3, declared=1.0)) != []
    assert remarks(study(2.9, 0.4, declared=1.0)) == []
    assert remarks(study(3.1)) == []


def test_a_ratio_that_max_ratio_cuts() -> None:
    [remark] = remarks(study(0.001, 1.0, max_ratio=20.0))
    assert "o0" in remark
    assert "1,000" in remark
    assert remarks(study(0.1, 1.0, max_ratio=20.0)) == []


def test_times_that_were_not_measured_are_not_compared() -> None:
    unmeasured = objective("o0", median_duration_s=9.0)
    view = study(1.0, declared=1.0).model_copy(update={"objectives": [unmeasured]})
    assert remarks(view) == []
