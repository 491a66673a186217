"""Kriging is a scikit-learn regressor by scikit-learn's own checks."""

import re
from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import estimator_checks_generator

from app.optimizer.models.kriging.regressor import Kriging

# They check pandas frames and SciPy's experimental array API, neither of which this
# project uses.
SKIPPED = re.compile("check_array_api_input|check_regressor_data_not_an_array")
ALL_CHECKS = chain(
    estimator_checks_generator(Kriging()),
    estimator_checks_generator(Kriging(theta0=2.0, optimize=False)),
)
CHECKS = [pair for pair in ALL_CHECKS if not SKIPPED.search(str(pair[1]))]


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
