"""Which designs of a front stand out."""

from app.domain.monitoring.choices import best_in, knee, nearest

FRONT = [(0.0, 1000.0), (2.0, 300.0), (10.0, 0.0)]


def test_the_best_in_an_objective_is_an_extreme_of_the_front() -> None:
    assert best_in(FRONT, 0) == 0
    assert best_in(FRONT, 1) == 2


def test_of_equally_good_designs_the_one_that_is_better_elsewhere_is_best() -> None:
    assert best_in([(1.0, 5.0, 9.0), (1.0, 6.0, 2.0), (3.0, 1.0, 1.0)], 0) == 1


def test_units_do_not_decide_which_design_is_the_knee() -> None:
    in_other_units = [(first * 1e6, second) for first, second in FRONT]
    assert knee(FRONT) == knee(in_other_units) == 1


def test_the_nearest_design_has_the_smallest_largest_shortfall() -> None:
    assert nearest(FRONT, {0: 0.0, 1: 1000.0}) == 0
    assert nearest(FRONT, {0: 9.0, 1: 10.0}) == 2


def test_objectives_without_a_wish_decide_only_between_equals() -> None:
    assert nearest(FRONT, {1: 1000.0}) == 2
    assert nearest([(1.0, 5.0), (1.0, 4.0)], {0: 1.0}) == 1


def test_a_front_of_one_design_is_best_in_everything() -> None:
    front = [(3.0, 4.0)]
    assert best_in(front, 1) == knee(front) == nearest(front, {0: 0.0}) == 0
