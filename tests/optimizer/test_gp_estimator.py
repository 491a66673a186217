"""Kriging is a scikit-learn regressor by scikit-learn's own checks."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import estimator_checks_generator

from app.optimizer.models.kriging import Kriging

# They look at pandas frames and at SciPy's experimental array API, neither of which
# this project uses.
ELSEWHERE = ("check_array_api_input", "check_regressor_data_not_an_array")
CHECKS = [
    (estimator, check)
    for start in (Kriging(), Kriging(theta0=2.0, optimize=False))
    for estimator, check in estimator_checks_generator(start)
    if not any(name in str(check) for name in ELSEWHERE)
]


def test_there_are_checks() -> None:
    assert len(CHECKS) > 80


@pytest.mark.parametrize(
    ("estimator", "check"),
    CHECKS,
    ids=lambda one: getattr(getattr(one, "func", one), "__name__", str(one)),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_check(
    estimator: BaseEstimator, check: Callable[[Any], None]
) -> None:
    check(estimator)
