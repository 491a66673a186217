"""Variants of `counterpoise`: parts left out, constants changed, and the table of the
latter.
"""

from dataclasses import fields, replace

import numpy as np
import pytest

from app.optimizer.strategies.counterpoise.settings import DEFAULTS
from app.optimizer.strategies.counterpoise.step import COUNTERPOISE, PromotionStep
from benchmarks.campaign.campaigns import CAMPAIGNS, run_of
from benchmarks.campaign.execute import more_sources
from benchmarks.campaign.paired import ratio_of
from benchmarks.campaign.report import constants_table, tables
from benchmarks.campaign.report.renderers import renderer_of
from benchmarks.campaign.rows import rows_of
from benchmarks.campaign.variants import (
    CONSTANTS,
    OWN_POINTS,
    PARTS,
    VARIANTS,
    WITHOUT_EFFECT,
    Constant,
)
from benchmarks.paper.counterpoise_run import begin, join_points, optimise_by_promotion
from benchmarks.paper.evaluations import Evaluations
from benchmarks.paper.results import Outcome
from benchmarks.problems.catalogue import problem


@pytest.mark.parametrize("name", PARTS)
def test_every_part_left_out_makes_the_same_number_of_evaluations(name: str) -> None:
    """`optimise_by_promotion` raises if not all are used."""
    variant = PARTS[name]
    assert isinstance(variant.step, PromotionStep)
    settings = replace(
        variant.step.settings or DEFAULTS,
        generations=2,
        samples=4,
        targets=20,
        lattice="small",
    )
    quick = replace(variant, step=PromotionStep(settings), models="paper")
    instance = replace(problem("dtlz2", 3, 4), n=12)
    F, _ = optimise_by_promotion(instance, (5.0, 3.0, 1.0), quick, 0, budget=18)
    assert F.shape == (18, 3)


def test_a_variant_is_its_parent_with_few_fields_replaced() -> None:
    for name, variant in VARIANTS.items():
        strategy_changes = _changes(COUNTERPOISE, variant) - {"step"}
        assert isinstance(variant.step, PromotionStep)
        changes = _changes(DEFAULTS, variant.step.settings or DEFAULTS)
        expected = {"no-common-points": 2, "no-bound-moves": 2}.get(name, 1)
        assert len(strategy_changes | changes) == expected, name


def _changes(first: object, second: object) -> set[str]:
    names = [field.name for field in fields(first)]  # type: ignore[arg-type]
    return {name for name in names if getattr(first, name) != getattr(second, name)}


def test_runs_of_variants_have_the_models_and_sources_of_the_variant() -> None:
    spec = run_of("dtlz2", 3, 5, "no-promotion", 0)
    assert spec.settings == run_of("dtlz2", 3, 5, "counterpoise", 0).settings
    assert run_of("dtlz2", 3, 5, "kriging", 0).settings.models == "paper"
    assert more_sources(spec) == ("benchmarks/campaign/variants.py",)


def test_own_points_of_the_initial_phase_have_one_objective_each() -> None:
    instance = problem("dtlz2", 3, 4)
    declared = instance.declare((5.0, 3.0, 1.0))
    evaluations = Evaluations(instance, declared, 10)
    snapshot = begin(declared, evaluations, 10, 0, 10, OWN_POINTS)
    assert evaluations.are_used_up()
    assert snapshot.pool.known.sum(axis=0).tolist() == [40, 20, 0]
    assert set(snapshot.pool.known.sum(axis=1).tolist()) == {1}


def test_points_are_joined_in_the_order_in_which_they_appear() -> None:
    a, b, c = [0.9, 0.1], [0.1, 0.9], [0.5, 0.5]
    X, rows = join_points((np.array([a, b]), np.array([b, c, a]), np.empty((0, 2))))
    assert X.tolist() == [a, b, c]
    assert [own.tolist() for own in rows] == [[0, 1], [1, 2, 0], []]


def test_constants_are_all_numbers_of_the_settings() -> None:
    numbers = set()
    for field in fields(DEFAULTS):
        value = getattr(DEFAULTS, field.name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            numbers.add(field.name)
    assert {constant.name for constant in CONSTANTS} | set(WITHOUT_EFFECT) == numbers


def test_changed_constants_have_values_that_are_allowed() -> None:
    assert (Constant("record", 15).half, Constant("record", 15).double) == (8, 30)
    assert Constant("moved", 0.7).double == 1.0
    assert Constant("optimism", 2.0).double == 4.0
    (samples,) = (constant for constant in CONSTANTS if constant.name == "samples")
    assert (samples.half, samples.double) == (8, 32)


def _outcome(problem: str, column: str, seed: int, score: float) -> Outcome:
    (spec,) = CAMPAIGNS["constants"].specs(problem, 3, column, seed)
    return Outcome(spec, score, 1.0, 0.1, 0.05)


def test_the_table_of_constants_by_hand() -> None:
    """Twice and half of the default are 1 in the geometric mean; a seed that the
    default lacks does not count.
    """
    runs = [
        _outcome("dtlz2", "counterpoise", 100, 0.1),
        _outcome("wfg4", "counterpoise", 100, 1.0),
        _outcome("dtlz2", "kept/2", 100, 0.2),
        _outcome("dtlz2", "kept/2", 101, 9.0),
        _outcome("wfg4", "kept/2", 100, 0.5),
        _outcome("wfg4", "kept*2", 100, 1.5),
    ]
    rows = rows_of(CAMPAIGNS["constants"], runs)
    halved = ratio_of(rows, "kept/2", "counterpoise")
    assert halved is not None
    assert halved.mean == pytest.approx(1.0)
    assert halved.runs == 2
    assert halved.error == pytest.approx(np.log(2.0))
    shown = renderer_of("constants").markdown(rows)
    assert "| kept | 2 | 1 | 1.000 (0.69, 2) | 4 | 1.500 (0, 1) |" in shown
    assert "| brood | 150 | 75 |  | 300 |  |" in shown
    assert "over dtlz2, wfg4; above 1 the default is better." in shown
    assert "least 1.000, `kept/2`; largest 1.500, `kept*2`" in shown
    assert "no change" in constants_table.summary([])


def test_columns_are_compared_with_the_first_by_number_of_objectives() -> None:
    runs = []
    scores = {
        "counterpoise": (1.0, 4.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
        "kriging": (2.0, 2.0, 1.5, 0.5, 3.0, 1.0, 1.0, 1.0),
        "no-greedy-gain": (1.1, 4.8, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8),
    }
    for column, of_seeds in scores.items():
        for seed, score in enumerate(of_seeds):
            (spec,) = CAMPAIGNS["parts"].specs("dtlz2", 3, column, seed)
            runs.append(Outcome(spec, score, 1.0, 0.1, 0.05))
    (spec,) = CAMPAIGNS["parts"].specs("dtlz2", 5, "kriging", 0)
    runs.append(Outcome(spec, 9.0, 1.0, 0.1, 0.05))  # without one to compare it with
    rows = rows_of(CAMPAIGNS["parts"], runs)
    # (2 * 0.5 * 1.5 * 0.5 * 3)^(1/8), (1.1 * 1.2 * … * 1.8)^(1/8); eight of eight pairs
    # worse: p = 2 / 2^8
    (line,) = tables.relative(rows)
    assert line.endswith("m = 3: no-greedy-gain 1.43 -, kriging 1.11 =")
    assert tables.relative([]) == []


def test_hypervolumes_are_counted_where_all_runs_have_one() -> None:
    runs = []
    for name, column, volume in (
        ("dtlz2", "counterpoise", 0.8),
        ("dtlz2", "kriging", 0.9),
        ("wfg4", "counterpoise", 0.7),
        ("wfg4", "kriging", 0.7),
        ("dtlz7", "counterpoise", 0.7),
        ("dtlz7", "kriging", None),
        ("wfg9", "kriging", 0.5),  # without a reference
        ("wfg9", "no-promotion", 0.6),
    ):
        (spec,) = CAMPAIGNS["parts"].specs(name, 3, column, 0)
        runs.append(Outcome(spec, 1.0, 1.0, 0.1, 0.05, hypervolume=volume))
    assert tables.hypervolumes(rows_of(CAMPAIGNS["parts"], runs)) == [
        "mean hypervolume larger than that of counterpoise: kriging 1 of 2 (1 equal)"
    ]
