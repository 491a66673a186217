import math

import pytest

from app.optimizer.problem import Objective, Problem, Variable

X = (Variable("x", 0, 1),)
F = (Objective("a"), Objective("b"), Objective("c"))


def test_cheap_objectives_are_those_whose_ratio_exceeds_the_threshold() -> None:
    problem = Problem(X, F, (5.0, 1.0, 3.0))
    assert (problem.d, problem.m) == (1, 3)
    assert problem.cheap == (0, 2)
    assert Problem(X, F, (5.0, 1.0, 3.0), cheap_threshold=3.0).cheap == (0,)


def test_ratios_are_rounded_down_so_that_a_cheap_objective_has_samples_of_its_own() -> (
    None
):
    problem = Problem(X, F, (5.9, 1.9, 1.0))
    assert problem.ratios == (5.0, 1.0, 1.0)
    assert problem.cheap == (0,)


def test_a_fixed_set_of_cheap_objectives_outlives_a_change_of_ratios() -> None:
    assert Problem(X, F, (1.0, 9.0, 1.0), fixed_cheap=(2, 0)).cheap == (0, 2)
    assert Problem(X, F, (1.0, 9.0, 1.0), fixed_cheap=()).cheap == ()


@pytest.mark.parametrize(
    ("low", "high", "kind", "scale", "message"),
    [
        (1.0, 1.0, "float", "linear", "less than high"),
        (2.0, 1.0, "float", "linear", "less than high"),
        (0.0, math.inf, "float", "linear", "finite"),
        (math.nan, 1.0, "float", "linear", "finite"),
        (-1e308, 1e308, "float", "linear", "overflows"),
        (0.5, 3.0, "int", "linear", "integer bounds"),
        (2**53, 2**53 + 4, "int", "linear", "beyond 2[*][*]52"),
        (-(2.0**60), 0, "int", "linear", "beyond 2[*][*]52"),
        (0.0, 1.0, "float", "log", "low > 0"),
        (
            1e300,
            math.nextafter(1e300, math.inf),
            "float",
            "log",
            "the same on a log scale",
        ),
        (0.0, 1.0, "category", "linear", "kind"),
        (0.5, 1.0, "float", "logit", "scale"),
    ],
)
def test_a_variable_that_makes_no_sense_is_refused(
    low: float, high: float, kind: str, scale: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Variable("x", low, high, kind, scale)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("objectives", "ratios", "fixed", "message"),
    [
        ((), (), None, "at least one"),
        (F, (1.0, 1.0), None, "2 ratios for 3"),
        (F, (0.5, 1.0, 1.0), None, "at least 1"),
        (F, (math.inf, 1.0, 1.0), None, "finite"),
        ((Objective("a"), Objective("a")), (1.0, 1.0), None, "same name"),
        (F, (1.0, 1.0, 1.0), (3,), "not among"),
    ],
)
def test_a_problem_that_makes_no_sense_is_refused(
    objectives: tuple[Objective, ...],
    ratios: tuple[float, ...],
    fixed: tuple[int, ...] | None,
    message: str,
) -> None:
    with pytest.raises(ValueError, match=message):
        Problem(X, objectives, ratios, fixed_cheap=fixed)


def test_an_unknown_direction_is_refused() -> None:
    with pytest.raises(ValueError, match="direction"):
        Objective("a", "upwards")  # type: ignore[arg-type]
