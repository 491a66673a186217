"""KrigingRegressor is a scikit-learn regressor by scikit-learn's own checks."""

import re
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import estimator_checks_generator

from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.kriging.regressor import KrigingRegressor

# They check pandas frames and SciPy's experimental array API, neither of which this
# project uses.
SKIPPED = re.compile("check_array_api_input|check_regressor_data_not_an_array")
ALL_CHECKS = chain(
    estimator_checks_generator(KrigingRegressor()),
    estimator_checks_generator(KrigingRegressor(theta0=2.0, optimize=False)),
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


def test_predictions_are_those_of_kriging() -> None:
    X = np.random.default_rng(0).uniform(size=(30, 3))
    y = np.sin(4 * X).sum(axis=1)
    estimator, model = KrigingRegressor().fit(X, y), Kriging().fit(X, y)
    new = X + 0.1
    assert_array_equal(estimator.predict(new.tolist()), model.mean(new))
    assert_array_equal(estimator.predict(new, return_std=True), model.mean_and_std(new))
