"""Kriging is a scikit-learn regressor by scikit-learn's own checks."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from app.optimizer.gp import Kriging


@parametrize_with_checks([Kriging(), Kriging(theta0=2.0, optimize=False)])  # type: ignore[untyped-decorator]
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_check(estimator: BaseEstimator, check: Callable[[Any], None]) -> None:
    check(estimator)
