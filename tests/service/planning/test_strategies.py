"""Every strategy that a study can select, from the first step to the last."""

from typing import Any, get_args

import pytest

from app.service.planning.replay import replay
from app.store.database import Database
from counterpoise.wire.specification import SpecificationInvalid, Strategy
from tests.service.lab import Lab

# The databases do not differ in what a strategy sees
pytestmark = pytest.mark.parametrize("backend", ["sqlite"])
SMALL: dict[str, Any] = {"budget": 8, "batch_size": 2, "generations": 3}
THREE = [
    {"name": "mass", "evaluation_time_s": 1.0},
    {"name": "lift", "evaluation_time_s": 2.0},
    {"name": "crash", "evaluation_time_s": 4.0},
]
SAME = [{"name": "mass"}, {"name": "crash"}]
# With the step of sbp-bo, which other tests take
ABLATIONS = ("bo-aaf", "sbp-bo-r", "sbp-bo-c")
PAIRS_ONLY = ("t-saea", "tr-saea", "tc-saea")


@pytest.mark.parametrize("name", sorted({*get_args(Strategy)} - {*ABLATIONS}))
def test_a_study_ends_with_its_budget_and_can_be_replayed(
    name: str, database: Database
) -> None:
    lab = Lab(database, **SMALL, strategy=name)
    view = lab.run()
    assert view.phase == "finished"
    assert view.planned_full == 8
    lab.check_counters()
    different = [
        step.step for step in replay(database, lab.name, None) if not step.equal
    ]
    assert different == []


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        *(
            (name, {"objectives": THREE}, "3 objectives, 2 of them")
            for name in PAIRS_ONLY
        ),
        *((name, {"objectives": SAME}, "evaluation times") for name in PAIRS_ONLY),
        ("fast-first", {"objectives": SAME}, "at least one cheap objective"),
        ("k-rvea", {"objectives": SAME[:1]}, "at least two objectives"),
        ("hk-rvea", {"objectives": SAME[:1]}, "at least two objectives"),
        (
            "mht",
            {"variables": [{"name": "a", "type": "int", "low": 0, "high": 9}]},
            "'a' is int",
        ),
    ],
)
def test_a_strategy_that_does_not_apply_is_refused(
    name: str, changes: dict[str, Any], reason: str, database: Database
) -> None:
    with pytest.raises(SpecificationInvalid) as refused:
        Lab(database, **SMALL, **changes, strategy=name)
    (fault,) = refused.value.faults
    assert fault.pointer == "#/strategy"
    assert reason in fault.detail
    assert "choose" in fault.detail
